//! The fair arbiter of the general pool (keeps L7: a ticket at the head of its lane is
//! chosen after at most `LANES - 1` other choices).
//!
//! Start-time fair queueing gives each head the start tag `max(v, finish of its lane)` and
//! chooses the least. With one slot a choice and equal weights, every tag is `v` or `v + 1`,
//! and `v` belongs to exactly those lanes that were not chosen since the others last were:
//! the least start tag is the least recently chosen lane. So an order of the lanes is all the
//! state there is, and no tag can overflow. (The tests run textbook tags beside it.)

use crate::lane::{LANES, Lane};

/// Lanes, least recently chosen first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FairArbiter {
    order: [Lane; LANES],
}

impl FairArbiter {
    pub(super) const NEW: FairArbiter = FairArbiter { order: Lane::ALL };

    /// The least recently chosen lane that competes.
    #[inline]
    pub(super) fn choose(&self, mut competes: impl FnMut(Lane) -> bool) -> Option<Lane> {
        self.order.into_iter().find(|lane| competes(*lane))
    }

    /// The order itself, which is all that the next choices depend on.
    #[cfg(test)]
    pub(super) fn order(&self) -> [Lane; LANES] {
        self.order
    }

    /// Records that `lane` was given a slot of the general pool.
    #[inline]
    pub(super) fn chosen(&mut self, lane: Lane) {
        let [a, b, c] = self.order;
        self.order = if a == lane {
            [b, c, a]
        } else if b == lane {
            [a, c, b]
        } else {
            [a, b, c]
        };
    }
}

#[cfg(test)]
mod tests {
    use super::FairArbiter;
    use crate::lane::Lane::{Anonymous, LocalHealth, ProviderHealth};

    #[test]
    fn least_recently_chosen_goes_first() {
        let mut arbiter = FairArbiter::NEW;
        for lane in [ProviderHealth, Anonymous, LocalHealth] {
            arbiter.chosen(lane);
        }
        assert_eq!(arbiter.order(), [ProviderHealth, Anonymous, LocalHealth]);
        assert_eq!(arbiter.choose(|_| true), Some(ProviderHealth));
        assert_eq!(
            arbiter.choose(|lane| lane != ProviderHealth),
            Some(Anonymous)
        );
        assert_eq!(arbiter.choose(|_| false), None);
        arbiter.chosen(Anonymous);
        assert_eq!(arbiter.order(), [ProviderHealth, LocalHealth, Anonymous]);
        arbiter.chosen(Anonymous);
        assert_eq!(arbiter.order(), [ProviderHealth, LocalHealth, Anonymous]);
    }
}
