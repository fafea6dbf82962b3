//! The small steps of the path: phases, deadlines, wishes to the caller, and answers into buffers.

use ingress_ledger::{ConnectionPermit, ConnectionUse, Instant, Lane, LanePhases, RefusalPermit};

use crate::answers::{Problem, Shape};
use crate::buffers::{NOTE_BYTES, PREFIX, SLOT_BYTES};
use crate::http::fault::Fault;
use crate::http::head::Version;
use crate::http::status::Status;
use crate::ids::ConnId;
use crate::output::{Output, Source};
use crate::policy::DEFAULT_PHASES;
use crate::record::{After, Phase, Record};
use crate::respond::{self, Connection, Context};
use crate::route::Handler;
use crate::server::{Ending, Now, Server};
use crate::table::list_of;

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Makes a claimed record that of a new connection.
    pub(crate) fn reset_record(
        &mut self,
        conn: ConnId,
        usage: ConnectionUse,
        permit: Option<ConnectionPermit<'static>>,
        refusal: Option<RefusalPermit<'static>>,
    ) {
        self.state.live = self.state.live.saturating_add(1);
        if let Some(record) = self.memory.record(conn) {
            let generation = record.generation;
            *record = Record {
                generation,
                usage,
                permit,
                refusal,
                phase: Phase::Fresh,
                ..Record::FREE
            };
        }
    }

    /// Where the connection stands.
    pub(crate) fn phase(&self, conn: ConnId) -> Phase {
        self.memory
            .peek(conn)
            .map_or(Phase::Free, |record| record.phase)
    }

    /// What the connection is charged to.
    pub(crate) fn lane(&self, conn: ConnId) -> Lane {
        self.memory
            .peek(conn)
            .map_or(Lane::Anonymous, |record| record.lane())
    }

    /// How long the phases of a lane may take.
    pub(crate) fn phases(&self, lane: Lane) -> LanePhases {
        self.state
            .policy
            .as_ref()
            .map_or(DEFAULT_PHASES[lane], |policy| policy.phases[lane])
    }

    /// Moves a connection to another phase; keeps the list of idle ones and the count of busy ones.
    pub(crate) fn enter(&mut self, conn: ConnId, phase: Phase) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        let before = core::mem::replace(&mut record.phase, phase);
        let lane = record.lane();
        match (before.is_quiet(), phase.is_quiet()) {
            (true, false) => self.state.busy = self.state.busy.saturating_add(1),
            (false, true) => self.state.busy = self.state.busy.saturating_sub(1),
            _ => {}
        }
        if phase == Phase::Idle {
            self.memory.idle.push(list_of(lane), conn.index());
        } else if before == Phase::Idle {
            self.memory.idle.remove(conn.index());
        }
    }

    /// Sets or takes away the connection's one deadline.
    pub(crate) fn set_deadline(&mut self, conn: ConnId, deadline: Option<Instant>) {
        match deadline {
            Some(deadline) => self.memory.deadlines.set(conn.index(), deadline),
            None => self.memory.deadlines.cancel(conn.index()),
        }
    }

    /// Asks the caller for a receive, unless one is under way.
    pub(crate) fn want_receive(&mut self, conn: ConnId) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        if !record.outstanding.receive && !record.wanted.receive {
            record.wanted.receive = true;
            let list = list_of(record.lane());
            self.memory.ready.push(list, conn.index());
        }
    }

    /// Asks the caller for a send, unless one is under way.
    pub(crate) fn want_send(&mut self, conn: ConnId) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        if !record.outstanding.send && !record.wanted.send {
            record.wanted.send = true;
            let list = list_of(record.lane());
            self.memory.ready.push(list, conn.index());
        }
    }

    /// More of a request must come: which phase that is, how long it may take, and the receive.
    pub(crate) fn await_more(&mut self, conn: ConnId, now: Now) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        if record.peer_closed {
            return self.close_after_peer(conn);
        }
        let before = record.phase;
        let phase = match (before, record.body.is_some(), record.input.scan.has_begun()) {
            (_, true, _) => Phase::Body,
            (_, false, true) => Phase::Head,
            (Phase::Fresh, false, false) => Phase::Fresh,
            (_, false, false) => Phase::Idle,
        };
        let phases = self.phases(self.lane(conn));
        self.enter(conn, phase);
        match (before, phase) {
            // A head may take as long as the phase from its start, and its start is the accept.
            (Phase::Fresh, Phase::Fresh | Phase::Head)
            | (Phase::Head, Phase::Head)
            | (Phase::Body, Phase::Body) => {}
            (_, Phase::Head) => self.set_deadline(conn, now.map(|now| now.after(phases.head))),
            (_, Phase::Body) => self.set_deadline(conn, now.map(|now| now.after(phases.body))),
            _ => self.set_deadline(conn, now.map(|now| now.after(phases.idle))),
        }
        self.want_receive(conn);
    }

    /// An interim answer goes out before the body is awaited.
    pub(crate) fn send_interim(&mut self, conn: ConnId, now: Now) {
        let phases = self.phases(self.lane(conn));
        self.enter(conn, Phase::Body);
        self.set_deadline(conn, now.map(|now| now.after(phases.body)));
        self.want_send(conn);
    }

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
        self.count_response(lane, problem.status);
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
        if handler == Handler::Drain {
            drain_ms = self.begin_drain(request.drain, now).as_millis();
            after = self.after_request(conn);
        }
        let date = self.state.date();
        let shape = Shape {
            connection: connection_field(after, request.version),
            head_only: request.head_only,
            date: date.as_ref(),
        };
        let state = &*self.state;
        let context = Context {
            evidence: &|| state.evidence(),
            state: state.serving_state(),
            is_watched: lane != Lane::LocalHealth,
            is_cached: request.is_cached,
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

    /// The absolute deadline of the connection's request.
    pub(crate) fn request_deadline(&self, conn: ConnId) -> Option<Instant> {
        let record = self.memory.peek(conn)?;
        self.state.ledger.deadline(record.reservation.as_ref()?)
    }

    /// The connection's deadline has passed: what that means depends on the phase.
    pub(crate) fn time_out(&mut self, conn: ConnId, now: Now) {
        let phase = self.phase(conn);
        if !matches!(
            phase,
            Phase::Free | Phase::Idle | Phase::Lingering | Phase::Closing
        ) {
            self.count_time_out(conn);
        }
        match phase {
            Phase::Fresh | Phase::Head => self.answer_fault(conn, Fault::HeadTimeout, now),
            Phase::Body if self.has_output(conn) => self.end(conn, Ending::Abort),
            Phase::Body => self.answer_fault(conn, Fault::BodyTimeout, now),
            Phase::Idle | Phase::Lingering => self.end(conn, Ending::Close),
            Phase::Waiting | Phase::Answering => self.end(conn, Ending::Abort),
            Phase::Free | Phase::Closing => {}
        }
    }

    /// Counts a connection or request that a deadline ends.
    pub(crate) fn count_time_out(&mut self, conn: ConnId) {
        let lane = self.lane(conn);
        let count = &mut self.state.service[lane].timed_out;
        *count = count.saturating_add(1);
        self.state.note_activity();
    }

    fn has_output(&self, conn: ConnId) -> bool {
        self.memory
            .peek(conn)
            .is_some_and(|record| !record.output.is_empty())
    }

    fn count_response(&mut self, lane: Lane, status: Status) {
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
