//! Exhaustive exploration: every reachable state of small ledgers, breadth first, with every
//! invariant checked on every transition (shows L2, L3, L5, L7, L8, L9).
//!
//! States are compared by what they will do: queues in order with deadlines relative to now,
//! what is served and expired in any order, bucket levels now, the arbiter's order, and how
//! many other general choices each competing head has seen. Counters, table places and
//! generations are left out, since nothing depends on them.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::{HashSet, VecDeque};
use std::println;
use std::vec::Vec;

use super::evidence::EvidenceSnapshot;
use super::table::State;
use super::{IngressLedger, Selected};
use crate::counters::LaneCounters;
use crate::issuer::{Issuer, Seal};
use crate::lane::{LANES, Lane, PerLane};
use crate::overload::IngressOverload;
use crate::profile::{IngressProfile, LaneLimits, Limits, Listener, Resource, ValidatedProfile};
use crate::rate::{RateBudget, RatePolicy};
use crate::reservation::{ConnectionUse, IngressReservation, TicketId};
use crate::units::{
    Bytes, Connections, IngressFootprint, Instant, Owner, Requests, Slots, Span, Tickets,
};

type Ledger<'a> = IngressLedger<'a, 12>;

/// One step of the clock; rates refill half a token in it.
const TICK: Span = Span::from_millis(500);

#[derive(Clone)]
struct World<'a> {
    ledger: Ledger<'a>,
    held: Vec<Held>,
    now: Instant,
    /// Other lanes' general choices that each lane's competing head has seen.
    passed: PerLane<u8>,
}

#[derive(Clone, Copy, PartialEq)]
struct Held {
    ticket: TicketId,
    lane: Lane,
}

#[derive(Clone, Copy)]
enum Move {
    Request(Lane, u64),
    Complete(usize),
    Cancel(usize),
    SelectNext,
    Tick,
}

struct Explorer<'a> {
    issuer: &'a Issuer,
    profile: ValidatedProfile,
    footprints: &'static [u64],
    states: usize,
    transitions: usize,
    longest_wait: u8,
}

impl<'a> Explorer<'a> {
    fn run(&mut self) {
        let ledger = Ledger::new(&self.profile, self.issuer).expect("12 tickets are enough");
        let passed = PerLane::all(0);
        let first = World {
            ledger,
            held: Vec::new(),
            now: Instant::from_nanos(1),
            passed,
        };
        let mut seen = HashSet::from([self.key(&first)]);
        let mut frontier = VecDeque::from([first]);
        while let Some(world) = frontier.pop_front() {
            self.check_floor(&world);
            for step in self.moves(&world) {
                let next = self.take(&world, step);
                self.transitions += 1;
                self.check_state(&next);
                if seen.insert(self.key(&next)) {
                    frontier.push_back(next);
                }
            }
        }
        self.states = seen.len();
    }

    fn moves(&self, world: &World<'a>) -> Vec<Move> {
        let mut moves = std::vec![Move::SelectNext, Move::Tick];
        for lane in Lane::ALL {
            moves.extend(
                self.footprints
                    .iter()
                    .map(|bytes| Move::Request(lane, *bytes)),
            );
        }
        for (index, held) in world.held.iter().enumerate() {
            moves.push(Move::Cancel(index));
            if self.state(world, held) == State::Serving {
                moves.push(Move::Complete(index));
            }
        }
        moves
    }

    fn state(&self, world: &World<'a>, held: &Held) -> State {
        world.ledger.table.entry(held.ticket).expect("held").state
    }

    fn connection(&self, world: &World<'a>, lane: Lane) -> ConnectionUse {
        let mut connection = ConnectionUse::new(lane, Owner(lane as u32));
        let outstanding = world.held.iter().filter(|held| held.lane == lane).count();
        connection.outstanding = u32::try_from(outstanding).expect("small");
        connection
    }

