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

mod invariants;
mod profiles;
mod steps;

use std::collections::{HashSet, VecDeque};
use std::vec::Vec;

use super::IngressLedger;
use super::table::State;
use crate::issuer::Issuer;
use crate::lane::{Lane, PerLane};
use crate::profile::ValidatedProfile;
use crate::rate::RatePolicy;
use crate::reservation::{ConnectionUse, TicketId};
use crate::units::{Instant, Owner, Span};

pub(super) use profiles::SMALL;

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
    Deny(Lane),
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
            // Where there is no rate, a denial changes nothing.
            if let RatePolicy::Budget(_) = self.profile.lane(lane).request_rate {
                moves.push(Move::Deny(lane));
            }
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

    /// A state, as far as anything depends on it.
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
