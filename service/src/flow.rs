//! The path of a connection, top to bottom:
//! accept → lane → permit → parse → route → respond → release.
//!
//! ```text
//! admit ──▶ permit ──▶ advance ──▶ parse ──▶ route ──▶ reserve ──▶ serve ──▶ finish ──▶ end
//!   │ none     │          ▲          │ fault    │ denial   │ overload │  ▲       │
//!   ▼          ▼          │          ▼          ▼          ▼          ▼  │       ├──▶ session
//! turn away  refuse       │         tell ───── tell ───── tell     a job ┘       │
//!                         └──────────────────── next request ◀───────────────────┘
//! ```
//!
//! Keeps INV-LANE (a lane is the listener's, and nothing below reads it from anywhere else),
//! INV-ROUTES (a denied request reaches no handler) and INV-RELEASE (one site ends a request, one
//! ends a connection; both in `release`).

use ingress_ledger::{ConnectionPermit, IngressReservation, Instant, Lane, Owner, Selected};

use crate::connection::record::{After, Doing, Held, Reason, Stage};
use crate::connection::table::{Parts, Place};
use crate::http::body::BodyReader;
use crate::http::fault::Fault;
use crate::http::framing::BodyFraming;
use crate::http::head::Expectation;
use crate::ids::ConnId;
use crate::release::Ended;
use crate::request::parse::{self, Parsed};
use crate::request::route;
use crate::server::{Now, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Accept, lane, permit: the lane is that of the listener that accepted, before a byte is read.
    pub(crate) fn admit(&mut self, lane: Lane, now: Now) -> Option<ConnId> {
        let Some(at) = self.memory.claim_record() else {
            // The accept took one before it was started.
            self.state.fault("fewer records than were divided");
            return None;
        };
        if self.takes_connections(lane) {
            // A newcomer is preferred to whoever has had its time in its own lane.
            self.make_room(lane, now);
            match self.state.permits.admit(lane, now) {
                Ok(permit) => self.open(at, permit, now),
                Err(refusal) => self.refuse(at, lane, refusal, now),
            }
        } else {
            self.turn_away(at, lane);
        }
        Some(self.memory.id_of(at))
    }

    /// A permit was given: the head is awaited.
    fn open(&mut self, at: Place, permit: ConnectionPermit<'static>, now: Now) {
        let usage = permit.connection_use(Owner(self.memory.id_of(at).to_word()));
        let head = self.phases(permit.lane()).head;
        let doing = Doing::Fresh;
        self.reset_record(at, usage, Stage::Open { permit, doing });
        self.set_deadline(at, now.map(|now| now.after(head)));
        self.want_receive(at);
    }

    /// Parse, route, reserve: as far as the input reaches.
    pub(crate) fn advance(&mut self, at: Place, now: Now) {
        let read = match self.memory[at].doing() {
            Some(&Doing::Body { reader, .. }) => self.read_body(at, reader, now),
            _ => self.read_head(at, now),
        };
        if let Err(fault) = read {
            self.tell_fault(at, fault, now);
        }
    }

    /// Parse and route: a head, who answers it, and whether a body follows.
    fn read_head(&mut self, at: Place, now: Now) -> Result<(), Fault> {
        let routes = self.state.routes;
        let Parts {
            record,
            input,
            note,
        } = self.memory.parts(at);
        let Parsed::Whole(head) = parse::head(record, input)? else {
            self.await_head(at, now);
            return Ok(());
        };
        let routed = route::decide(routes, record.lane(), &head);
        record.asked = parse::keep(&head, routed);
        let (framing, expectation) = (head.body, head.expectation);
        let route = match routed {
            Ok(route) => route,
            Err(denial) => {
                self.deny(at, denial, framing, now);
                return Ok(());
            }
        };
        if framing == BodyFraming::None {
            self.reserve(at, now);
            return Ok(());
        }
        record.input.begin_body();
        let reader = BodyReader::new(framing, route.body_bytes_max)?;
        let must_invite = expectation == Expectation::Continue && !reader.is_done();
        if must_invite && route.body_bytes_max == 0 {
            return Err(Fault::BodyTooLarge);
        }
        // A client that already sends needs no invitation (RFC 9110 §10.1.1).
        if must_invite && record.input.is_empty() {
            let interim = parse::invite(note);
            self.begin_body(at, reader, interim, now);
            self.want_send(at);
            return Ok(());
        }
        self.read_body(at, reader, now)
    }

    /// Parse: the body of a request that has a route.
    fn read_body(&mut self, at: Place, mut reader: BodyReader, now: Now) -> Result<(), Fault> {
        let Parts { record, input, .. } = self.memory.parts(at);
        match parse::body(&mut record.input, input, &mut reader)? {
            Parsed::Partial => self.await_body(at, reader, now),
            Parsed::Whole(()) => self.reserve(at, now),
        }
        Ok(())
    }

    /// Admission: a reservation that holds a slot or waits for one, or a typed overload.
    fn reserve(&mut self, at: Place, now: Now) {
        let usage = &mut self.memory[at].usage;
        let lane = usage.lane();
        let ledger = &mut self.state.ledger;
        let Some(footprint) = ledger.footprint(lane) else {
            // A lane that does not exist: the request must not stay where it is parsed again.
            return self.end(at, Reason::Defect);
        };
        match ledger.request(usage, footprint, Instant::MAX, now) {
            Ok(reservation) => {
                if ledger.holds_slot(&reservation) {
                    return self.serve(at, reservation, now);
                }
                self.enter(at, Doing::Waiting { reservation });
                self.set_deadline(at, None);
            }
            Err(overload) => {
                self.make_slot_for_next(lane, overload);
                self.tell_overload(at, overload, now);
            }
        }
    }

    /// Gives free slots to whoever is next; tells those whose deadline has passed.
    pub(crate) fn dispatch(&mut self, now: Now) {
        let Some(clock) = now else { return };
        while let Some(selected) = self.state.ledger.select_next(clock) {
            let (Selected::Dispatched(chosen) | Selected::Expired(chosen)) = selected;
            let Some(at) = self.memory.resolve(ConnId::from_word(chosen.owner.0)) else {
                self.state.fault("a ticket's connection is gone");
                continue;
            };
            let Some(reservation) = self.memory[at].take_waiting() else {
                self.state.fault("a ticket is no request's that waits");
                continue;
            };
            match selected {
                Selected::Dispatched(_) => self.serve(at, reservation, now),
                Selected::Expired(_) => self.expire(at, reservation, now),
            }
        }
        for lane in Lane::ALL {
            let waiting = self.state.ledger.waiting(lane).count();
            self.make_slots(lane, waiting);
        }
    }

    /// Respond: the ledger has given a slot, and the handler writes into its buffer.
    fn serve(&mut self, at: Place, reservation: IngressReservation<'static>, now: Now) {
        let Some(slot) = self.memory.claim_slot() else {
            self.state.fault("the ledger gave a slot that is not there");
            self.release_reservation(at, reservation, Ended::Cancelled);
            return self.end(at, Reason::Defect);
        };
        self.respond(at, Held { reservation, slot }, None, now);
    }

    /// The answer was sent: release, then the next request or the end.
    pub(crate) fn finish(&mut self, at: Place, now: Now) {
        if let Stage::Refused { status, .. } = self.memory[at].stage {
            self.count_response(self.memory[at].lane(), status);
            return self.end(at, Reason::Told);
        }
        let Some((held, after)) = self.memory[at].take_answered() else {
            return self.state.fault("a send ended that was no answer's");
        };
        if let Some(held) = held {
            self.release_held(at, held, Ended::Served);
        }
        match after {
            After::NextRequest => {
                self.enter(at, Doing::Idle);
                self.advance(at, now);
            }
            After::Close => self.end(at, Reason::Answered),
            After::Linger => self.linger(at, now),
            After::Upgrade(protocol) => self.begin_session(at, protocol, now),
        }
    }
}
