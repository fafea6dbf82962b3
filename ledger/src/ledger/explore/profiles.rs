//! The small ledgers that are explored, each a test.

use std::println;

use super::{Explorer, TICK};
use crate::issuer::Issuer;
use crate::lane::{Lane, PerLane};
use crate::profile::{IngressProfile, LaneLimits, LanePhases, Limits, Listener};
use crate::rate::{RateBudget, RatePolicy};
use crate::units::{Bytes, Connections, Requests, Slots, Span, Tickets};

const LANE: LaneLimits = LaneLimits {
    slots: Slots::new(4),
    slot_reserve: Slots::new(1),
    queue: Tickets::new(2),
    connections: Connections::new(4),
    connection_reserve: Connections::new(1),
    refusals: Connections::new(1),
    per_connection: Requests::new(9),
    footprint: Bytes::new(1),
    deadline: Span::from_secs(1),
    phases: LanePhases {
        head: Span::from_secs(1),
        body: Span::from_secs(1),
        write: Span::from_secs(1),
        idle: Span::from_secs(1),
    },
    request_rate: RatePolicy::LoopbackExempt,
    accept_rate: RatePolicy::LoopbackExempt,
};

const PUBLIC: LaneLimits = LaneLimits {
    slot_reserve: Slots::ZERO,
    connection_reserve: Connections::ZERO,
    request_rate: RatePolicy::Unmetered,
    accept_rate: RatePolicy::Unmetered,
    ..LANE
};

/// Three lanes, four slots: two of them for everybody.
pub(in crate::ledger) const SMALL: IngressProfile = IngressProfile {
    limits: Limits {
        slots: Slots::new(4),
        connections: Connections::new(4),
        bytes_in_flight: Bytes::new(100),
        refusal_deadline: Span::from_secs(1),
        lanes: PerLane([PUBLIC, LANE, LANE]),
    },
    listeners: PerLane::all(Listener::Loopback),
};

fn explore(name: &str, footprints: &'static [u64], shape: impl FnOnce(&mut IngressProfile)) {
    let issuer = Issuer::new();
    let mut profile = SMALL;
    shape(&mut profile);
    let profile = profile.validate().expect("sound");
    let (states, transitions, longest_wait) = (0, 0, 0);
    let mut explorer = Explorer {
        issuer: &issuer,
        profile,
        footprints,
        states,
        transitions,
        longest_wait,
    };
    explorer.run();
    let Explorer {
        states,
        transitions,
        longest_wait,
        ..
    } = explorer;
    println!(
        "{name}: {states} states, {transitions} transitions, longest wait {longest_wait} choices"
    );
    assert!(states > 100, "the exploration stopped early");
}

fn every_lane(profile: &mut IngressProfile, change: impl Fn(&mut LaneLimits)) {
    for lane in Lane::ALL {
        change(&mut profile.limits.lanes[lane]);
    }
}

#[test]
fn small_pool_with_waiting_tickets() {
    explore("slots 2 + 1 + 1, queues of 1", &[1], |profile| {
        every_lane(profile, |lane| lane.queue = Tickets::new(1));
    });
}

#[test]
fn pool_of_four_with_queues_of_two() {
    explore("slots 2 + 1 + 1, queues of 2", &[1], |profile| {
        every_lane(profile, |lane| lane.deadline = TICK);
    });
}

#[test]
fn pool_of_one_with_queues_of_two() {
    explore("slots 1 + 1 + 1, queues of 2", &[1], |profile| {
        profile.limits.slots = Slots::new(3);
    });
}

#[test]
fn reserves_of_unequal_size() {
    explore("slots 1 + 2 + 1, queues of 1, 1, 0", &[1], |profile| {
        profile.limits.lanes[Lane::LocalHealth].slot_reserve = Slots::new(2);
        every_lane(profile, |lane| lane.queue = Tickets::new(1));
        profile.limits.lanes[Lane::ProviderHealth].queue = Tickets::ZERO;
    });
}

#[test]
fn rates_that_run_dry() {
    explore(
        "slots 2 + 1 + 1, rates of 1 and 2 a second, queues of 1",
        &[1],
        |profile| {
            every_lane(profile, |lane| lane.queue = Tickets::new(1));
            let rate = |burst| {
                RatePolicy::Budget(RateBudget {
                    burst,
                    per_second: 1,
                })
            };
            profile.limits.lanes[Lane::LocalHealth].request_rate = rate(1);
            profile.limits.lanes[Lane::ProviderHealth].request_rate = rate(2);
            profile.limits.lanes[Lane::Anonymous].queue = Tickets::ZERO;
        },
    );
}

#[test]
fn bytes_that_run_out() {
    explore(
        "slots 2 + 1 + 1, 6 bytes in flight, queues of 1, 1, 0",
        &[1, 2],
        |profile| {
            every_lane(profile, |lane| {
                lane.queue = Tickets::new(1);
                lane.footprint = Bytes::new(2);
                lane.deadline = Span::from_millis(500);
            });
            profile.limits.bytes_in_flight = Bytes::new(6);
            profile.limits.lanes[Lane::LocalHealth].per_connection = Requests::new(2);
            profile.limits.lanes[Lane::ProviderHealth].queue = Tickets::ZERO;
        },
    );
}

#[test]
fn lanes_with_ceilings_below_the_pool() {
    explore(
        "slots 2 + 1 + 1, lane ceilings of 1 and 2, queues of 2 and 1",
        &[1],
        |profile| {
            every_lane(profile, |lane| lane.queue = Tickets::new(1));
            profile.limits.lanes[Lane::Anonymous].slots = Slots::new(1);
            profile.limits.lanes[Lane::Anonymous].queue = Tickets::new(2);
            profile.limits.lanes[Lane::LocalHealth].slots = Slots::new(2);
        },
    );
}
