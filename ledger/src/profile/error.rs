//! Profile errors: each way a profile fails closed, each with its own variant.

use core::fmt;

use super::clamp::Field;
use crate::lane::Lane;

/// What is divided among the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Serving capacity.
    Slots,
    /// Accepted connections.
    Connections,
    /// Bytes in flight; a lane's reserve of them follows from its slots and footprint.
    Bytes,
}

impl Resource {
    /// Stable name for messages and status rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Resource::Slots => "slots",
            Resource::Connections => "connections",
            Resource::Bytes => "bytes",
        }
    }
}

/// Why a profile was refused. Nothing is served under a refused profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProfileError {
    /// No lane has a listener.
    NoListener,
    /// There is none of this resource in all.
    ZeroTotal(Resource),
    /// An enabled lane may hold none of this resource.
    ZeroLaneShare(Lane, Resource),
    /// An enabled lane's requests would be charged nothing.
    ZeroFootprint(Lane),
    /// An enabled lane's requests would be late at once.
    ZeroDeadline(Lane),
    /// A protected lane's deadline is longer than that of a lane before it in the order
    /// anonymous, local, provider: protection buys capacity, not time.
    DeadlineTooLong(Lane),
    /// A phase of an enabled lane's connections would be over at once.
    ZeroPhase(Lane, Field),
    /// A phase of a protected lane is longer than the public lane's.
    PhaseTooLong(Lane, Field),
    /// Refused connections would be late at once.
    ZeroRefusalDeadline,
    /// An enabled lane's connections may have no request outstanding.
    ZeroPerConnection(Lane),
    /// A rate budget's burst or refill is zero, so it would admit nothing.
    ZeroRateBudget(Lane),
    /// A protected lane has no rate budget.
    NoRateBudget(Lane),
    /// The structural maxima have no budget for a rate of a protected lane.
    NoStructuralRate(Lane),
    /// A rate exemption on a lane that more than loopback reaches.
    RateExemptOffLoopback(Lane),
    /// An enabled protected lane has no reserve, so no floor.
    ZeroReserve(Lane, Resource),
    /// A reserve for a lane that has no listener.
    ReserveWithoutListener(Lane, Resource),
    /// A reserve for the anonymous lane, which lives on the general pool.
    ReserveOnAnonymousLane(Resource),
    /// A lane's reserve is above what the lane may hold.
    ReserveAboveShare(Lane, Resource),
    /// The reserves sum to the whole, or to more.
    ReserveLeavesNoAnonymousCapacity {
        /// Of what.
        resource: Resource,
        /// Sum of the reserves.
        reserved: u64,
        /// What there is in all.
        total: u64,
    },
    /// The bytes beside the reserves do not hold one request of this lane.
    ByteBudgetBelowFootprint(Lane),
    /// A quota below the bytes that the code may hold for one request of this lane.
    FootprintBelowWorstCase(Lane),
    /// A product or sum of limits does not fit its type.
    ArithmeticOverflow(Resource),
}

