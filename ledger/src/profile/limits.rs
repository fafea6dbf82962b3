//! Limits: every number that a profile consists of, once as maxima and once as quota.

use super::clamp::Field;
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
    /// Most bytes that one request of this lane holds: its worst case, head, body, answer and
    /// every note about it included. What the code can hold follows from the code, so that a
    /// quota may not be below the structural maximum either.
    pub footprint: Bytes,
    /// Longest time from admission to the end of a request.
    pub deadline: Span,
    /// How long each phase of a connection may last.
    pub phases: LanePhases,
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
        phases: LanePhases::NONE,
        request_rate: RatePolicy::Unmetered,
        accept_rate: RatePolicy::Unmetered,
    };
}

/// The phases of a connection that carries requests; they recur with each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanePhases {
    /// From the first byte that may come (accept, or end of the last answer's idling) to the
    /// end of a request head.
    pub head: Span,
    /// From the head to the end of the body.
    pub body: Span,
    /// From the first byte of an answer to its last.
    pub write: Span,
    /// Between an answer and the next request's first byte.
    pub idle: Span,
}

impl LanePhases {
    const NONE: LanePhases = LanePhases {
        head: Span::ZERO,
        body: Span::ZERO,
        write: Span::ZERO,
        idle: Span::ZERO,
    };

    /// Each phase, under its field's name.
    pub(super) const fn by_field(&self) -> [(Field, Span); 4] {
        [
            (Field::Head, self.head),
            (Field::Body, self.body),
            (Field::Write, self.write),
            (Field::Idle, self.idle),
        ]
    }
}

/// Each lane's phases.
pub type PhaseDeadlines = PerLane<LanePhases>;

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

/// What the code can hold whatever anybody asks for; no manifest can raise it. A protected lane
/// has budgets for its rates here: without, any number that is asked for would be granted.
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
