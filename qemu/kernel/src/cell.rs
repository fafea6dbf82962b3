//! Global state of a kernel that one processor runs with interrupts off.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// A value that one closure at a time may use.
///
/// Interrupts are off wherever the kernel runs, so a closure is never
/// interrupted by another; the flag catches a closure that enters the same
/// cell again.
pub(crate) struct KernelCell<T> {
    value: UnsafeCell<T>,
    busy: AtomicBool,
}

// SAFETY: one processor, no interrupts in ring 0: there is no second thread.
unsafe impl<T> Sync for KernelCell<T> {}

impl<T> KernelCell<T> {
    /// A cell holding `value`.
    pub(crate) const fn new(value: T) -> Self {
        Self {
            value: UnsafeCell::new(value),
            busy: AtomicBool::new(false),
        }
    }

    /// Runs `body` on the value.
    ///
    /// # Panics
    /// If `body` of the same cell is running.
    pub(crate) fn with<R>(&self, body: impl FnOnce(&mut T) -> R) -> R {
        assert!(
            !self.busy.swap(true, Ordering::Relaxed),
            "kernel cell entered twice"
        );
        // SAFETY: `busy` was clear, so no other reference is live.
        let result = body(unsafe { &mut *self.value.get() });
        self.busy.store(false, Ordering::Relaxed);
        result
    }

    /// Takes the value for ever; the cell cannot be used again.
    ///
    /// # Panics
    /// If it is in use, or was taken before.
    #[expect(clippy::mut_from_ref, reason = "the flag makes the reference unique")]
    pub(crate) fn leak(&'static self) -> &'static mut T {
        assert!(
            !self.busy.swap(true, Ordering::Relaxed),
            "kernel cell taken twice"
        );
        // SAFETY: `busy` was clear and is never cleared again.
        unsafe { &mut *self.value.get() }
    }

    /// The value, for a kernel that is about to stop and cannot respect `busy`.
    ///
    /// # Safety
    /// Nothing of what was running before continues.
    #[expect(clippy::mut_from_ref, reason = "see the contract")]
    pub(crate) unsafe fn seize(&self) -> &mut T {
        // SAFETY: the caller vouches that no other user of the value goes on.
        unsafe { &mut *self.value.get() }
    }
}
