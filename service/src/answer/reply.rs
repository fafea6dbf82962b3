//! Answers on their way: a refusing one into a connection's note area, a serving one into a slot.

use ingress_ledger::Lane;

use crate::answer::answers::{Problem, Shape};
use crate::answer::respond::{self, Connection, Context};
use crate::connection::buffers::{NOTE_BYTES, PREFIX, SLOT_BYTES};
use crate::connection::output::{Output, Source};
use crate::connection::record::{After, Phase};
use crate::http::condition::Condition;
use crate::http::head::Version;
use crate::http::status::Status;
use crate::ids::ConnId;
use crate::request::route::Handler;
use crate::server::{Ending, Now, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Puts a refusing answer into the connection's note area and has it sent.
    pub(crate) fn answer(&mut self, conn: ConnId, problem: Problem, after: After, now: Now) {
        let date = self.state.date();
        let Some(parts) = self.memory.parts(conn) else {
            return;
        };
        let lane = parts.record.lane();
        let shape = Shape {
            connection: connection_field(after, parts.record.request.version),
            head_only: parts.record.request.head_only,
            date: date.as_ref(),
        };
        let area = parts
            .note
            .get_mut(PREFIX..PREFIX.saturating_add(NOTE_BYTES))
            .unwrap_or_default();
        let Some(bytes) = problem.write(lane, shape, area) else {
            return self.end(conn, Ending::Abort);
        };
        parts.record.output = Output::start(Source::Note, bytes, &[]);
        parts.record.after = after;
        parts.record.body = None;
        if parts.record.refusal.is_none() {
            self.count_response(lane, problem.status);
        }
        let write = self.phases(lane).write;
        self.enter(conn, Phase::Answering);
        self.set_deadline(conn, now.map(|now| now.after(write)));
        self.want_send(conn);
    }

    /// Has the handler of the request's route write into a slot. False if it could not.
    pub(crate) fn respond(&mut self, conn: ConnId, after: After, now: Now) -> bool {
        let Some(slot) = self.memory.claim_slot() else {
            return false;
        };
        let Some(record) = self.memory.record(conn) else {
            self.memory.free_slot(slot);
            return false;
        };
        record.slot = Some(slot);
        record.after = after;
        record.output = Output::start(Source::Slot, 0, &[]);
        let (request, lane) = (record.request, record.lane());
        let Some(handler) = request.route.map(|route| route.handler) else {
            return false;
        };
        let mut drain_ms = 0;
        let mut after = after;
        if handler == Handler::Drain && request.condition == Condition::Holds {
            drain_ms = self.begin_drain(request.drain, now).as_millis();
            after = self.after_request(conn);
        }
        let date = self.state.date();
        let shape = Shape {
            connection: connection_field(after, request.version),
            head_only: request.head_only,
            date: date.as_ref(),
        };
        let memory = self.memory.bytes_used();
        let state = &*self.state;
        let context = Context {
            evidence: &|| state.evidence(memory),
            state: state.serving_state(),
            lane,
            condition: request.condition,
            drain_ms,
        };
        let Some((record, area)) = self.memory.output(conn) else {
            return false;
        };
        let area = area
            .get_mut(PREFIX..PREFIX.saturating_add(SLOT_BYTES))
            .unwrap_or_default();
        let Some(written) = respond::serve(handler, &context, shape, area) else {
            return false;
        };
        record.output = Output::start(Source::Slot, written.bytes, written.rest);
        record.after = after;
        self.count_response(lane, written.status);
        true
    }

    /// Counts a response of the lane.
    pub(crate) fn count_response(&mut self, lane: Lane, status: Status) {
        self.state.service[lane].responses.count(status);
        self.state.note_activity();
    }
}

/// What an answer says about the connection.
const fn connection_field(after: After, version: Version) -> Connection {
    match (after, version) {
        (After::Close | After::Linger, _) => Connection::Close,
        (After::NextRequest, Version::Http10) => Connection::KeepAlive,
        (After::NextRequest, Version::Http11) => Connection::GoesOn,
    }
}
