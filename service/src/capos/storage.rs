//! The memory of the process, reserved at link time and handed out once
//! (INV-STORAGE: at most one `&mut` to a static, ever).

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use super::fatal::Fatal;

/// A static that becomes the property of whoever takes it first.
pub(super) struct Once<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached through `take` alone, which gives it out once.
unsafe impl<T: Send> Sync for Once<T> {}

impl<T> Once<T> {
    /// A value that nobody has taken yet.
    pub(super) const fn new(value: T) -> Self {
        Self {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// [`Fatal::StorageTaken`] from the second time on.
    #[expect(
        clippy::mut_from_ref,
        reason = "the swap makes the first caller the only one"
    )]
    pub(super) fn take(&'static self) -> Result<&'static mut T, Fatal> {
        if self.taken.swap(true, Ordering::AcqRel) {
            return Err(Fatal::StorageTaken);
        }
        // SAFETY: INV-STORAGE, the swap lets exactly one caller come here, and
        // the static is never moved or dropped.
        Ok(unsafe { &mut *self.value.get() })
    }
}
