//! Counters: of fixed size, one set a lane, no record of any single attempt.

use core::ops::{Index, IndexMut};

use crate::overload::OverloadKind;

/// One `T` for each kind of overload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each field is named after its kind of overload"
)]
pub struct PerOverload<T> {
    pub clock_lost: T,
    pub deadline_exceeded: T,
    pub rate_limited: T,
    pub per_connection_limit: T,
    pub lane_pool_full: T,
    pub aggregate_full: T,
    pub byte_budget_exhausted: T,
}

impl<T> Index<OverloadKind> for PerOverload<T> {
    type Output = T;

    fn index(&self, kind: OverloadKind) -> &T {
        match kind {
            OverloadKind::ClockLost => &self.clock_lost,
            OverloadKind::DeadlineExceeded => &self.deadline_exceeded,
            OverloadKind::RateLimited => &self.rate_limited,
            OverloadKind::PerConnectionLimit => &self.per_connection_limit,
            OverloadKind::LanePoolFull => &self.lane_pool_full,
            OverloadKind::AggregateFull => &self.aggregate_full,
            OverloadKind::ByteBudgetExhausted => &self.byte_budget_exhausted,
        }
    }
}

impl<T> IndexMut<OverloadKind> for PerOverload<T> {
    fn index_mut(&mut self, kind: OverloadKind) -> &mut T {
        match kind {
            OverloadKind::ClockLost => &mut self.clock_lost,
            OverloadKind::DeadlineExceeded => &mut self.deadline_exceeded,
            OverloadKind::RateLimited => &mut self.rate_limited,
            OverloadKind::PerConnectionLimit => &mut self.per_connection_limit,
            OverloadKind::LanePoolFull => &mut self.lane_pool_full,
            OverloadKind::AggregateFull => &mut self.aggregate_full,
            OverloadKind::ByteBudgetExhausted => &mut self.byte_budget_exhausted,
        }
    }
}

/// What happened on one lane since the ledger was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaneCounters {
    /// Requests admitted, to a slot or to the queue.
    pub admitted: u64,
    /// Requests fully served.
    pub completed: u64,
    /// Requests ended otherwise.
    pub cancelled: u64,
    /// Tickets whose deadline passed while they waited; each is cancelled too.
    pub expired: u64,
    /// Requests refused, by kind.
    pub overloads: PerOverload<u64>,
    /// Requests denied because their route is not one of the lane's.
    pub route_denied: u64,
    /// Answers without an admission that the lane's rate has paid for.
    pub denials: u64,
    /// Those that it could not pay for; each ended its connection.
    pub denials_unpaid: u64,
    /// Most slots held at once.
    pub slots_high_water: u64,
    /// Most tickets waiting at once.
    pub waiting_high_water: u64,
}

impl LaneCounters {
    /// Nothing has happened.
    pub const ZERO: LaneCounters = LaneCounters {
        admitted: 0,
        completed: 0,
        cancelled: 0,
        expired: 0,
        overloads: PerOverload {
            clock_lost: 0,
            deadline_exceeded: 0,
            rate_limited: 0,
            per_connection_limit: 0,
            lane_pool_full: 0,
            aggregate_full: 0,
            byte_budget_exhausted: 0,
        },
        route_denied: 0,
        denials: 0,
        denials_unpaid: 0,
        slots_high_water: 0,
        waiting_high_water: 0,
    };
}

/// Adds one. 2^64 events do not happen in the life of a machine.
#[inline]
pub(crate) fn bump(counter: &mut u64) {
    *counter = counter.wrapping_add(1);
}

#[inline]
pub(crate) fn raise(mark: &mut u64, level: u64) {
    *mark = (*mark).max(level);
}
