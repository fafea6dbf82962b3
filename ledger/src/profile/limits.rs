//! Limits: every number that a profile consists of, once as maxima and once as quota.

use crate::lane::PerLane;
use crate::rate::RatePolicy;
use crate::units::{Bytes, Connections, Requests, Slots, Span, Tickets};

/// One lane's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneLimits {
    /// Slots that the lane may hold at once, reserve included.
    pub slots: Slots,
    /// Slots that only this lane can hold.
    pub slot_reserve: Slots,
    /// Admitted requests that may wait for a slot; zero: none waits.
    pub queue: Tickets,
    /// Connections that the lane may hold at once, reserve included.
    pub connections: Connections,
    /// Connections that only this lane can hold.
    pub connection_reserve: Connections,
    /// Refused connections that may be answered at once; zero: none is answered.
    pub refusals: Connections,
    /// Requests that may be outstanding on one connection.
    pub per_connection: Requests,
    /// Most bytes that one request of this lane holds.
    pub footprint: Bytes,
    /// Longest time from admission to the end of a request.
    pub deadline: Span,
    /// Bound on admitted requests over time.
    pub request_rate: RatePolicy,
    /// Bound on admitted connections over time.
    pub accept_rate: RatePolicy,
}

impl LaneLimits {
    /// A lane that has nothing: what a lane without a listener is given.
    pub const NONE: LaneLimits = LaneLimits {
        slots: Slots::ZERO,
        slot_reserve: Slots::ZERO,
        queue: Tickets::ZERO,
        connections: Connections::ZERO,
        connection_reserve: Connections::ZERO,
        refusals: Connections::ZERO,
        per_connection: Requests::ZERO,
        footprint: Bytes::ZERO,
        deadline: Span::ZERO,
        request_rate: RatePolicy::Unmetered,
        accept_rate: RatePolicy::Unmetered,
    };
}

/// All numbers of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests served at once.
    pub slots: Slots,
    /// Connections held at once.
    pub connections: Connections,
    /// Bytes held by outstanding requests. Of these, each protected lane owns what its slot
    /// reserve needs: `slot_reserve * footprint`.
    pub bytes_in_flight: Bytes,
    /// Longest time that answering a refused connection may take.
    pub refusal_deadline: Span,
    /// Each lane's numbers.
    pub lanes: PerLane<LaneLimits>,
}

/// What the code can hold whatever anybody asks for; no manifest can raise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructuralMaxima(pub Limits);

/// What reaches a lane's listener. Decides whether the lane exists at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listener {
    /// No listener was granted: the lane does not exist.
    Absent,
    /// Only this machine's own loopback reaches it.
    Loopback,
    /// A network reaches it.
    Network,
}

/// What the operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The numbers asked for.
    pub limits: Limits,
    /// The listener of each lane.
    pub listeners: PerLane<Listener>,
}
