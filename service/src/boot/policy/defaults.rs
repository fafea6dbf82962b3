//! What the code can hold, and what it holds when nobody asks for anything else.

use ingress_ledger::{
    Bytes, Connections, LaneLimits, LanePhases, Limits, PerLane, RateBudget, RatePolicy, Requests,
    Slots, Span, StructuralMaxima, Tickets,
};

use crate::connection::buffers::{INPUT_BYTES, SLOT_BYTES};

/// Most connections that are ever served at once; the guest's tables have this size.
pub const STRUCTURAL_CONNECTIONS: u32 = 1024;

/// Most requests that are ever served at once; there are as many response buffers.
pub const STRUCTURAL_SLOTS: u32 = 96;

/// Most public requests that ever wait for a slot: each connection's. With fewer places, those who
/// ask again at once whenever they are refused would take every one that falls free.
const PUBLIC_QUEUE_MAX: u32 = STRUCTURAL_CONNECTIONS;

/// Most requests of a protected lane that ever wait for a slot.
const QUEUE_MAX: u32 = 256;

/// Entries of the ledger's ticket table: every slot and every place to wait.
pub(crate) const TICKETS: usize = (STRUCTURAL_SLOTS + PUBLIC_QUEUE_MAX + 2 * QUEUE_MAX) as usize;

/// What a request holds: the connection's input and a slot's output.
const FULL_FOOTPRINT: u64 = (INPUT_BYTES + SLOT_BYTES) as u64;

/// What a probe holds: a small head and a tiny answer.
const PROBE_FOOTPRINT: u64 = 2048;

/// Bytes in flight at most: every slot's worth, and that of a request waiting on every connection.
const BYTES_MAX: u64 = (STRUCTURAL_SLOTS + STRUCTURAL_CONNECTIONS) as u64 * FULL_FOOTPRINT;

/// The most that a protected lane may ever be asked, whatever a manifest says: a fraction of what
/// the service serves. A rate that no flood reaches would be an exemption by another name.
const PROTECTED_RATE_MAX: RatePolicy = RatePolicy::Budget(RateBudget {
    burst: 2000,
    per_second: 1000,
});

/// The longest phase of any connection, and of an active one on a protected lane.
const PHASE_MAX: Span = Span::from_secs(600);
const PROTECTED_PHASE_MAX: Span = Span::from_secs(60);

/// Longest time that a drained service still takes public connections.
pub const DRAIN_MAX: Span = Span::from_secs(600);

const fn protected_maxima(footprint: u64) -> LaneLimits {
    LaneLimits {
        phases: LanePhases {
            head: PROTECTED_PHASE_MAX,
            body: PROTECTED_PHASE_MAX,
            write: PROTECTED_PHASE_MAX,
            idle: PHASE_MAX,
        },
        request_rate: PROTECTED_RATE_MAX,
        accept_rate: PROTECTED_RATE_MAX,
        ..lane_maxima(QUEUE_MAX, footprint)
    }
}

const fn lane_maxima(queue: u32, footprint: u64) -> LaneLimits {
    LaneLimits {
        slots: Slots::new(STRUCTURAL_SLOTS),
        slot_reserve: Slots::new(STRUCTURAL_SLOTS),
        queue: Tickets::new(queue),
        connections: Connections::new(STRUCTURAL_CONNECTIONS),
        connection_reserve: Connections::new(STRUCTURAL_CONNECTIONS),
        refusals: Connections::new(16),
        per_connection: Requests::new(16),
        footprint: Bytes::new(footprint),
        deadline: Span::from_secs(60),
        phases: LanePhases {
            head: PHASE_MAX,
            body: PHASE_MAX,
            write: PHASE_MAX,
            idle: PHASE_MAX,
        },
        request_rate: RatePolicy::Unmetered,
        accept_rate: RatePolicy::Unmetered,
    }
}

/// What the code can hold whatever a manifest asks for. Only the public lane's rates have no
/// maximum: what bounds that lane is its share.
#[must_use]
pub const fn structural_maxima() -> StructuralMaxima {
    StructuralMaxima(Limits {
        slots: Slots::new(STRUCTURAL_SLOTS),
        connections: Connections::new(STRUCTURAL_CONNECTIONS),
        bytes_in_flight: Bytes::new(BYTES_MAX),
        refusal_deadline: Span::from_secs(10),
        lanes: PerLane([
            lane_maxima(PUBLIC_QUEUE_MAX, FULL_FOOTPRINT),
            protected_maxima(FULL_FOOTPRINT),
            protected_maxima(PROBE_FOOTPRINT),
        ]),
    })
}

/// The limits of a boot without markers, all three lanes granted.
pub(crate) const DEFAULT_LIMITS: Limits = Limits {
    slots: Slots::new(STRUCTURAL_SLOTS),
    connections: Connections::new(STRUCTURAL_CONNECTIONS),
    bytes_in_flight: Bytes::new(BYTES_MAX),
    refusal_deadline: Span::from_secs(1),
    lanes: PerLane([
        LaneLimits {
            slots: Slots::new(STRUCTURAL_SLOTS),
            slot_reserve: Slots::ZERO,
            queue: Tickets::new(PUBLIC_QUEUE_MAX),
            connections: Connections::new(STRUCTURAL_CONNECTIONS),
            connection_reserve: Connections::ZERO,
            refusals: Connections::new(8),
            per_connection: Requests::new(1),
            footprint: Bytes::new(FULL_FOOTPRINT),
            deadline: Span::from_secs(10),
            phases: phases(10),
            request_rate: RatePolicy::Unmetered,
            accept_rate: RatePolicy::Unmetered,
        },
        protected(FULL_FOOTPRINT, Span::from_secs(10), phases(10)),
        protected(PROBE_FOOTPRINT, Span::from_secs(2), phases(2)),
    ]),
};

const fn protected(footprint: u64, deadline: Span, phases: LanePhases) -> LaneLimits {
    LaneLimits {
        slots: Slots::new(16),
        slot_reserve: Slots::new(8),
        queue: Tickets::new(16),
        connections: Connections::new(64),
        connection_reserve: Connections::new(32),
        refusals: Connections::new(4),
        per_connection: Requests::new(1),
        footprint: Bytes::new(footprint),
        deadline,
        phases,
        request_rate: RatePolicy::Budget(RateBudget {
            burst: 100,
            per_second: 50,
        }),
        accept_rate: RatePolicy::Budget(RateBudget {
            burst: 400,
            per_second: 200,
        }),
    }
}

/// Longer than the 60 s for which the usual balancers keep a connection, and than the 30 s between
/// two of the usual probes: a request that meets the close of its connection is lost (RFC 9112 §9.5),
/// so that whoever asks should be the one who closes.
const IDLE: Span = Span::from_secs(75);

const fn phases(active_s: u64) -> LanePhases {
    let active = Span::from_secs(active_s);
    LanePhases {
        head: active,
        body: active,
        write: active,
        idle: IDLE,
    }
}

/// How long a drained service still takes public connections, so that a balancer's next probes find
/// it draining and its last requests are served.
pub(crate) const DEFAULT_DRAIN: Span = Span::from_secs(5);
