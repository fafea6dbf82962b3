//! The path of a connection, top to bottom:
//! accept → lane → permit → parse → route → respond → release.
//!
//! ```text
//! admit ──▶ permit ──▶ advance ──▶ parse ──▶ route ──▶ reserve ──▶ serve ──▶ finish ──▶ end
//!   │ none     │          ▲          │ fault    │ denial    │ overload         │
//!   ▼          ▼          │          ▼          ▼           ▼                  │
//! turn away  refuse       │        answer ── answer ───── answer ──▶ finish    │
//!                         └──────────────── next request ◀─────────────────────┘
//! ```
//!
//! Keeps INV-LANE (a lane is the listener's, and nothing below reads it from anywhere else),
//! INV-ROUTES (a denied request reaches no handler) and INV-RELEASE (one site ends a request, one
//! ends a connection; both in `release`).

use ingress_ledger::{
    ConnectionPermit, ConnectionUse, IngressOverload, Instant, Lane, Owner, PermitRefusal, Selected,
};

use crate::answer::answers::Problem;
use crate::connection::record::{After, Phase};
use crate::http::fault::Fault;
use crate::http::framing::BodyFraming;
use crate::http::head::Persistence;
use crate::ids::ConnId;
use crate::request::parse::Parsed;
use crate::request::route::Denial;
use crate::server::{Ending, Now, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Accept, lane, permit: the lane is that of the listener that accepted, before a byte is read.
    pub(crate) fn admit(&mut self, lane: Lane, now: Now) -> Option<ConnId> {
        let Some(conn) = self.memory.claim_record() else {
            // The accept took one before it was started.
            self.state.fault("fewer records than were divided");
            return None;
        };
        if !self.takes_connections(lane) {
            self.turn_away(conn, lane);
            return Some(conn);
        }
        // A newcomer is preferred to whoever has had its time in its own lane.
        self.make_room(lane, now);
        match self.state.permits.admit(lane, now) {
            Ok(permit) => self.open(conn, permit, now),
            Err(refusal) => self.refuse(conn, (lane, refusal), now),
        }
        Some(conn)
    }

    /// A permit was given: the head is awaited.
    fn open(&mut self, conn: ConnId, permit: ConnectionPermit<'static>, now: Now) {
        let usage = permit.connection_use(Owner(conn.to_word()));
        let head = self.phases(permit.lane()).head;
        self.reset_record(conn, usage, Some(permit));
        self.enter(conn, Phase::Fresh);
        self.set_deadline(conn, now.map(|now| now.after(head)));
        self.want_receive(conn);
    }

    /// No permit was given (INV-REFUSALS): the peer is told so in one send, which a fresh socket has
    /// room for, and nothing is waited for; what it sends meanwhile is for the stack to throw away.
    fn refuse(&mut self, conn: ConnId, (lane, refusal): (Lane, PermitRefusal), now: Now) {
        let usage = ConnectionUse::new(lane, Owner(conn.to_word()));
        self.reset_record(conn, usage, None);
        // No time of its own is needed to send at once, so the last one will do for the deadline.
        let at = now.unwrap_or(self.state.clock);
        let Ok(permit) = self.state.permits.admit_refusal(lane, at) else {
            return self.end(conn, Ending::Abort);
        };
        let deadline = permit.deadline();
        let problem = Problem::of_refusal(refusal, &mut self.state.jitter);
        if let Some(record) = self.memory.record(conn) {
            record.refusal = Some((permit, problem.status));
        }
        self.answer(conn, problem, After::Close, now);
        self.set_deadline(conn, Some(deadline));
    }

    /// Parse, route, reserve: as far as the input reaches.
    pub(crate) fn advance(&mut self, conn: ConnId, now: Now) {
        while self.phase(conn).is_reading() {
            match self.parse(conn) {
                Ok(Parsed::Partial) => return self.await_more(conn, now),
                Ok(Parsed::Interim) => return self.send_interim(conn, now),
                Ok(Parsed::Denied(denial, framing)) => self.deny(conn, denial, framing, now),
                Ok(Parsed::Whole) => self.reserve(conn, now),
                Err(fault) => self.answer_fault(conn, fault, now),
            }
        }
    }

    /// No route for it on this lane: counted, answered, no handler entered. Behind a body that is not
    /// read, nothing is a request.
    fn deny(&mut self, conn: ConnId, denial: Denial, framing: BodyFraming, now: Now) {
        let after = match framing {
            BodyFraming::None => self.after_request(conn),
            BodyFraming::Length(_) | BodyFraming::Chunked => After::Linger,
        };
        let lane = self.lane(conn);
        self.state.ledger.route_denied(lane);
        self.answer(conn, Problem::of_denial(denial), after, now);
    }

    /// The request's form is at fault: what follows it cannot be trusted, so it is the last.
    pub(crate) fn answer_fault(&mut self, conn: ConnId, fault: Fault, now: Now) {
        if let Some(record) = self.memory.record(conn) {
            record.input.discard();
            record.request.persistence = Persistence::Close;
        }
        self.answer(conn, Problem::of_fault(fault), After::Linger, now);
    }

    /// Admission: a reservation that holds a slot or waits for one, or a typed overload.
    fn reserve(&mut self, conn: ConnId, now: Now) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        let ledger = &mut self.state.ledger;
        let Some(footprint) = ledger.footprint(record.lane()) else {
            // A lane that does not exist: the request must not stay where it is parsed again.
            return self.end(conn, Ending::Abort);
        };
        match ledger.request(&mut record.usage, footprint, Instant::MAX, now) {
            Ok(reservation) => {
                let has_slot = ledger.holds_slot(&reservation);
                record.reservation = Some(reservation);
                self.enter(conn, Phase::Waiting);
                self.set_deadline(conn, None);
                if has_slot {
                    self.serve(conn, now);
                }
            }
            Err(overload) => {
                if let IngressOverload::LanePoolFull(_) | IngressOverload::AggregateFull(_) =
                    overload
                {
                    // For whoever comes next: the queue is full, or there is none.
                    let lane = self.lane(conn);
                    let waiting = self.state.ledger.waiting(lane).count();
                    self.make_slots(lane, waiting.saturating_add(1));
                }
                self.answer_overload(conn, overload, now);
            }
        }
    }

    /// Not admitted, or not in time. A lane that has no connection left keeps none for a retry.
    fn answer_overload(&mut self, conn: ConnId, overload: IngressOverload, now: Now) {
        let after = match self.state.permits.can_admit(self.lane(conn)) {
            true => self.after_request(conn),
            false => After::Linger,
        };
        let problem = Problem::of_overload(overload, &mut self.state.jitter);
        self.answer(conn, problem, after, now);
    }

    /// Gives free slots to whoever is next; tells those whose deadline has passed.
    pub(crate) fn dispatch(&mut self, now: Now) {
        let Some(at) = now else { return };
        while let Some(selected) = self.state.ledger.select_next(at) {
            match selected {
                Selected::Dispatched(chosen) => self.serve(ConnId::from_word(chosen.owner.0), now),
                Selected::Expired(chosen) => {
                    let conn = ConnId::from_word(chosen.owner.0);
                    self.count_time_out(conn);
                    self.release_request(conn, Outcome::Cancelled);
                    self.answer_overload(conn, IngressOverload::DeadlineExceeded, now);
                }
            }
        }
        for lane in Lane::ALL {
            let waiting = self.state.ledger.waiting(lane).count();
            self.make_slots(lane, waiting);
        }
    }

    /// Respond: the handler writes into the slot's buffer, bounded by it and by the deadline.
    fn serve(&mut self, conn: ConnId, now: Now) {
        let after = self.after_request(conn);
        if !self.respond(conn, after, now) {
            return self.end(conn, Ending::Abort);
        }
        let write = self.phases(self.lane(conn)).write;
        let deadline = self.request_deadline(conn).zip(now);
        self.enter(conn, Phase::Answering);
        self.set_deadline(
            conn,
            deadline.map(|(deadline, now)| deadline.min(now.after(write))),
        );
        self.want_send(conn);
    }

    /// The answer was sent: release, then the next request or the end.
    pub(crate) fn finish(&mut self, conn: ConnId, now: Now) {
        self.release_request(conn, Outcome::Served);
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        if let Some((_, status)) = record.refusal {
            let lane = record.lane();
            self.count_response(lane, status);
            return self.end(conn, Ending::Close);
        }
        match record.after {
            After::NextRequest => {
                self.enter(conn, Phase::Idle);
                self.advance(conn, now);
            }
            After::Close => self.end(conn, Ending::Close),
            After::Linger => self.linger(conn, now),
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its answer was sent in full.
    Served,
    /// In any other way.
    Cancelled,
}
