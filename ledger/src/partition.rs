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

/// The fault of a [`Partition::charge`] that is false.
pub(crate) const MISCOUNTED: &str = "the general pool's count was wrong";

/// The fault of a [`Partition::release`] that is false.
pub(crate) const OVERDRAWN: &str = "released more than was charged";

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

/// What one lane may hold, and holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Holding {
    share: Share,
    used: u64,
}

impl Holding {
    const fn none_of(share: Share) -> Self {
        Holding { share, used: 0 }
    }
}

/// A total divided into one reserve per lane and a general pool.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Partition {
    lanes: PerLane<Holding>,
    general: u64,
    general_used: u64,
}

impl Partition {
    /// Nothing for anybody.
    pub(crate) const CLOSED: Partition = Partition {
        lanes: PerLane::all(Holding::none_of(Share {
            reserve: 0,
            ceiling: 0,
        })),
        general: 0,
        general_used: 0,
    };

    /// A partition of validated shares beside a general pool.
    pub(crate) const fn new(shares: PerLane<Share>, general: u64) -> Self {
        let PerLane([anonymous, local_health, provider_health]) = shares;
        Partition {
            lanes: PerLane([
                Holding::none_of(anonymous),
                Holding::none_of(local_health),
                Holding::none_of(provider_health),
            ]),
            general,
            general_used: 0,
        }
    }

    /// What `lane` holds.
    #[inline]
    pub(crate) fn used(&self, lane: Lane) -> u64 {
        self.lanes[lane].used
    }

    /// What all lanes hold.
    #[inline]
    pub(crate) fn total_used(&self) -> u64 {
        let held = self.lanes.0.iter();
        held.fold(0, |sum, holding| sum.saturating_add(holding.used))
    }

    /// What all lanes hold beyond their reserves.
    #[inline]
    pub(crate) fn general_used(&self) -> u64 {
        self.general_used
    }

    #[inline]
    pub(crate) fn general(&self) -> u64 {
        self.general
    }

    /// Reserves and general pool together.
    pub(crate) fn total(&self) -> u64 {
        Lane::ALL.into_iter().fold(self.general, |sum, lane| {
            sum.saturating_add(self.lanes[lane].share.reserve)
        })
    }

    #[inline]
    pub(crate) fn share(&self, lane: Lane) -> Share {
        self.lanes[lane].share
    }

    /// Whether one more for `lane` comes out of its own reserve.
    #[inline]
    pub(crate) fn has_free_reserve(&self, lane: Lane) -> bool {
        let Holding { share, used } = &self.lanes[lane];
        *used < share.reserve && *used < share.ceiling
    }

    /// Whether `amount` more for `lane` fits.
    ///
    /// The lane's own ceiling is looked at before the pool, so that a lane which fills itself
    /// is told so even while the pool is full as well: whose doing it is decides the status.
    #[inline]
    pub(crate) fn check(&self, lane: Lane, amount: u64) -> Result<(), Full> {
        let Holding {
            share: Share { reserve, ceiling },
            used,
        } = self.lanes[lane];
        let Some(after) = used.checked_add(amount).filter(|after| *after <= ceiling) else {
            return Err(Full::Lane(Occupancy {
                in_use: used,
                limit: ceiling,
            }));
        };
        let excess = excess_over(after, reserve).saturating_sub(excess_over(used, reserve));
        match self.general_used.checked_add(excess) {
            Some(general) if general <= self.general => Ok(()),
            _ => Err(Full::Aggregate(Occupancy {
                in_use: self.general_used,
                limit: self.general,
            })),
        }
    }

    /// Takes `amount` for `lane`. The caller has just had `Ok` from [`Partition::check`].
    /// False if the pool's count was wrong, which is mended.
    #[inline]
    #[must_use]
    pub(crate) fn charge(&mut self, lane: Lane, amount: u64) -> bool {
        debug_assert!(self.check(lane, amount).is_ok(), "charged without room");
        self.set_used(lane, self.lanes[lane].used.saturating_add(amount))
    }

