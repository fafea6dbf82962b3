//! The two places where ring 0 takes interrupts.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

/// Interrupts taken while idle, one bit a line; set by the entry code.
#[unsafe(no_mangle)]
static idle_interrupts: AtomicU32 = AtomicU32::new(0);

/// Lets one interrupt in that waits, without halting; the lines that came, one
/// bit each.
pub(crate) fn glance() -> u32 {
    // SAFETY: as below. The processor takes no interrupt before the instruction
    // after `sti` is done.
    unsafe { asm!("sti", "nop", "cli") };
    idle_interrupts.swap(0, Ordering::Relaxed)
}

/// Halts until an interrupt; the lines that came, one bit each.
pub(crate) fn wait() -> u32 {
    // SAFETY: the entry code uses the stack here and no register; without
    // `nostack` the compiler keeps nothing below the stack pointer. It returns
    // with interrupts off.
    unsafe { asm!("sti", "hlt", "cli") };
    idle_interrupts.swap(0, Ordering::Relaxed)
}
