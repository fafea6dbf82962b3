//! The admission arithmetic: reserves beside a general pool (keeps L2: a reserve is never
//! charged by another lane; L3: no more is held than there is).
//!
//! ```text
//!   total = | local reserve | provider reserve |        general pool        |
//!             only local      only provider      every lane, beyond its own
//! ```
//! A lane fills its own reserve first and the general pool with the excess, and gives the
//! general pool back first: what it holds of the pool is `max(0, used - reserve)`, always.
//! So no charge need be remembered per token, and a lane that shrinks to its reserve has
//! left the pool to the others. Slots, connection permits and bytes all use this.

use crate::lane::{Lane, PerLane};
use crate::units::Occupancy;

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The lane holds its own maximum.
    Lane(Occupancy),
    /// The lane may hold more, but the general pool is taken.
    Aggregate(Occupancy),
}

/// What one lane may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Share {
    /// Held for this lane alone.
    pub(crate) reserve: u64,
    /// The lane's maximum, reserve included.
    pub(crate) ceiling: u64,
}

/// A total divided into one reserve per lane and a general pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Partition {
    shares: PerLane<Share>,
    used: PerLane<u64>,
    general: u64,
    general_used: u64,
}

impl Partition {
    /// Nothing for anybody.
    pub(crate) const CLOSED: Partition = Partition {
        shares: PerLane::all(Share {
            reserve: 0,
            ceiling: 0,
        }),
        used: PerLane::all(0),
        general: 0,
        general_used: 0,
    };

    /// A partition of validated shares beside a general pool.
    pub(crate) const fn new(shares: PerLane<Share>, general: u64) -> Self {
        Partition {
            shares,
            used: PerLane::all(0),
            general,
            general_used: 0,
        }
    }

    /// What `lane` holds.
    #[inline]
    pub(crate) fn used(&self, lane: Lane) -> u64 {
        self.used[lane]
    }

    /// What all lanes hold.
    #[inline]
    pub(crate) fn total_used(&self) -> u64 {
        let PerLane {
            anonymous,
            local_health,
            provider_health,
        } = self.used;
        anonymous
            .saturating_add(local_health)
            .saturating_add(provider_health)
    }

    /// What all lanes hold beyond their reserves.
    #[inline]
    pub(crate) fn general_used(&self) -> u64 {
        self.general_used
    }

    /// Size of the general pool.
    #[inline]
    pub(crate) fn general(&self) -> u64 {
        self.general
    }

    /// Reserves and general pool together.
    pub(crate) fn total(&self) -> u64 {
        Lane::ALL.into_iter().fold(self.general, |sum, lane| {
            sum.saturating_add(self.shares[lane].reserve)
        })
    }

    /// What `lane` may hold.
    #[inline]
    pub(crate) fn share(&self, lane: Lane) -> Share {
        self.shares[lane]
    }

    /// Whether one more for `lane` comes out of its own reserve.
    #[inline]
    pub(crate) fn has_free_reserve(&self, lane: Lane) -> bool {
        self.used[lane] < self.shares[lane].reserve && self.used[lane] < self.shares[lane].ceiling
    }

    /// Whether `amount` more for `lane` fits.
    #[inline]
    pub(crate) fn check(&self, lane: Lane, amount: u64) -> Result<(), Full> {
        let Share { reserve, ceiling } = self.shares[lane];
        let used = self.used[lane];
        let Some(after) = used.checked_add(amount).filter(|after| *after <= ceiling) else {
            return Err(Full::Lane(Occupancy {
                in_use: used,
                limit: ceiling,
            }));
        };
        let excess = excess_over(after, reserve).wrapping_sub(excess_over(used, reserve));
        match self.general_used.checked_add(excess) {
            Some(general) if general <= self.general => Ok(()),
            _ => Err(Full::Aggregate(Occupancy {
                in_use: self.general_used,
                limit: self.general,
            })),
        }
    }

    /// Takes `amount` for `lane`. The caller has just had `Ok` from [`Partition::check`].
    #[inline]
    pub(crate) fn charge(&mut self, lane: Lane, amount: u64) {
        debug_assert!(self.check(lane, amount).is_ok(), "charged without room");
        self.set_used(lane, self.used[lane].wrapping_add(amount));
    }

    /// Gives `amount` back. False, and without effect, if `lane` does not hold as much.
    #[inline]
    #[must_use]
    pub(crate) fn release(&mut self, lane: Lane, amount: u64) -> bool {
        let Some(after) = self.used[lane].checked_sub(amount) else {
            return false;
        };
        self.set_used(lane, after);
        true
    }

    #[inline]
    fn set_used(&mut self, lane: Lane, after: u64) {
        let reserve = self.shares[lane].reserve;
        let before = excess_over(self.used[lane], reserve);
        self.general_used = self
            .general_used
            .wrapping_sub(before)
            .wrapping_add(excess_over(after, reserve));
        self.used[lane] = after;
    }
}

/// What of `used` lies beyond `reserve`.
#[inline]
const fn excess_over(used: u64, reserve: u64) -> u64 {
    used.saturating_sub(reserve)
}
