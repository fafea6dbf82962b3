//! Profiles for the benchmarks: the size of a real service, in a few shapes.

use ingress_ledger::{
    Bytes, Connections, IngressProfile, Lane, LaneLimits, LanePhases, Limits, Listener, PerLane,
    RateBudget, RatePolicy, Requests, Slots, Span, Tickets, ValidatedProfile,
};

/// Which bound is to be met.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// None.
    Roomy,
    /// No queues: the slots.
    Full,
    /// The bytes.
    FewBytes,
    /// The rate.
    RateSpent,
    /// Queues of 32 a lane.
    Queues,
}

/// 96 slots of which 8 and 8 are reserved, 1,024 connections of which 32 and 32 are.
pub(crate) fn profile(shape: Shape) -> ValidatedProfile {
    let lane = LaneLimits {
        slots: Slots::new(96),
        slot_reserve: Slots::new(8),
        queue: Tickets::new(if shape == Shape::Full { 0 } else { 32 }),
        connections: Connections::new(1_024),
        connection_reserve: Connections::new(32),
        refusals: Connections::new(8),
        per_connection: Requests::new(8),
        footprint: Bytes::new(8_192),
        deadline: Span::from_secs(10),
        phases: LanePhases {
            head: Span::from_secs(1),
            body: Span::from_secs(1),
            write: Span::from_secs(1),
            idle: Span::from_secs(1),
        },
        request_rate: RatePolicy::Budget(RateBudget {
            burst: if shape == Shape::RateSpent {
                1
            } else {
                u32::MAX
            },
            per_second: u32::MAX,
        }),
        accept_rate: RatePolicy::Budget(RateBudget {
            burst: u32::MAX,
            per_second: u32::MAX,
        }),
    };
    let public = LaneLimits {
        slot_reserve: Slots::ZERO,
        connection_reserve: Connections::ZERO,
        ..lane
    };
    let bytes = if shape == Shape::FewBytes {
        24 * 8_192
    } else {
        512 * 8_192
    };
    let limits = Limits {
        slots: Slots::new(96),
        connections: Connections::new(1_024),
        bytes_in_flight: Bytes::new(bytes),
        refusal_deadline: Span::from_secs(1),
        lanes: PerLane::from_fn(|which| match which {
            Lane::Anonymous => public,
            Lane::LocalHealth | Lane::ProviderHealth => lane,
        }),
    };
    let listeners = PerLane::all(Listener::Network);
    IngressProfile { limits, listeners }
        .validate()
        .expect("a sound profile")
}
