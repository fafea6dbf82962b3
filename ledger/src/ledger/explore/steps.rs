//! The steps of an exploration, and what must hold of each (shows L7, L8, L9).

use super::{Explorer, Held, Move, TICK, World};
use crate::issuer::Seal;
use crate::lane::{LANES, Lane};
use crate::ledger::Selected;
use crate::ledger::table::State;
use crate::overload::IngressOverload;
use crate::reservation::IngressReservation;
use crate::units::{Bytes, IngressFootprint, Instant};

impl<'a> Explorer<'a> {
    pub(super) fn take(&mut self, world: &World<'a>, step: Move) -> World<'a> {
        let mut next = world.clone();
        match step {
            Move::Tick => next.now = next.now.after(TICK),
            Move::Request(lane, bytes) => self.request(world, &mut next, lane, bytes),
            Move::Deny(lane) => self.deny(world, &mut next, lane),
            Move::SelectNext => self.select(world, &mut next),
            Move::Complete(index) | Move::Cancel(index) => {
                let Held { ticket, lane } = next.held.remove(index);
                let mut connection = self.connection(world, lane);
                let seal = Seal::new(self.issuer, next.ledger.name);
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
                self.check_doing(world, lane, &overload);
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

    /// A denial takes the token that a request would have taken, and nothing else.
    fn deny(&self, world: &World<'a>, next: &mut World<'a>, lane: Lane) {
        let mut expected = world.clone();
        let books = &mut expected.ledger.books[lane];
        if books.rate.check(world.now).is_ok() {
            books.rate.take(world.now);
        }
        let paid = next.ledger.charge_denial(lane, Some(next.now));
        assert_eq!(
            paid.is_ok(),
            world.ledger.books[lane].rate.check(world.now).is_ok()
        );
        assert_eq!(self.key(next), self.key(&expected));
        let mut evidence = world.ledger.evidence();
        let counters = &mut evidence.lanes[lane].counters;
        match paid {
            Ok(()) => counters.denials += 1,
            Err(_) => counters.denials_unpaid += 1,
        }
        assert_eq!(next.ledger.evidence(), evidence);
    }

    /// 429 where the lane filled what it was given, 503 where others hold the general pool or
    /// wait for it.
    fn check_doing(&self, world: &World<'a>, lane: Lane, overload: &IngressOverload) {
        let slots = &world.ledger.slots;
        let queue: usize = self.profile.lane(lane).queue.count() as usize;
        let used = slots.used(lane);
        match overload {
            IngressOverload::LanePoolFull(_) if used < slots.share(lane).ceiling => {
                let waits =
                    |held: &&Held| held.lane == lane && self.state(world, held) != State::Serving;
                let waiting = world.held.iter().filter(waits).count();
                assert!(queue > 0 && waiting == queue, "{waiting} of {queue} wait");
            }
            IngressOverload::AggregateFull(_) => {
                let others = Lane::ALL.into_iter().filter(|other| *other != lane);
                let beyond = |other| slots.used(other).saturating_sub(slots.share(other).reserve);
                let held: u64 = others.clone().map(beyond).sum();
                let wait = others.into_iter().any(|other| world.ledger.competes(other));
                assert!(
                    held > 0 || wait,
                    "{lane:?} is told of others and there are none"
                );
                assert!(
                    queue == 0 || slots.check(lane, 1).is_err(),
                    "a slot is free"
                );
            }
            _ => {}
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
}