impl ProfileError {
    /// Stable code for diagnostics.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            ProfileError::NoListener => "no_listener",
            ProfileError::ZeroTotal(_) => "zero_total",
            ProfileError::ZeroLaneShare(..) => "zero_lane_share",
            ProfileError::ZeroFootprint(_) => "zero_footprint",
            ProfileError::ZeroDeadline(_) => "zero_deadline",
            ProfileError::DeadlineTooLong(_) => "deadline_too_long",
            ProfileError::ZeroPhase(..) => "zero_phase",
            ProfileError::PhaseTooLong(..) => "phase_too_long",
            ProfileError::ZeroRefusalDeadline => "zero_refusal_deadline",
            ProfileError::ZeroPerConnection(_) => "zero_per_connection",
            ProfileError::ZeroRateBudget(_) => "zero_rate_budget",
            ProfileError::NoRateBudget(_) => "no_rate_budget",
            ProfileError::NoStructuralRate(_) => "no_structural_rate",
            ProfileError::RateExemptOffLoopback(_) => "rate_exempt_off_loopback",
            ProfileError::ZeroReserve(..) => "zero_reserve",
            ProfileError::ReserveWithoutListener(..) => "reserve_without_listener",
            ProfileError::ReserveOnAnonymousLane(_) => "reserve_on_anonymous_lane",
            ProfileError::ReserveAboveShare(..) => "reserve_above_share",
            ProfileError::ReserveLeavesNoAnonymousCapacity { .. } => {
                "reserve_leaves_no_anonymous_capacity"
            }
            ProfileError::ByteBudgetBelowFootprint(_) => "byte_budget_below_footprint",
            ProfileError::FootprintBelowWorstCase(_) => "footprint_below_worst_case",
            ProfileError::ArithmeticOverflow(_) => "arithmetic_overflow",
        }
    }

    /// What is wrong with the profile and how to mend it.
    #[must_use]
    pub const fn explain(&self) -> &'static str {
        match self {
            ProfileError::NoListener => "no lane has a listener; grant at least one",
            ProfileError::ZeroTotal(_) => "nothing can be served with a total of zero; raise it",
            ProfileError::ZeroLaneShare(..) => {
                "the lane has a listener but may hold nothing; \
                 raise its share or withdraw its listener"
            }
            ProfileError::ZeroFootprint(_) => {
                "requests of the lane would be charged no bytes; give its worst case"
            }
            ProfileError::ZeroDeadline(_) => {
                "every request of the lane would be late on arrival; give it a deadline"
            }
            ProfileError::DeadlineTooLong(_) => {
                "a protected lane may not wait longer than the others; shorten its deadline"
            }
            ProfileError::ZeroPhase(..) => {
                "every connection of the lane would end in this phase; give it some time"
            }
            ProfileError::PhaseTooLong(..) => {
                "a protected lane's peers may not take longer than the public's; \
                 shorten the phase, or lengthen the public lane's"
            }
            ProfileError::ZeroRefusalDeadline => {
                "every refusal would be late at once; give refusals a deadline"
            }
            ProfileError::ZeroPerConnection(_) => {
                "no connection of the lane could have a request; allow at least one"
            }
            ProfileError::ZeroRateBudget(_) => {
                "the rate budget would admit nothing; raise burst and refill above zero"
            }
            ProfileError::NoRateBudget(_) => {
                "a protected lane must bound its work over time; give it a rate budget"
            }
            ProfileError::NoStructuralRate(_) => {
                "any rate would be granted, which is an exemption by another name; \
                 give the protected lane's structural maximum a rate budget"
            }
            ProfileError::RateExemptOffLoopback(_) => {
                "only a lane that nothing but loopback reaches may be rate-exempt; \
                 give it a rate budget"
            }
            ProfileError::ZeroReserve(..) => {
                "a protected lane without a reserve has no floor; give it one"
            }
            ProfileError::ReserveWithoutListener(..) => {
                "the lane has no listener; grant one or drop the reserve"
            }
            ProfileError::ReserveOnAnonymousLane(_) => {
                "the anonymous lane lives on the general pool; drop its reserve"
            }
            ProfileError::ReserveAboveShare(..) => {
                "the lane could not use its whole reserve; lower it or raise the lane's share"
            }
            ProfileError::ReserveLeavesNoAnonymousCapacity { .. } => {
                "the reserves leave no general pool; lower them or raise the total"
            }
            ProfileError::ByteBudgetBelowFootprint(_) => {
                "the byte budget beside the reserves holds not one request of the lane; raise it"
            }
            ProfileError::FootprintBelowWorstCase(_) => {
                "the code may hold more for a request of the lane than it would be charged; \
                 raise its footprint to the structural maximum"
            }
            ProfileError::ArithmeticOverflow(_) => {
                "the limits do not add up in 64 bits; lower them"
            }
        }
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())?;
        match self {
            ProfileError::NoListener | ProfileError::ZeroRefusalDeadline => {}
            ProfileError::ZeroTotal(resource)
            | ProfileError::ReserveOnAnonymousLane(resource)
            | ProfileError::ArithmeticOverflow(resource) => write!(f, " of {}", resource.name())?,
            ProfileError::ZeroLaneShare(lane, resource)
            | ProfileError::ZeroReserve(lane, resource)
            | ProfileError::ReserveWithoutListener(lane, resource)
            | ProfileError::ReserveAboveShare(lane, resource) => {
                write!(f, " of {} on {}", resource.name(), lane.name())?;
            }
            ProfileError::ZeroPhase(lane, field) | ProfileError::PhaseTooLong(lane, field) => {
                write!(f, " of {} on {}", field.name(), lane.name())?;
            }
            ProfileError::ZeroFootprint(lane)
            | ProfileError::ZeroDeadline(lane)
            | ProfileError::DeadlineTooLong(lane)
            | ProfileError::ZeroPerConnection(lane)
            | ProfileError::ZeroRateBudget(lane)
            | ProfileError::NoRateBudget(lane)
            | ProfileError::NoStructuralRate(lane)
            | ProfileError::FootprintBelowWorstCase(lane)
            | ProfileError::RateExemptOffLoopback(lane)
            | ProfileError::ByteBudgetBelowFootprint(lane) => write!(f, " on {}", lane.name())?,
            ProfileError::ReserveLeavesNoAnonymousCapacity {
                resource,
                reserved,
                total,
            } => {
                write!(f, " of {}: {reserved} reserved of {total}", resource.name())?;
            }
        }
        write!(f, ": {}", self.explain())
    }
}

impl core::error::Error for ProfileError {}
