//! The driver: decodes words as operations, runs ledger and model side by side, and checks
//! every invariant after each.

use ingress_ledger::{
    Bytes, Chosen, ConnectionUse, EvidenceSnapshot, IngressFootprint, IngressLedger,
    IngressReservation, Instant, Issuer, LANES, Lane, LaneEvidence, Owner, PerLane, Selected,
    ValidatedProfile,
};

use super::model::{Choice, Doing, Model};
use super::profiles::Digits;

const CONNECTIONS: usize = 6;

struct Held<'a> {
    reservation: IngressReservation<'a>,
    id: u64,
    connection: usize,
}

/// Ledger and model, in the same state.
pub struct Driver<'a> {
    ledger: IngressLedger<'a, 64>,
    model: Model,
    connections: Vec<ConnectionUse>,
    held: Vec<Held<'a>>,
    now: u64,
    clock_steps_back: u64,
    /// General choices of other lanes that each lane's head has seen so far.
    passed: PerLane<(Option<u64>, usize)>,
}

impl<'a> Driver<'a> {
    pub fn new(profile: &ValidatedProfile, issuer: &'a Issuer) -> Self {
        let ledger = IngressLedger::new(profile, issuer).expect("64 tickets are enough");
        let model = Model::new(profile);
        assert!(model.agrees_on_ceilings());
        let connections = (0..CONNECTIONS)
            .map(|index| ConnectionUse::new(Lane::ALL[index % LANES], Owner(index as u32)))
            .collect();
        Driver {
            ledger,
            model,
            connections,
            held: Vec::new(),
            now: 0,
            clock_steps_back: 0,
            passed: PerLane::all((None, 0)),
        }
    }

    /// Runs one operation, whatever the word.
    pub fn step(&mut self, word: u64) {
        let mut draw = Digits(word);
        match draw.below(16) {
            0..=5 => self.request(&mut draw),
            6..=8 => self.end(&mut draw, true),
            9 => self.end(&mut draw, false),
            10..=12 => self.select_next(),
            13 => self.deny(&mut draw),
            14 => self.now = self.now.saturating_add(draw.below(100_000_000)),
            _ => self.unusual(&mut draw),
        }
        self.check();
    }

    fn request(&mut self, draw: &mut Digits) {
        let connection = draw.below(CONNECTIONS as u64) as usize;
        let bytes = 1 + draw.below(40);
        let deadline = match draw.below(8) {
            0 => self.now.saturating_sub(draw.below(3)),
            1..=3 => self.now.saturating_add(draw.below(300_000_000)),
            _ => u64::MAX,
        };
        let now = (draw.below(64) != 0).then_some(self.now);
        self.clock_steps_back += u64::from(now.is_some_and(|now| now < self.model.latest));
        let lane = self.connections[connection].lane();
        let real = self.ledger.request(
            &mut self.connections[connection],
            IngressFootprint::new(Bytes::new(bytes)).expect("not zero"),
            Instant::from_nanos(deadline),
            now.map(Instant::from_nanos),
        );
        match (
            real,
            self.model.request(lane, connection, bytes, deadline, now),
        ) {
            (Ok(reservation), Ok((id, serving))) => {
                assert_eq!(self.ledger.holds_slot(&reservation), serving);
                self.held.push(Held {
                    reservation,
                    id,
                    connection,
                });
            }
            (Err(real), Err(model)) => assert_eq!(real, model),
            (real, model) => panic!("ledger {real:?}, model {model:?}"),
        }
    }

    fn deny(&mut self, draw: &mut Digits) {
        let lane = Lane::ALL[draw.below(LANES as u64) as usize];
        let now = (draw.below(64) != 0).then_some(self.now);
        self.clock_steps_back += u64::from(now.is_some_and(|now| now < self.model.latest));
        let real = self
            .ledger
            .charge_denial(lane, now.map(Instant::from_nanos));
        assert_eq!(real, self.model.charge_denial(lane, now));
    }

    fn end(&mut self, draw: &mut Digits, completed: bool) {
        if self.held.is_empty() {
            return;
        }
        let index = draw.below(self.held.len() as u64) as usize;
        let serving = self.ledger.holds_slot(&self.held[index].reservation);
        let Held {
            reservation,
            id,
            connection,
        } = self.held.swap_remove(index);
        let completed = completed && serving;
        let connection = &mut self.connections[connection];
        let released = if completed {
            self.ledger.complete(reservation, connection)
        } else {
            self.ledger.cancel(reservation, connection)
        };
        released.expect("a token of this ledger, with its connection");
        self.model.end(id, completed);
    }

