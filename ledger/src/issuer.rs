//! Issuers and seals: which ledger a token belongs to, and what happens to one that is
//! dropped (keeps L5: a token is released once, on its own ledger, or counted as leaked).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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
#[derive(Debug)]
pub struct Issuer {
    leaked: AtomicU64,
    serials: AtomicU32,
}

impl Issuer {
    /// An issuer that has issued nothing.
    #[must_use]
    pub const fn new() -> Self {
        Issuer {
            leaked: AtomicU64::new(0),
            serials: AtomicU32::new(0),
        }
    }

    /// Tokens that were dropped without being released.
    #[must_use]
    pub fn leaked(&self) -> u64 {
        self.leaked.load(Ordering::Relaxed)
    }

    /// A name for one more ledger of this issuer. Names recur after 2^32 ledgers.
    pub(crate) fn enrol(&self) -> u32 {
        self.serials.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
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

impl Default for Issuer {
    fn default() -> Self {
        Issuer::new()
    }
}

/// The part of a token that ties it to its ledger. Opened by [`Seal::open`] only.
#[derive(Debug)]
pub(crate) struct Seal<'a> {
    issuer: &'a Issuer,
    serial: u32,
}

impl<'a> Seal<'a> {
    #[inline]
    pub(crate) fn new(issuer: &'a Issuer, serial: u32) -> Self {
        Seal { issuer, serial }
    }

    /// Whether the ledger named by `issuer` and `serial` issued this.
    #[inline]
    pub(crate) fn is_of(&self, issuer: &Issuer, serial: u32) -> bool {
        core::ptr::eq(self.issuer, issuer) && self.serial == serial
    }

    /// Ends the token's life in order.
    #[inline]
    pub(crate) fn open(self) {
        core::mem::forget(self);
    }
}

impl Drop for Seal<'_> {
    fn drop(&mut self) {
        self.issuer.leaked.fetch_add(1, Ordering::Relaxed);
    }
}
