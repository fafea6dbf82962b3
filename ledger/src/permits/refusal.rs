//! Permit refusals: why a connection is not served, and which of them are answered
//! (keeps P2: a refusal of capacity names its ceiling as the count).

use core::fmt;

use crate::overload::Status;
use crate::units::{Occupancy, Span};

/// Why a connection got no permit. It may still be answered: see
/// [`admit_refusal`](crate::ConnectionPermits::admit_refusal).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermitRefusal {
    /// The caller has no clock, so no deadline can be kept.
    ClockLost,
    /// The lane's budget of accepts is spent.
    RateLimited {
        /// Until the budget holds one accept again.
        ready_in: Span,
    },
    /// The lane holds every connection that it may have.
    LaneFull(Occupancy),
    /// The lane may hold more, but the general pool is taken.
    TotalFull(Occupancy),
}

impl PermitRefusal {
    /// The one status of this refusal: 429 where the lane's own callers connect too fast or hold
    /// all that it may, 503 where the others hold the rest or the service has no clock.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            PermitRefusal::RateLimited { .. } | PermitRefusal::LaneFull(_) => {
                Status::TOO_MANY_REQUESTS
            }
            PermitRefusal::ClockLost | PermitRefusal::TotalFull(_) => Status::SERVICE_UNAVAILABLE,
        }
    }

    /// Stable code for problem documents and counters.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            PermitRefusal::ClockLost => "clock_lost",
            PermitRefusal::RateLimited { .. } => "accept_rate_limited",
            PermitRefusal::LaneFull(_) => "lane_at_capacity",
            PermitRefusal::TotalFull(_) => "at_capacity",
        }
    }

    /// What it means and what an operator can do about it.
    #[must_use]
    pub const fn explain(&self) -> &'static str {
        match self {
            PermitRefusal::ClockLost => {
                "the monotonic clock could not be read, so no deadline can be kept; \
                 if it persists, restart the service"
            }
            PermitRefusal::RateLimited { .. } => {
                "connections to this lane come faster than its budget; \
                 keep connections alive, or raise the lane's accept rate"
            }
            PermitRefusal::LaneFull(_) => {
                "this lane holds every connection that it may have; \
                 close one, or raise the lane's connections"
            }
            PermitRefusal::TotalFull(_) => {
                "all lanes together hold every shared connection; \
                 close one, or raise the total connections"
            }
        }
    }

    /// Count and limit, where the refusal is one of capacity. The count is the ceiling: the
    /// failed admission itself saw every permit held.
    #[must_use]
    pub const fn occupancy(&self) -> Option<Occupancy> {
        match self {
            PermitRefusal::LaneFull(occupancy) | PermitRefusal::TotalFull(occupancy) => {
                Some(*occupancy)
            }
            PermitRefusal::ClockLost | PermitRefusal::RateLimited { .. } => None,
        }
    }
}

impl fmt::Display for PermitRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())?;
        match (self, self.occupancy()) {
            (PermitRefusal::RateLimited { ready_in }, _) => {
                write!(
                    f,
                    " (ready in {} ms)",
                    ready_in.as_nanos().div_ceil(1_000_000)
                )
            }
            (_, Some(occupancy)) => write!(f, " ({occupancy} connections)"),
            (_, None) => Ok(()),
        }
    }
}

impl core::error::Error for PermitRefusal {}

/// The refusal path's ceiling is reached: close the socket without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseUnanswered;

impl fmt::Display for CloseUnanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("as many refusals are being answered as may be; close the connection")
    }
}

impl core::error::Error for CloseUnanswered {}