    fn select_next(&mut self) {
        self.clock_steps_back += u64::from(self.now < self.model.latest);
        let competed = PerLane::from_fn(|lane| self.competing_head(lane));
        let real = self.ledger.select_next(Instant::from_nanos(self.now));
        let model = self.model.select_next(self.now);
        match (real, model) {
            (None, None) => {}
            (Some(Selected::Expired(chosen)), Some(Choice::Expired(id))) => {
                self.assert_chosen(chosen, id);
            }
            (Some(Selected::Dispatched(chosen)), Some(Choice::FromReserve(id))) => {
                self.assert_chosen(chosen, id);
            }
            (Some(Selected::Dispatched(chosen)), Some(Choice::FromGeneral(id))) => {
                self.assert_chosen(chosen, id);
                self.assert_nobody_starves(chosen.lane, &competed);
            }
            (real, model) => panic!("ledger {real:?}, model {model:?}"),
        }
    }

    fn assert_chosen(&self, chosen: Chosen, id: u64) {
        let held = self
            .held
            .iter()
            .find(|held| held.reservation.ticket() == chosen.ticket);
        let held = held.expect("a ticket that is held");
        assert_eq!(held.id, id);
        assert_eq!(chosen.owner, self.connections[held.connection].owner());
        assert_eq!(chosen.lane, self.connections[held.connection].lane());
    }

    fn competing_head(&self, lane: Lane) -> Option<u64> {
        let waits = |a: &&super::model::Admitted| a.lane == lane && a.doing == Doing::Waiting;
        let head = self.model.list.iter().find(waits)?.id;
        self.model.competes(lane).then_some(head)
    }

    /// A head that competes sees at most `LANES - 1` other general choices.
    fn assert_nobody_starves(&mut self, chosen: Lane, competed: &PerLane<Option<u64>>) {
        for lane in Lane::ALL {
            let (head, seen) = self.passed[lane];
            let seen = if head == competed[lane] { seen } else { 0 };
            let seen = if lane == chosen || competed[lane].is_none() {
                0
            } else {
                seen + 1
            };
            assert!(seen < LANES, "{lane:?} starves");
            self.passed[lane] = (competed[lane], seen);
        }
    }

    /// A clock that steps back, a leap to the end of time, a denied route.
    fn unusual(&mut self, draw: &mut Digits) {
        match draw.below(2_048) {
            0..=499 => self.now = self.now.saturating_sub(draw.below(1_000_000)),
            500..=999 => self.now = self.now.saturating_add(draw.below(10_000_000_000)),
            1_000 => self.now = self.now.max(u64::MAX - draw.below(1_000_000_000)),
            _ => {
                let lane = Lane::ALL[draw.below(LANES as u64) as usize];
                self.ledger.route_denied(lane);
                self.model.counters[lane].route_denied += 1;
            }
        }
    }

    /// Every figure of the evidence against the model's, and the invariants of the evidence.
    fn check(&self) {
        let evidence = self.ledger.evidence();
        let model = &self.model;
        for (lane, real) in evidence.lanes.iter() {
            let LaneEvidence {
                counters,
                serving,
                waiting,
                bytes,
                slot_reserve,
                slot_limit,
                ..
            } = *real;
            assert_eq!(counters, model.counters[lane], "{lane:?}");
            assert_eq!(serving, model.serving(lane), "{lane:?}");
            assert_eq!(waiting, model.waiting(lane), "{lane:?}");
            assert_eq!(bytes, model.bytes(lane), "{lane:?}");
            assert_eq!(slot_limit, model.slot_ceiling(lane), "{lane:?}");
            assert!(serving <= slot_limit, "{lane:?}");
            assert!(slot_reserve <= slot_limit, "{lane:?}");
        }
        assert_eq!(evidence.general_used, model.general_used());
        assert!(evidence.general_used <= evidence.general_pool);
        assert_eq!(evidence.slots_high_water, model.slots_high_water);
        assert_eq!(evidence.bytes_high_water, model.bytes_high_water);
        assert_eq!(evidence.clock_steps_back, self.clock_steps_back);
        assert_eq!(evidence.outstanding(), self.held.len() as u64);
        assert!(evidence.release_balanced());
        assert_eq!(
            self.ledger.next_expiry().map(Instant::as_nanos),
            model.next_expiry()
        );
    }

    /// Cancels everything: what must be left is nothing.
    pub fn finish(mut self) -> EvidenceSnapshot {
        while let Some(Held {
            reservation,
            id,
            connection,
        }) = self.held.pop()
        {
            let released = self
                .ledger
                .cancel(reservation, &mut self.connections[connection]);
            released.expect("a token of this ledger, with its connection");
            self.model.end(id, false);
            self.check();
        }
        let evidence = self.ledger.evidence();
        assert!(evidence.is_quiescent() && evidence.release_balanced());
        assert_eq!(evidence.bytes_in_flight, 0);
        assert_eq!(evidence.general_used, 0);
        assert_eq!(self.ledger.next_expiry(), None);
        for connection in &self.connections {
            assert_eq!(connection.outstanding().count(), 0);
        }
        evidence
    }
}
