//! Issuers and seals: which ledger a token belongs to, and what happens to one that is
//! dropped (keeps L5: a token is released once, on its own ledger, or counted as leaked).

use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering};

/// Where tokens come from: outlives them, and counts those dropped unreleased.
///
/// One issuer serves any number of ledgers; it is usually a `static`:
///
/// ```
/// static ISSUER: ingress_ledger::Issuer = ingress_ledger::Issuer::new();
/// assert_eq!(ISSUER.leaked(), 0);
/// ```
///
/// A dropped token cannot reach its ledger, so it tells its issuer. In a debug
/// build the next operation of any ledger of that issuer then panics. (The drop
/// itself does not: it may be part of an unwinding panic already.)
///
/// A token given to `mem::forget` tells nobody: it stays outstanding for ever, and holds
/// what it was charged.
#[derive(Debug)]
pub struct Issuer {
    leaked: AtomicU32,
    named: AtomicU32,
}

/// An open ledger's name, which no other ledger of its issuer ever has. `None` until opened.
pub(crate) type Name = Option<NonZeroU32>;

impl Issuer {
    /// An issuer that has issued nothing.
    #[must_use]
    pub const fn new() -> Self {
        Issuer {
            leaked: AtomicU32::new(0),
            named: AtomicU32::new(0),
        }
    }

    /// Tokens that were dropped without being released; 2^32 - 1 stands for more, too.
    #[must_use]
    pub fn leaked(&self) -> u64 {
        self.leaked.load(Ordering::Relaxed).into()
    }

    /// A name for one more ledger. `None` once all are given away: a name that recurred
    /// would make tokens of an old ledger good on a new one.
    pub(crate) fn enrol(&self) -> Name {
        raise_by_one(&self.named).and_then(NonZeroU32::new)
    }

    /// Fails a debug build once a token has leaked.
    #[inline]
    pub(crate) fn assert_unleaked(&self) {
        debug_assert!(
            self.leaked() == 0,
            "a token was dropped without being released"
        );
    }
}

/// Adds one, and hands out the sum. `None`, and without effect, where it does not fit.
fn raise_by_one(number: &AtomicU32) -> Option<u32> {
    let next = |number: u32| number.checked_add(1);
    let before = number.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    before.ok().and_then(next)
}

impl Default for Issuer {
    fn default() -> Self {
        Issuer::new()
    }
}

/// The part of a token that ties it to its ledger. Opened by [`Seal::open`] only.
#[derive(Debug)]
pub(crate) struct Seal<'a> {
    issuer: &'a Issuer,
    name: Name,
}

impl<'a> Seal<'a> {
    #[inline]
    pub(crate) fn new(issuer: &'a Issuer, name: Name) -> Self {
        Seal { issuer, name }
    }

    #[inline]
    pub(crate) fn is_of(&self, issuer: &Issuer, name: Name) -> bool {
        core::ptr::eq(self.issuer, issuer) && self.name == name
    }

    /// Ends the token's life in order.
    #[inline]
    pub(crate) fn open(self) {
        core::mem::forget(self);
    }
}

impl Drop for Seal<'_> {
    fn drop(&mut self) {
        // Where no more fits, the count stays: full, and not zero again.
        raise_by_one(&self.issuer.leaked);
    }
}

#[cfg(test)]
mod tests {
    use super::{AtomicU32, Issuer, Seal};

    impl Issuer {
        /// An issuer that has one name left, and has seen all leaks but one.
        pub(crate) const fn almost_spent() -> Self {
            Issuer {
                leaked: AtomicU32::new(u32::MAX - 1),
                named: AtomicU32::new(u32::MAX - 1),
            }
        }
    }

    #[test]
    fn leaks_are_never_forgotten_by_counting_round() {
        let issuer = Issuer::almost_spent();
        for _ in 0..3 {
            drop(Seal::new(&issuer, None));
            assert_eq!(issuer.leaked(), u64::from(u32::MAX));
        }
    }
}
