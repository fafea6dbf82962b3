//! Single instructions of the processor, each with the contract that makes it
//! safe to call.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count, _rdrand64_step, _rdtsc};

const FS_BASE: u32 = 0xc000_0100;
const CR4_GLOBAL: u64 = 1 << 7;
const CR4_UMIP: u64 = 1 << 11;
const CR4_SMEP: u64 = 1 << 20;
const CR4_SMAP: u64 = 1 << 21;

/// Writes a model-specific register. Safe: callers are the kernel's own files,
/// and name registers of long mode.
pub(crate) fn write_msr(register: u32, value: u64) {
    let low = value & 0xffff_ffff;
    let high = value >> 32;
    // SAFETY: changes processor state that the callers in this kernel own.
    unsafe {
        asm!("wrmsr", in("ecx") register, in("rax") low, in("rdx") high, options(nostack, preserves_flags))
    };
}

/// Sets the user's thread-local storage base.
pub(crate) fn set_fs_base(base: u64) {
    write_msr(FS_BASE, base);
}

/// Makes the tables at physical address `root` the current ones.
///
/// # Safety
/// They map the kernel half as the current ones do.
pub(crate) unsafe fn load_tables(root: u64) {
    // SAFETY: the caller vouches that the kernel goes on under the new tables.
    unsafe { asm!("mov cr3, {}", in(reg) root, options(nostack, preserves_flags)) };
}

/// Physical address of the current tables.
pub(crate) fn current_tables() -> u64 {
    let root: u64;
    // SAFETY: reading the register has no effect.
    unsafe { asm!("mov {}, cr3", out(reg) root, options(nomem, nostack, preserves_flags)) };
    root
}

/// Address of the last page fault.
pub(crate) fn fault_address() -> u64 {
    let address: u64;
    // SAFETY: reading the register has no effect.
    unsafe { asm!("mov {}, cr2", out(reg) address, options(nomem, nostack, preserves_flags)) };
    address
}

/// Turns on what the processor has of: global pages, no kernel execution of
/// and no kernel access to user pages, no descriptor reads by users.
pub(crate) fn harden() {
    let mut wanted = CR4_GLOBAL;
    if __cpuid(0).eax >= 7 {
        let features = __cpuid_count(7, 0);
        for (has, bit) in [
            (features.ebx >> 7 & 1, CR4_SMEP),
            (features.ebx >> 20 & 1, CR4_SMAP),
            (features.ecx >> 2 & 1, CR4_UMIP),
        ] {
            if has == 1 {
                wanted |= bit;
            }
        }
    }
    // SAFETY: each bit was found supported; the kernel never uses user pages
    // through user addresses.
    unsafe {
        asm!("mov {scratch}, cr4", "or {scratch}, {wanted}", "mov cr4, {scratch}",
            scratch = out(reg) _, wanted = in(reg) wanted, options(nostack));
    }
}

/// The time stamp counter.
pub(crate) fn time_stamp() -> u64 {
    // SAFETY: every 64-bit processor has it, and ring 0 may read it.
    unsafe { _rdtsc() }
}

/// Whether the processor draws random numbers.
pub(crate) fn has_random() -> bool {
    __cpuid(1).ecx >> 30 & 1 == 1
}

/// One random word, or `None` when the processor has none to give.
pub(crate) fn random_word() -> Option<u64> {
    if !has_random() {
        return None;
    }
    for _ in 0..10 {
        let mut word = 0;
        // SAFETY: the processor was found to have the instruction.
        if unsafe { draw(&mut word) } == 1 {
            return Some(word);
        }
    }
    None
}

/// # Safety
/// The processor has `rdrand`.
#[target_feature(enable = "rdrand")]
unsafe fn draw(word: &mut u64) -> i32 {
    _rdrand64_step(word)
}

/// Reads a byte from an I/O port.
pub(crate) fn port_read(port: u16) -> u8 {
    let value: u8;
    // SAFETY: ports are devices; none of the kernel's writes memory.
    unsafe {
        asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack, preserves_flags))
    };
    value
}

/// Writes a byte to an I/O port.
pub(crate) fn port_write(port: u16, value: u8) {
    // SAFETY: as above.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags))
    };
}

/// Reads a word of 32 bits from an I/O port.
pub(crate) fn port_read32(port: u16) -> u32 {
    let value: u32;
    // SAFETY: as above.
    unsafe {
        asm!("in eax, dx", in("dx") port, out("eax") value, options(nomem, nostack, preserves_flags))
    };
    value
}

/// Writes a word of 32 bits to an I/O port.
pub(crate) fn port_write32(port: u16, value: u32) {
    // SAFETY: as above.
    unsafe {
        asm!("out dx, eax", in("dx") port, in("eax") value, options(nomem, nostack, preserves_flags))
    };
}

/// Stops the processor for good.
pub(crate) fn halt_for_ever() -> ! {
    loop {
        // SAFETY: stops the processor; interrupts stay off.
        unsafe { asm!("cli", "hlt", options(nomem, nostack)) };
    }
}