    fn take(&mut self, world: &World<'a>, step: Move) -> World<'a> {
        let mut next = world.clone();
        match step {
            Move::Tick => next.now = next.now.after(TICK),
            Move::Request(lane, bytes) => self.request(world, &mut next, lane, bytes),
            Move::SelectNext => self.select(world, &mut next),
            Move::Complete(index) | Move::Cancel(index) => {
                let Held { ticket, lane } = next.held.remove(index);
                let mut connection = self.connection(world, lane);
                let seal = Seal::new(self.issuer, next.ledger.serial);
                let token = IngressReservation { seal, ticket };
                match step {
                    Move::Complete(_) => next.ledger.complete(token, &mut connection),
                    _ => next.ledger.cancel(token, &mut connection),
                }
                .expect("this ledger's");
            }
        }
        for lane in Lane::ALL {
            let head = |world: &World<'a>| world.ledger.table.head(lane).map(|(ticket, _)| ticket);
            if !next.ledger.competes(lane) || head(world) != head(&next) {
                next.passed[lane] = 0;
            }
        }
        next
    }

    fn request(&self, world: &World<'a>, next: &mut World<'a>, lane: Lane, bytes: u64) {
        let mut connection = self.connection(world, lane);
        let footprint = IngressFootprint::new(Bytes::new(bytes)).expect("not zero");
        match next
            .ledger
            .request(&mut connection, footprint, Instant::MAX, Some(next.now))
        {
            Ok(token) => {
                let IngressReservation { seal, ticket } = token;
                seal.open();
                let held = Held { ticket, lane };
                next.held.push(held);
                let general = !world.ledger.slots.has_free_reserve(lane);
                if self.state(next, &held) == State::Serving && general {
                    let overtaken = Lane::ALL
                        .into_iter()
                        .any(|lane| world.ledger.competes(lane));
                    assert!(!overtaken, "a newcomer took a slot that a ticket waits for");
                }
            }
            Err(overload) => {
                assert_eq!(
                    self.key(world),
                    self.key(next),
                    "a refusal changed something"
                );
                let mut expected = world.ledger.evidence();
                expected.lanes[lane].counters.overloads[overload.kind()] += 1;
                assert_eq!(next.ledger.evidence(), expected);
            }
        }
    }

    fn select(&mut self, world: &World<'a>, next: &mut World<'a>) {
        let before = &world.ledger;
        match next.ledger.select_next(next.now) {
            None => {
                for lane in Lane::ALL {
                    let head = before.table.head(lane);
                    assert!(head.is_none_or(|(_, entry)| entry.deadline > next.now));
                    let room = before.slots.check(lane, 1).is_ok();
                    assert!(
                        head.is_none() || !room,
                        "a free slot and a ticket that may have it"
                    );
                }
            }
            Some(Selected::Expired(chosen)) => {
                let entry = before.table.entry(chosen.ticket).expect("it waited");
                assert!(entry.deadline <= next.now);
            }
            Some(Selected::Dispatched(chosen)) => {
                let (head, entry) = before.table.head(chosen.lane).expect("it waited");
                assert_eq!(head, chosen.ticket, "arrival order within the lane");
                assert!(entry.deadline > next.now, "an expired ticket was served");
                if before.slots.has_free_reserve(chosen.lane) {
                    return;
                }
                for lane in Lane::ALL.into_iter().filter(|lane| *lane != chosen.lane) {
                    assert!(
                        !before.slots.has_free_reserve(lane) || before.table.is_queue_empty(lane)
                    );
                    next.passed[lane] += u8::from(before.competes(lane));
                    self.longest_wait = self.longest_wait.max(next.passed[lane]);
                    assert!(usize::from(next.passed[lane]) < LANES, "{lane:?} starves");
                }
            }
        }
    }

    /// Once every free slot is dispatched, a protected lane inside its reserve is served at
    /// once, whatever the others hold.
    fn check_floor(&self, world: &World<'a>) {
        for lane in Lane::ALL.into_iter().filter(|lane| lane.is_protected()) {
            let mine = world.held.iter().filter(|held| held.lane == lane).count();
            if mine as u64 >= world.ledger.slots.share(lane).reserve {
                continue;
            }
            let mut probe = world.clone();
            while probe.ledger.select_next(probe.now).is_some() {}
            let footprint = probe.ledger.footprint(lane).expect("enabled");
            let mut connection = self.connection(world, lane);
            let asked =
                probe
                    .ledger
                    .request(&mut connection, footprint, Instant::MAX, Some(probe.now));
            match asked {
                Ok(token) => {
                    assert!(
                        probe.ledger.holds_slot(&token),
                        "{lane:?} waits inside its reserve"
                    );
                    token.seal.open();
                }
                Err(overload) => {
                    assert!(
                        matches!(overload, IngressOverload::RateLimited { .. }),
                        "{overload:?}"
                    );
                }
            }
        }
    }

    fn check_state(&self, world: &World<'a>) {
        let evidence: EvidenceSnapshot = world.ledger.evidence();
        assert!(evidence.release_balanced());
        assert_eq!(evidence.outstanding(), world.held.len() as u64);
        assert!(evidence.general_used <= evidence.general_pool);
        for (resource, partition) in [
            (Resource::Slots, &world.ledger.slots),
            (Resource::Bytes, &world.ledger.bytes),
        ] {
            for lane in Lane::ALL {
                let reserve = partition.share(lane).reserve;
                let others = partition.total_used() - partition.used(lane);
                assert!(
                    others + reserve <= partition.total(),
                    "{resource:?} of {lane:?} charged"
                );
                assert!(partition.used(lane) <= partition.share(lane).ceiling);
            }
            assert!(partition.total_used() <= partition.total());
        }
        for (lane, lane_evidence) in evidence.lanes.iter() {
            let LaneCounters {
                slots_high_water, ..
            } = lane_evidence.counters;
            assert!(slots_high_water <= lane_evidence.slot_limit);
            let queue: u64 = self.profile.lane(lane).queue.count().into();
            assert!(lane_evidence.waiting <= queue);
        }
    }

    fn key(&self, world: &World<'a>) -> Vec<u64> {
        let ledger = &world.ledger;
        let mut key = Vec::with_capacity(24);
        for lane in Lane::ALL {
            let mut served = Vec::new();
            // Held in order of admission, which is the queue's order.
            for held in world.held.iter().filter(|held| held.lane == lane) {
                let entry = ledger.table.entry(held.ticket).expect("held");
                match entry.state {
                    State::Waiting => key.push(
                        4 + 16 * entry.footprint + 256 * entry.deadline.since(world.now).as_nanos(),
                    ),
                    State::Expired => served.push(1 + 16 * entry.footprint),
                    State::Serving => served.push(2 + 16 * entry.footprint),
                    State::Free => panic!("held and free"),
                }
            }
            key.push(3);
            served.sort_unstable();
            key.append(&mut served);
            key.push(
                ledger.books[lane]
                    .rate
                    .check(world.now)
                    .err()
                    .map_or(0, Span::as_nanos),
            );
            key.push(ledger.books[lane].rate.tokens(world.now));
            key.push(world.passed[lane].into());
        }
        let order = ledger.arbiter.order();
        key.extend(order.map(|lane| lane as u64));
        key
    }
}

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
pub(super) const SMALL: IngressProfile = IngressProfile {
    limits: Limits {
        slots: Slots::new(4),
        connections: Connections::new(4),
        bytes_in_flight: Bytes::new(100),
        refusal_deadline: Span::from_secs(1),
        lanes: PerLane {
            anonymous: PUBLIC,
            local_health: LANE,
            provider_health: LANE,
        },
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
        profile.limits.lanes.local_health.slot_reserve = Slots::new(2);
        every_lane(profile, |lane| lane.queue = Tickets::new(1));
        profile.limits.lanes.provider_health.queue = Tickets::ZERO;
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
            profile.limits.lanes.local_health.request_rate = rate(1);
            profile.limits.lanes.provider_health.request_rate = rate(2);
            profile.limits.lanes.anonymous.queue = Tickets::ZERO;
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
            profile.limits.lanes.local_health.per_connection = Requests::new(2);
            profile.limits.lanes.provider_health.queue = Tickets::ZERO;
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
            profile.limits.lanes.anonymous.slots = Slots::new(1);
            profile.limits.lanes.anonymous.queue = Tickets::new(2);
            profile.limits.lanes.local_health.slots = Slots::new(2);
        },
    );
}
