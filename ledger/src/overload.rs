//! Overloads: every way a request is refused, each with one status and one explanation.

use core::fmt;

use crate::units::{Occupancy, Span};

/// HTTP status of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Status(pub u16);

impl Status {
    /// The caller may not.
    pub const FORBIDDEN: Status = Status(403);
    /// The callers of this lane ask for too much.
    pub const TOO_MANY_REQUESTS: Status = Status(429);
    /// The service has nothing to give, for now.
    pub const SERVICE_UNAVAILABLE: Status = Status(503);
}

/// Why a request was not admitted. Nothing was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IngressOverload {
    /// The caller has no clock, so no deadline can be kept.
    ClockLost,
    /// The deadline is not in the future, or it passed while the request waited.
    DeadlineExceeded,
    /// The lane's rate budget is spent.
    RateLimited {
        /// Until the budget holds one request again.
        ready_in: Span,
    },
    /// This connection has as many requests outstanding as one may.
    PerConnectionLimit(Occupancy),
    /// The lane fills its own queue, and holds its own maximum of slots or has its tickets wait
    /// for those that fall free. The figures are its slots.
    LanePoolFull(Occupancy),
    /// The lane may hold more, but other lanes hold the general pool or wait for what is free of
    /// it, and the lane has no place left to wait.
    AggregateFull(Occupancy),
    /// The bytes in flight leave no room for this footprint; or it is above the most that one
    /// request of the lane may hold, and then the figures are the footprint and that most.
    ByteBudgetExhausted(Occupancy),
}

/// An overload's kind, without its figures; the key of its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OverloadKind {
    /// See [`IngressOverload::ClockLost`].
    ClockLost,
    /// See [`IngressOverload::DeadlineExceeded`].
    DeadlineExceeded,
    /// See [`IngressOverload::RateLimited`].
    RateLimited,
    /// See [`IngressOverload::PerConnectionLimit`].
    PerConnectionLimit,
    /// See [`IngressOverload::LanePoolFull`].
    LanePoolFull,
    /// See [`IngressOverload::AggregateFull`].
    AggregateFull,
    /// See [`IngressOverload::ByteBudgetExhausted`].
    ByteBudgetExhausted,
}

impl OverloadKind {
    /// Every kind, in the order of the checks.
    pub const ALL: [OverloadKind; 7] = [
        OverloadKind::ClockLost,
        OverloadKind::DeadlineExceeded,
        OverloadKind::RateLimited,
        OverloadKind::PerConnectionLimit,
        OverloadKind::LanePoolFull,
        OverloadKind::AggregateFull,
        OverloadKind::ByteBudgetExhausted,
    ];

    /// The one status of this refusal.
    #[must_use]
    pub const fn status(self) -> Status {
        match self {
            OverloadKind::LanePoolFull
            | OverloadKind::PerConnectionLimit
            | OverloadKind::RateLimited => Status::TOO_MANY_REQUESTS,
            OverloadKind::AggregateFull
            | OverloadKind::ByteBudgetExhausted
            | OverloadKind::DeadlineExceeded
            | OverloadKind::ClockLost => Status::SERVICE_UNAVAILABLE,
        }
    }

    /// Stable code for problem documents and counters.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            OverloadKind::ClockLost => "clock_lost",
            OverloadKind::DeadlineExceeded => "deadline_exceeded",
            OverloadKind::RateLimited => "rate_limited",
            OverloadKind::PerConnectionLimit => "per_connection_limit",
            OverloadKind::LanePoolFull => "lane_pool_full",
            OverloadKind::AggregateFull => "aggregate_full",
            OverloadKind::ByteBudgetExhausted => "byte_budget_exhausted",
        }
    }

    /// What it means and what an operator can do about it.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            OverloadKind::ClockLost => {
                "the monotonic clock could not be read, so no deadline can be kept; \
                 if it persists, restart the service"
            }
            OverloadKind::DeadlineExceeded => {
                "the request could not be served before its deadline; \
                 if it persists, the service needs more slots or its handlers less time"
            }
            OverloadKind::RateLimited => {
                "the callers of this lane spent its rate budget; \
                 space the requests out, or raise the lane's rate and burst"
            }
            OverloadKind::PerConnectionLimit => {
                "one connection has too many requests outstanding; \
                 the client should wait for answers, or use more connections"
            }
            OverloadKind::LanePoolFull => {
                "the callers of this lane hold or wait for every slot that it may have; \
                 retry later, or raise the lane's slots"
            }
            OverloadKind::AggregateFull => {
                "all lanes together hold the whole general pool; \
                 retry later, or raise the total slots"
            }
            OverloadKind::ByteBudgetExhausted => {
                "requests in flight hold the whole byte budget; \
                 retry later, or raise the byte budget or lower the footprints"
            }
        }
    }
}

impl IngressOverload {
    /// The kind of overload, without figures.
    #[must_use]
    pub const fn kind(&self) -> OverloadKind {
        match self {
            IngressOverload::ClockLost => OverloadKind::ClockLost,
            IngressOverload::DeadlineExceeded => OverloadKind::DeadlineExceeded,
            IngressOverload::RateLimited { .. } => OverloadKind::RateLimited,
            IngressOverload::PerConnectionLimit(_) => OverloadKind::PerConnectionLimit,
            IngressOverload::LanePoolFull(_) => OverloadKind::LanePoolFull,
            IngressOverload::AggregateFull(_) => OverloadKind::AggregateFull,
            IngressOverload::ByteBudgetExhausted(_) => OverloadKind::ByteBudgetExhausted,
        }
    }

    /// The one status of this refusal.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.kind().status()
    }

    /// Stable code for problem documents and counters.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.kind().code()
    }

    /// What it means and what an operator can do about it.
    #[must_use]
    pub const fn explain(&self) -> &'static str {
        self.kind().explain()
    }

    /// Count and bound, where the refusal is one of capacity.
    #[must_use]
    pub const fn occupancy(&self) -> Option<Occupancy> {
        match self {
            IngressOverload::PerConnectionLimit(occupancy)
            | IngressOverload::LanePoolFull(occupancy)
            | IngressOverload::AggregateFull(occupancy)
            | IngressOverload::ByteBudgetExhausted(occupancy) => Some(*occupancy),
            IngressOverload::ClockLost
            | IngressOverload::DeadlineExceeded
            | IngressOverload::RateLimited { .. } => None,
        }
    }
}

impl fmt::Display for IngressOverload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())?;
        match (self, self.occupancy()) {
            (IngressOverload::RateLimited { ready_in }, _) => {
                write!(
                    f,
                    " (ready in {} ms)",
                    ready_in.as_nanos().div_ceil(1_000_000)
                )
            }
            (_, Some(occupancy)) => write!(f, " ({occupancy})"),
            (_, None) => Ok(()),
        }
    }
}

impl core::error::Error for IngressOverload {}
