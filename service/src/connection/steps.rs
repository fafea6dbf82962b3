//! The small steps of the path: phases, deadlines, and wishes to the caller.

use ingress_ledger::{ConnectionPermit, ConnectionUse, Instant, Lane, LanePhases};

use crate::boot::policy::DEFAULT_PHASES;
use crate::connection::record::{Phase, Record};
use crate::connection::table::list_of;
use crate::ids::ConnId;
use crate::server::{Now, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Makes a claimed record that of a new connection.
    pub(crate) fn reset_record(
        &mut self,
        conn: ConnId,
        usage: ConnectionUse,
        permit: Option<ConnectionPermit<'static>>,
    ) {
        self.state.live = self.state.live.saturating_add(1);
        if let Some(record) = self.memory.record(conn) {
            let generation = record.generation;
            *record = Record {
                generation,
                usage,
                permit,
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

    /// Moves a connection to another phase; keeps the lists of standings and the count of busy ones.
    pub(crate) fn enter(&mut self, conn: ConnId, phase: Phase) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        let before = core::mem::replace(&mut record.phase, phase);
        match (before.is_quiet(), phase.is_quiet()) {
            (true, false) => self.state.busy = self.state.busy.saturating_add(1),
            (false, true) => match self.state.busy.checked_sub(1) {
                Some(busy) => self.state.busy = busy,
                None => self
                    .state
                    .fault("more connections became quiet than were busy"),
            },
            _ => {}
        }
        self.memory.note_standing(conn, self.state.clock);
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

    /// The absolute deadline of the connection's request.
    pub(crate) fn request_deadline(&self, conn: ConnId) -> Option<Instant> {
        let record = self.memory.peek(conn)?;
        self.state.ledger.deadline(record.reservation.as_ref()?)
    }
}
