//! Deeds that the processor stops.

use core::arch::asm;

/// Reads a byte at `address`.
pub(crate) fn read(address: usize) {
    let pointer: *const u8 = core::ptr::with_exposed_provenance(address);
    // SAFETY: none; the process is to be ended for it.
    unsafe { pointer.read_volatile() };
}

/// Writes a byte at `address`.
pub(crate) fn write(address: u64) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "addresses have 64 bits here"
    )]
    let pointer: *mut u8 = core::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: none; the process is to be ended for it.
    unsafe { pointer.write_volatile(0) };
}

/// Writes into this program's code.
pub(crate) fn write_code() {
    write((write_code as *const ()).expose_provenance() as u64);
}

/// Runs what lies in data.
pub(crate) fn execute_data() {
    static mut RETURN: [u8; 16] = [0xc3; 16];
    call((&raw const RETURN).expose_provenance());
}

/// Runs what lies on the stack.
pub(crate) fn execute_stack() {
    let code = [0xc3_u8; 16];
    call((&raw const code).expose_provenance());
}

fn call(address: usize) {
    // SAFETY: none; the process is to be ended for it.
    unsafe { asm!("call {}", in(reg) address, clobber_abi("C")) };
}

/// Calls itself until the stack is used up.
pub(crate) fn exhaust_stack() {
    deeper(0);
}

#[inline(never)]
fn deeper(depth: u64) -> u64 {
    let mut frame = [depth; 64];
    // Keeps the frame from being optimised away.
    core::hint::black_box(&mut frame);
    let below = if core::hint::black_box(true) {
        deeper(depth.wrapping_add(1))
    } else {
        0
    };
    frame
        .iter()
        .fold(below, |sum, word| sum.wrapping_add(*word))
}

/// Divides by zero.
pub(crate) fn divide() {
    // SAFETY: none; the process is to be ended for it.
    unsafe {
        asm!("xor ecx, ecx", "mov eax, 1", "cdq", "idiv ecx", out("rax") _, out("rcx") _, out("rdx") _)
    };
}

/// Turns interrupts off.
pub(crate) fn privileged() {
    // SAFETY: none; the process is to be ended for it.
    unsafe { asm!("cli") };
}

/// Writes to a device.
pub(crate) fn port() {
    // SAFETY: none; the process is to be ended for it.
    unsafe { asm!("out 0xf4, eax", in("eax") 0x10) };
}

/// Runs no instruction.
pub(crate) fn undefined() {
    // SAFETY: none; the process is to be ended for it.
    unsafe { asm!("ud2") };
}

/// Asks for a software interrupt that is not the process's to ask for.
pub(crate) fn breakpoint() {
    // SAFETY: none; the process is to be ended for it.
    unsafe { asm!("int3") };
}

/// Sets the trap flag and makes a system call with it.
pub(crate) fn single_step() {
    // SAFETY: none; the process is to be ended for it.
    unsafe {
        asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq", "mov eax, 77", "syscall", "nop",
            out("rax") _, out("rcx") _, out("r11") _);
    }
}

/// Never ends and never asks for anything.
pub(crate) fn spin() {
    loop {
        core::hint::spin_loop();
    }
}