    /// Gives `amount` back. False, and without effect, if `lane` does not hold as much; false
    /// too if the pool's count was wrong, which is mended.
    #[inline]
    #[must_use]
    pub(crate) fn release(&mut self, lane: Lane, amount: u64) -> bool {
        match self.lanes[lane].used.checked_sub(amount) {
            Some(after) => self.set_used(lane, after),
            None => false,
        }
    }

    #[inline]
    fn set_used(&mut self, lane: Lane, after: u64) -> bool {
        let holding = &mut self.lanes[lane];
        let before = excess_over(holding.used, holding.share.reserve);
        let excess = excess_over(after, holding.share.reserve);
        holding.used = after;
        match self.general_used.checked_sub(before) {
            Some(others) => {
                self.general_used = others.saturating_add(excess);
                true
            }
            None => self.recount(),
        }
    }

    /// The pool holds less than one lane's excess, so its count is wrong. Neither wrapping nor
    /// saturating would do: the one shuts the pool for ever, the other hands it out twice. What
    /// the lanes hold is the truth, and the count follows from it.
    #[cold]
    fn recount(&mut self) -> bool {
        let excess = Lane::ALL.map(|lane| {
            let holding = &self.lanes[lane];
            excess_over(holding.used, holding.share.reserve)
        });
        self.general_used = excess.into_iter().fold(0, u64::saturating_add);
        false
    }
}

/// What of `used` lies beyond `reserve`.
#[inline]
const fn excess_over(used: u64, reserve: u64) -> u64 {
    used.saturating_sub(reserve)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]
mod tests {
    use super::{Full, Partition, Share};
    use crate::lane::{Lane, PerLane};
    use crate::units::Occupancy;
    use std::vec::Vec;

    /// Every partition of a small total, with reserves and ceilings of any size.
    fn partitions() -> Vec<Partition> {
        let mut all = Vec::new();
        for (local, provider, general) in triples([0..=2, 0..=2, 1..=3]) {
            for (a, b, c) in triples([0..=5, 0..=5, 0..=5]) {
                let shares = PerLane([
                    Share {
                        reserve: 0,
                        ceiling: a,
                    },
                    Share {
                        reserve: local,
                        ceiling: b,
                    },
                    Share {
                        reserve: provider,
                        ceiling: c,
                    },
                ]);
                all.push(Partition::new(shares, general));
            }
        }
        all
    }

    fn triples(ranges: [core::ops::RangeInclusive<u64>; 3]) -> Vec<(u64, u64, u64)> {
        let [first, second, third] = ranges;
        let mut all = Vec::new();
        for a in first {
            for b in second.clone() {
                all.extend(third.clone().map(|c| (a, b, c)));
            }
        }
        all
    }

    /// What the general pool holds, from its definition.
    fn general_used(partition: &Partition) -> u64 {
        let held = |lane| {
            partition
                .used(lane)
                .saturating_sub(partition.share(lane).reserve)
        };
        Lane::ALL.map(held).iter().sum()
    }

    #[test]
    fn every_state_of_every_small_partition() {
        let mut states = 0;
        for fresh in partitions() {
            // All levels of use that charging one by one can reach.
            let mut frontier = std::vec![fresh.clone()];
            let mut seen = std::collections::HashSet::from([fresh]);
            while let Some(partition) = frontier.pop() {
                states += 1;
                for lane in Lane::ALL {
                    for amount in 1..=3 {
                        check(&partition, lane, amount);
                    }
                    let mut next = partition.clone();
                    if next.check(lane, 1).is_ok() {
                        assert!(next.charge(lane, 1));
                        if seen.insert(next.clone()) {
                            frontier.push(next);
                        }
                    }
                }
            }
        }
        assert!(states > 50_000, "{states} states");
        std::println!("{states} states of partitions");
    }

