//! Refusing answers: written into the connection's own note area, so that no slot is needed to say
//! no.

use ingress_ledger::{
    ConnectionUse, IngressOverload, IngressReservation, Lane, Owner, PermitRefusal,
};

use crate::answer::head::{Connection, Shape};
use crate::answer::problem::Problem;
use crate::connection::buffers::{NOTE_BYTES, PREFIX};
use crate::connection::output::Output;
use crate::connection::record::{After, Doing, Reason, Stage};
use crate::connection::table::{Parts, Place};
use crate::http::fault::Fault;
use crate::http::framing::BodyFraming;
use crate::http::head::Persistence;
use crate::http::status::Status;
use crate::release::Ended;
use crate::request::route::Denial;
use crate::server::{Now, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// No permit was given (INV-REFUSALS): the peer is told so in one send, which a fresh socket has
    /// room for, and nothing is waited for; what it sends meanwhile is for the stack to throw away.
    pub(crate) fn refuse(&mut self, at: Place, lane: Lane, refusal: PermitRefusal, now: Now) {
        let usage = ConnectionUse::new(lane, Owner(self.memory.id_of(at).to_word()));
        self.reset_record(at, usage, Stage::Free);
        // No time of its own is needed to send at once, so the last one will do for the deadline.
        let clock = now.unwrap_or(self.state.clock);
        let Ok(permit) = self.state.permits.admit_refusal(lane, clock) else {
            return self.end(at, Reason::Untold);
        };
        let deadline = permit.deadline();
        let problem = Problem::of_refusal(refusal, &mut self.state.jitter);
        let output = self.write_note(at, problem, After::Close);
        let is_written = output.is_some();
        self.memory[at].stage = Stage::Refused {
            permit,
            status: problem.status,
            output: output.unwrap_or(Output::new()),
        };
        if !is_written {
            return self.end(at, Reason::Defect);
        }
        self.note_stage(at);
        self.set_deadline(at, Some(deadline));
        self.want_send(at);
    }

    /// No route for it on this lane: counted, answered, no handler entered. Behind a body that is not
    /// read, nothing is a request.
    pub(crate) fn deny(&mut self, at: Place, denial: Denial, framing: BodyFraming, now: Now) {
        let after = match framing {
            BodyFraming::None => self.after_request(at),
            BodyFraming::Length(_) | BodyFraming::Chunked => {
                let Parts { record, input, .. } = self.memory.parts(at);
                record.input.begin_body();
                record.input.discard(input);
                After::Linger
            }
        };
        let lane = self.memory[at].lane();
        self.state.ledger.route_denied(lane);
        self.tell_at_cost(at, Problem::of_denial(denial), after, now);
    }

    /// The request's form is at fault: what follows it cannot be trusted, so it is the last.
    pub(crate) fn tell_fault(&mut self, at: Place, fault: Fault, now: Now) {
        let Parts { record, input, .. } = self.memory.parts(at);
        record.input.discard(input);
        record.asked.persistence = Persistence::Close;
        self.tell_at_cost(at, Problem::of_fault(fault), After::Linger, now);
    }

    /// Not admitted.
    pub(crate) fn tell_overload(&mut self, at: Place, overload: IngressOverload, now: Now) {
        let after = self.after_overload(at);
        let problem = Problem::of_overload(overload, &mut self.state.jitter);
        self.tell_at_cost(at, problem, after, now);
    }

    /// A lane that has no connection left keeps none for a retry.
    fn after_overload(&self, at: Place) -> After {
        if self.state.permits.can_admit(self.memory[at].lane()) {
            self.after_request(at)
        } else {
            After::Linger
        }
    }

    /// A request's deadline has passed while it waited for a slot.
    pub(crate) fn expire(&mut self, at: Place, reservation: IngressReservation<'static>, now: Now) {
        self.count_time_out(at);
        self.release_reservation(at, reservation, Ended::Cancelled);
        let after = self.after_overload(at);
        let problem =
            Problem::of_overload(IngressOverload::DeadlineExceeded, &mut self.state.jitter);
        self.tell(at, problem, after, now);
    }

    /// Tells what no request was admitted for: it draws on the lane's rate as an admission does
    /// (INV-DENIALS), and one that the rate does not pay for is the connection's last. What follows
    /// comes over a connection of its own, and is bounded by the rate of accepts.
    fn tell_at_cost(&mut self, at: Place, problem: Problem, after: After, now: Now) {
        let lane = self.memory[at].lane();
        let after = match self.state.ledger.charge_denial(lane, now) {
            Ok(()) => after,
            Err(_) => After::Linger,
        };
        self.tell(at, problem, after, now);
    }

    /// Puts a refusing answer into the connection's note area and has it sent.
    fn tell(&mut self, at: Place, problem: Problem, after: After, now: Now) {
        let Some(output) = self.write_note(at, problem, after) else {
            return self.end(at, Reason::Defect);
        };
        self.release_input(at);
        let lane = self.memory[at].lane();
        self.count_response(lane, problem.status);
        self.enter(at, Doing::Telling { output, after });
        let write = self.phases(lane).write;
        self.set_deadline(at, now.map(|now| now.after(write)));
        self.want_send(at);
    }

    /// `None` if it does not fit, which no problem does.
    fn write_note(&mut self, at: Place, problem: Problem, after: After) -> Option<Output> {
        let date = self.state.date();
        let Parts { record, note, .. } = self.memory.parts(at);
        let shape = Shape {
            connection: Connection::of(after, record.asked.version),
            head_only: record.asked.head_only,
            date: date.as_ref(),
        };
        let area = note.get_mut(PREFIX..PREFIX.saturating_add(NOTE_BYTES))?;
        let bytes = problem.write(record.lane(), shape, area)?;
        Some(Output::start(bytes, &[]))
    }

    /// Counts a response of the lane.
    pub(crate) fn count_response(&mut self, lane: Lane, status: Status) {
        self.state.service[lane].responses.count(status);
        self.state.note_activity();
    }
}
