//! Small profiles for tests: a sound one to start from, and random sound ones.

use ingress_ledger::{
    Bytes, Connections, IngressProfile, Lane, LaneLimits, LanePhases, Limits, Listener, PerLane,
    RateBudget, RatePolicy, Requests, Slots, Span, Tickets, ValidatedProfile,
};

/// A lane with some of everything.
pub const LANE: LaneLimits = LaneLimits {
    slots: Slots::new(8),
    slot_reserve: Slots::new(2),
    queue: Tickets::new(4),
    connections: Connections::new(16),
    connection_reserve: Connections::new(2),
    refusals: Connections::new(2),
    per_connection: Requests::new(4),
    footprint: Bytes::new(100),
    deadline: Span::from_secs(1),
    phases: LanePhases {
        head: Span::from_millis(400),
        body: Span::from_millis(500),
        write: Span::from_millis(600),
        idle: Span::from_secs(2),
    },
    request_rate: RatePolicy::Budget(RateBudget {
        burst: 50,
        per_second: 10,
    }),
    accept_rate: RatePolicy::Budget(RateBudget {
        burst: 50,
        per_second: 10,
    }),
};

/// The public lane: no reserve, no budget.
pub const PUBLIC: LaneLimits = LaneLimits {
    slot_reserve: Slots::ZERO,
    connection_reserve: Connections::ZERO,
    request_rate: RatePolicy::Unmetered,
    accept_rate: RatePolicy::Unmetered,
    ..LANE
};

/// Three lanes: 8 slots of which 2 and 2 are reserved, 16 connections of which 2 and 2 are.
pub const THREE_LANES: IngressProfile = IngressProfile {
    limits: Limits {
        slots: Slots::new(8),
        connections: Connections::new(16),
        bytes_in_flight: Bytes::new(10_000),
        refusal_deadline: Span::from_millis(500),
        lanes: PerLane([PUBLIC, LANE, LANE]),
    },
    listeners: PerLane([Listener::Network, Listener::Loopback, Listener::Network]),
};

/// Validates a profile that must be sound.
pub fn sound(profile: IngressProfile) -> ValidatedProfile {
    profile.validate().expect("the profile is sound")
}

/// A plain source of random numbers, for profiles.
pub struct Draw(pub u64);

impl Draw {
    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        // A 64-bit linear congruential generator; its high half is good enough.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// A word read as numbers in mixed radix: what an operation is decoded from. Each number
/// depends on few bits of the word, so that shrinking and fuzzing can steer it.
pub struct Digits(pub u64);

impl Digits {
    /// The next number, below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        let digit = self.0 % bound;
        self.0 /= bound;
        digit
    }
}

/// A sound profile with small numbers, so that every bound is met often.
pub fn random(seed: u64) -> ValidatedProfile {
    let mut draw = Draw(seed);
    let mut listeners = PerLane::all(Listener::Network);
    // Mostly all lanes; at times a protected lane, or the public one, is absent.
    match draw.below(8) {
        0 => listeners[Lane::LocalHealth] = Listener::Absent,
        1 => listeners[Lane::ProviderHealth] = Listener::Absent,
        2 => listeners[Lane::Anonymous] = Listener::Absent,
        _ => {}
    }
    let exempt = draw.below(3) == 0 && listeners[Lane::LocalHealth] == Listener::Network;
    if exempt {
        listeners[Lane::LocalHealth] = Listener::Loopback;
    }
    let mut reserved_slots = 0;
    let mut reserved_connections = 0;
    let mut reserved_bytes = 0;
    let mut deadline = 2_000_000_000;
    let lanes = PerLane::from_fn(|lane| {
        if listeners[lane] == Listener::Absent {
            return LaneLimits::NONE;
        }
        let reserve = |draw: &mut Draw| {
            if lane.is_protected() {
                draw.between(1, 2)
            } else {
                0
            }
        };
        let slot_reserve = reserve(&mut draw);
        let connection_reserve = reserve(&mut draw);
        let footprint = draw.between(20, 60);
        reserved_slots += slot_reserve;
        reserved_connections += connection_reserve;
        reserved_bytes += slot_reserve * footprint;
        deadline = draw.between(deadline / 4, deadline);
        let budget = RatePolicy::Budget(RateBudget {
            burst: draw.between(1, 6) as u32,
            per_second: draw.between(1, 40) as u32,
        });
        let rate = match lane {
            Lane::Anonymous if draw.below(2) == 0 => RatePolicy::Unmetered,
            Lane::LocalHealth if exempt => RatePolicy::LoopbackExempt,
            _ => budget,
        };
        LaneLimits {
            slots: Slots::new((slot_reserve + draw.between(0, 4)).max(1) as u32),
            slot_reserve: Slots::new(slot_reserve as u32),
            queue: Tickets::new(draw.below(4) as u32),
            connections: Connections::new((connection_reserve + draw.between(0, 5)).max(1) as u32),
            connection_reserve: Connections::new(connection_reserve as u32),
            refusals: Connections::new(draw.below(3) as u32),
            per_connection: Requests::new(draw.between(1, 4) as u32),
            footprint: Bytes::new(footprint),
            deadline: Span::from_nanos(deadline),
            phases: LANE.phases,
            request_rate: rate,
            accept_rate: rate,
        }
    });
    let limits = Limits {
        slots: Slots::new((reserved_slots + draw.between(1, 4)) as u32),
        connections: Connections::new((reserved_connections + draw.between(1, 5)) as u32),
        bytes_in_flight: Bytes::new(reserved_bytes + draw.between(60, 300)),
        refusal_deadline: Span::from_nanos(draw.between(1, 1_000_000_000)),
        lanes,
    };
    sound(IngressProfile { limits, listeners })
}