    fn check(partition: &Partition, lane: Lane, amount: u64) {
        let Share { reserve, ceiling } = partition.share(lane);
        let used = partition.used(lane);
        assert_eq!(partition.general_used(), general_used(partition));
        assert!(partition.general_used() <= partition.general());
        assert!(partition.total_used() <= partition.total());
        assert_eq!(
            partition.has_free_reserve(lane),
            used < reserve && used < ceiling
        );
        let excess = (used + amount).saturating_sub(used.max(reserve));
        let answer = partition.check(lane, amount);
        if used + amount > ceiling {
            assert_eq!(
                answer,
                Err(Full::Lane(Occupancy {
                    in_use: used,
                    limit: ceiling
                }))
            );
        } else if partition.general_used() + excess > partition.general() {
            let (in_use, limit) = (partition.general_used(), partition.general());
            assert_eq!(answer, Err(Full::Aggregate(Occupancy { in_use, limit })));
        } else {
            assert_eq!(answer, Ok(()));
            let mut after = partition.clone();
            assert!(after.charge(lane, amount));
            assert_eq!(after.used(lane), used + amount);
            assert_eq!(after.general_used(), general_used(&after));
            assert!(
                !after.clone().release(lane, used + amount + 1),
                "more than is held"
            );
            assert!(after.release(lane, amount));
            assert_eq!(after, *partition, "what is given back was not there");
        }
    }

    #[test]
    fn nothing_overflows_at_the_ends_of_the_type() {
        let shares = PerLane([
            Share {
                reserve: 0,
                ceiling: u64::MAX,
            },
            Share {
                reserve: u64::MAX - 1,
                ceiling: u64::MAX,
            },
            Share {
                reserve: 0,
                ceiling: 0,
            },
        ]);
        let mut partition = Partition::new(shares, 1);
        assert!(partition.charge(Lane::LocalHealth, u64::MAX - 1));
        let full = Full::Lane(Occupancy {
            in_use: u64::MAX - 1,
            limit: u64::MAX,
        });
        assert_eq!(partition.check(Lane::LocalHealth, 2), Err(full));
        assert_eq!(partition.check(Lane::LocalHealth, 1), Ok(()));
        let full = Full::Aggregate(Occupancy {
            in_use: 0,
            limit: 1,
        });
        assert_eq!(partition.check(Lane::Anonymous, u64::MAX), Err(full));
        assert!(partition.charge(Lane::Anonymous, 1));
        let full = Full::Aggregate(Occupancy {
            in_use: 1,
            limit: 1,
        });
        assert_eq!(partition.check(Lane::LocalHealth, 1), Err(full));
        assert!(partition.release(Lane::LocalHealth, u64::MAX - 1));
        assert_eq!(partition.general_used(), 1);
    }

    #[test]
    fn a_count_that_was_wrong_is_a_fault_and_mended() {
        let share = |reserve| Share {
            reserve,
            ceiling: 10,
        };
        let shares = PerLane([share(0), share(2), share(1)]);
        let mut partition = Partition::new(shares, 8);
        assert!(partition.charge(Lane::Anonymous, 3));
        assert!(partition.charge(Lane::LocalHealth, 4));
        assert_eq!(partition.general_used(), 5);
        for wrong in 0..=2 {
            let mut charged = partition.clone();
            charged.general_used = wrong;
            assert!(!charged.charge(Lane::Anonymous, 1), "{wrong}");
            assert_eq!(
                (charged.used(Lane::Anonymous), charged.general_used()),
                (4, 6)
            );
            let mut released = partition.clone();
            released.general_used = wrong;
            assert!(!released.release(Lane::Anonymous, 2), "{wrong}");
            assert_eq!(
                (released.used(Lane::Anonymous), released.general_used()),
                (1, 3)
            );
            assert!(released.release(Lane::Anonymous, 1), "and then it adds up");
        }
    }
}
