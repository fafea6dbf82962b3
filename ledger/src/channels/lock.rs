//! The lock of a shared policy: whoever holds its [`Turn`] has the policy's words to itself
//! (keeps C1).
//!
//! The words are atomics, so that threads may share them without unsafe code; the lock makes of
//! several such words one change. What it guards takes no longer than a search of one bounded
//! table, and calls nobody.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Held by one at a time; whoever comes meanwhile spins.
#[derive(Debug)]
pub(super) struct Lock {
    taken: AtomicBool,
}

/// Proof that the lock is held; gives it back when dropped, in a panic too.
#[derive(Debug)]
pub(super) struct Turn<'l> {
    lock: &'l Lock,
}

impl Lock {
    pub(super) const fn free() -> Self {
        Lock {
            taken: AtomicBool::new(false),
        }
    }

    #[inline]
    pub(super) fn take(&self) -> Turn<'_> {
        while self.taken.swap(true, Ordering::Acquire) {
            // Looking leaves the word in every waiter's cache; swapping would not.
            while self.taken.load(Ordering::Relaxed) {
                core::hint::spin_loop();
            }
        }
        Turn { lock: self }
    }
}

impl Drop for Turn<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.taken.store(false, Ordering::Release);
    }
}

/// A counter of 64 bits in two words, for machines without atomics of 64 bits.
#[derive(Debug)]
pub(super) struct Counter {
    low: AtomicU32,
    high: AtomicU32,
}

impl Counter {
    pub(super) const fn zero() -> Self {
        Counter {
            low: AtomicU32::new(0),
            high: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(super) fn bump(&self, _: &Turn<'_>) {
        let low = self.low.load(Ordering::Relaxed).wrapping_add(1);
        self.low.store(low, Ordering::Relaxed);
        if low == 0 {
            let high = self.high.load(Ordering::Relaxed).wrapping_add(1);
            self.high.store(high, Ordering::Relaxed);
        }
    }

    pub(super) fn count(&self, _: &Turn<'_>) -> u64 {
        let high = u64::from(self.high.load(Ordering::Relaxed));
        high << 32 | u64::from(self.low.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::{AtomicU32, Counter, Lock};

    #[test]
    fn counter_carries_into_its_second_word() {
        let lock = Lock::free();
        let counter = Counter {
            low: AtomicU32::new(u32::MAX),
            high: AtomicU32::new(1),
        };
        let turn = lock.take();
        assert_eq!(counter.count(&turn), (1 << 33) - 1);
        counter.bump(&turn);
        assert_eq!(counter.count(&turn), 1 << 33);
    }

    #[test]
    fn panic_gives_the_turn_back() {
        let lock = Lock::free();
        let panicked = std::panic::catch_unwind(|| {
            let _turn = lock.take();
            panic!("in its turn");
        });
        assert!(panicked.is_err());
        drop(lock.take());
    }
}
