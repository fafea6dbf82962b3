//! The symbols themselves, under the names that compiled code calls.
#![expect(
    unsafe_code,
    reason = "symbols with fixed names are unsafe attributes by definition"
)]

use crate::memory::{compare, copy_backward, copy_forward, fill};

/// C's `memcpy`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(target: *mut u8, source: *const u8, length: usize) -> *mut u8 {
    // SAFETY: the C contract is that of `copy_forward`.
    unsafe { copy_forward(target, source, length) };
    target
}

/// C's `memmove`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(target: *mut u8, source: *const u8, length: usize) -> *mut u8 {
    if target.addr().wrapping_sub(source.addr()) >= length {
        // SAFETY: the target is below the source, or clear of it.
        unsafe { copy_forward(target, source, length) };
    } else {
        // SAFETY: the target is above the source.
        unsafe { copy_backward(target, source, length) };
    }
    target
}

/// C's `memset`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(target: *mut u8, value: i32, length: usize) -> *mut u8 {
    // SAFETY: the C contract is that of `fill`; C keeps the low byte alone.
    unsafe { fill(target, value.to_le_bytes()[0], length) };
    target
}

/// C's `memcmp`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, length: usize) -> i32 {
    // SAFETY: the C contract is that of `compare`.
    unsafe { compare(left, right, length) }
}

/// `memcmp` for equality.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(left: *const u8, right: *const u8, length: usize) -> i32 {
    // SAFETY: the C contract is that of `compare`.
    unsafe { compare(left, right, length) }
}

/// Named by unwind tables; nothing unwinds under `panic = "abort"`.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Named by landing pads of unoptimised code; never reached.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
