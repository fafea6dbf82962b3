//! The small steps of the path: what a connection does, deadlines, and wishes to the caller.

use ingress_ledger::{ConnectionUse, Instant, Lane, LanePhases};

use crate::boot::policy::DEFAULT_LIMITS;
use crate::connection::output::Output;
use crate::connection::record::{Doing, Record, Stage};
use crate::connection::table::Place;
use crate::http::body::BodyReader;
use crate::server::{Now, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Makes a claimed record that of a new connection.
    pub(crate) fn reset_record(&mut self, at: Place, usage: ConnectionUse, stage: Stage) {
        self.state.live = self.state.live.saturating_add(1);
        let generation = self.memory[at].generation;
        self.memory[at] = Record {
            generation,
            usage,
            stage,
            ..Record::FREE
        };
        self.note_stage(at);
    }

    /// How long the phases of a lane may take.
    pub(crate) fn phases(&self, lane: Lane) -> LanePhases {
        self.state
            .policy
            .as_ref()
            .map_or(DEFAULT_LIMITS.lanes[lane].phases, |policy| {
                policy.phases[lane]
            })
    }

    /// Has a connection with a permit do something else; what it held before was taken from it.
    pub(crate) fn enter(&mut self, at: Place, next: Doing) {
        if let Stage::Open { doing, .. } = &mut self.memory[at].stage {
            *doing = next;
        } else {
            self.state.fault("a connection without a permit goes on");
        }
        self.note_stage(at);
    }

    /// Keeps the lists of standings and the count of busy connections, after every change of stage.
    pub(crate) fn note_stage(&mut self, at: Place) {
        let record = &mut self.memory[at];
        let is_busy = !record.is_quiet();
        let was_busy = core::mem::replace(&mut record.is_counted_busy, is_busy);
        match (was_busy, is_busy) {
            (false, true) => self.state.busy = self.state.busy.saturating_add(1),
            (true, false) => match self.state.busy.checked_sub(1) {
                Some(busy) => self.state.busy = busy,
                None => self
                    .state
                    .fault("more connections became quiet than were busy"),
            },
            _ => {}
        }
        self.memory.note_standing(at, self.state.clock);
    }

    /// Sets or takes away the connection's one deadline.
    pub(crate) fn set_deadline(&mut self, at: Place, deadline: Option<Instant>) {
        match deadline {
            Some(deadline) => self.memory.deadlines.set(at.index(), deadline),
            None => self.memory.deadlines.cancel(at.index()),
        }
    }

    /// Asks the caller for a receive, unless one is under way.
    pub(crate) fn want_receive(&mut self, at: Place) {
        let record = &mut self.memory[at];
        if !record.outstanding.receive && !record.wanted.receive {
            record.wanted.receive = true;
            self.note_wish(at);
        }
    }

    /// Asks the caller for a send, unless one is under way.
    pub(crate) fn want_send(&mut self, at: Place) {
        let record = &mut self.memory[at];
        if !record.outstanding.send && !record.wanted.send {
            record.wanted.send = true;
            self.note_wish(at);
        }
    }

    /// Queues a connection with a wish behind those of its lane.
    pub(crate) fn note_wish(&mut self, at: Place) {
        let lane = self.memory[at].lane();
        self.memory.ready.push(lane as u16, at.index());
    }

    /// More of a head must come, or a head at all: how long that may take, and the receive.
    pub(crate) fn await_head(&mut self, at: Place, now: Now) {
        let record = &self.memory[at];
        if record.peer_closed {
            return self.close_after_peer(at);
        }
        let phases = self.phases(record.lane());
        let (next, time) = match (record.doing(), record.input.scan.has_begun()) {
            // A head may take as long as the phase from its start, and its start is the accept.
            (Some(Doing::Fresh), true) | (Some(Doing::Head), true) => (Doing::Head, None),
            (Some(Doing::Fresh), false) => (Doing::Fresh, None),
            (_, true) => (Doing::Head, Some(phases.head)),
            (_, false) => (Doing::Idle, Some(phases.idle)),
        };
        self.enter(at, next);
        if let Some(time) = time {
            self.set_deadline(at, now.map(|now| now.after(time)));
        }
        self.want_receive(at);
    }

    /// More of a body must come: the time that it may take counts from its beginning.
    pub(crate) fn await_body(&mut self, at: Place, next: BodyReader, now: Now) {
        if self.memory[at].peer_closed {
            return self.close_after_peer(at);
        }
        match &mut self.memory[at].stage {
            Stage::Open {
                doing: Doing::Body { reader, .. },
                ..
            } => *reader = next,
            _ => self.begin_body(at, next, Output::new(), now),
        }
        self.want_receive(at);
    }

    /// A body begins, and with it the time that it may take.
    pub(crate) fn begin_body(&mut self, at: Place, reader: BodyReader, interim: Output, now: Now) {
        let body = self.phases(self.memory[at].lane()).body;
        self.enter(at, Doing::Body { reader, interim });
        self.set_deadline(at, now.map(|now| now.after(body)));
    }
}
