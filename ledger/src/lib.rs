//! Pre-identity admission: who may be connected and served, before anybody is known.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod channels;
mod counters;
mod issuer;
mod lane;
mod ledger;
mod overload;
mod partition;
mod permits;
mod profile;
mod rate;
mod reservation;
mod units;

pub use channels::{
    Access, CHANNELS_PER_CONNECTION, CHANNELS_PER_IDENTITY, ChannelError, ChannelId,
    ChannelLifecyclePolicy, ChannelManager, ChannelOperations, Channels, CloseError, NoCap,
    OperationContext, PerIdentityChannelPolicy, PolicyError, PolicyEvidence,
};
pub use counters::{LaneCounters, PerOverload};
pub use issuer::Issuer;
pub use lane::{LANES, Lane, PerLane};
pub use ledger::{
    Chosen, EvidenceSnapshot, IngressLedger, LaneEvidence, OpenError, Selected, StatusRow,
};
pub use overload::{IngressOverload, OverloadKind, Status};
pub use permits::{
    AcceptBackoff, AcceptFailure, BackoffLimits, CloseUnanswered, ConnectionPermit,
    ConnectionPermits, LanePermitEvidence, LanePhases, PermitCounters, PermitEvidence,
    PermitRefusal, PhaseDeadline, PhaseDeadlines, RefusalPermit, SessionMode, SessionPhase,
    SessionPhases, ZeroPhaseDeadline,
};
pub use profile::{
    ClampedField, Clamps, Field, IngressProfile, LaneLimits, Limits, Listener, ProfileError, Quota,
    Resource, StructuralMaxima, ValidatedProfile,
};
pub use rate::{RateBudget, RatePolicy};
pub use reservation::{ConnectionUse, IngressReservation, Misuse, ReleaseRefused, TicketId};
pub use units::{
    Bytes, Connections, IngressFootprint, Instant, Occupancy, Owner, Requests, Slots, Span, Tickets,
};
