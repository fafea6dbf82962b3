//! The boundary of the library: inputs, outputs and windows. No I/O, no clock, no allocation.
//!
//! The caller owns the sockets. It tells the server what happened (`accepted`, `received`, `sent`,
//! `failed`, `closed`, `tick`) and then takes [`Action`](crate::Action)s until there are none:
//!
//! ```text
//! start_accept,
//!    accepted ──▶ ┌────────┐ ──▶ Receive(conn) ── receive_window ──▶ socket
//!    received ──▶ │        │
//!        sent ──▶ │ Server │ ──▶ Send(conn) ───── send_window ─────▶ socket
//!      failed ──▶ │        │
//!      closed ──▶ │        │ ──▶ Close(conn) or Abort(conn), then `closed`
//!   job_ended ──▶ │        │ ──▶ Start(job)
//!        tick ──▶ └────────┘ ──▶ next_deadline, evidence
//! ```
//!
//! Rules for the caller:
//! 1. At most one receive and one send of a connection are outstanding, because each is asked for by
//!    one action and answered by one input. A window stays where it is until then.
//! 2. After `Close` or `Abort` it closes the socket, waits for what is outstanding on it (telling the
//!    server of it or not makes no difference), and calls [`Server::closed`]. Only then is the record,
//!    and any buffer that the kernel could still read, used again.
//! 3. Inputs about a connection or a job that is gone are ignored, so late completions need no
//!    bookkeeping. Each input looks its connection up once, here; the stages take the place.
//! 4. An accept is started only after [`Server::start_accept`] has allowed it: that takes the record
//!    which the connection will need (INV-RECORDS). Its end is told by `accepted` or `accept_failed`.
//! 5. Each started job is ended once, in its own time; its place names what was lent for it (INV-JOBS).
//! 6. Time does not run backwards; `None` says that the clock could not be read, and then whatever
//!    needs a deadline is refused.

use ingress_ledger::{AcceptFailure, ConnectionRecords, Connections, Instant, Lane, Span};

use crate::connection::buffers::{Buffers, ReceiveWindow, SendWindow};
use crate::connection::output::Sent;
use crate::connection::record::{Doing, Reason, Stage};
use crate::ids::{ConnId, JobId};
use crate::report::evidence::Evidence;
use crate::request::job::Outcome;
use crate::request::jobs::Owner;
use crate::request::route::{ROUTES, Route};
pub use crate::state::{Config, Now, StartError, State, WallClock};

/// How long the service is quiet before its evidence is due.
const SETTLE: Span = Span::from_millis(100);

/// How old the last evidence gets while every quiet moment is short.
const EVIDENCE_AGE_MAX: Span = Span::from_secs(5);

/// The service, less its sockets.
pub struct Server<'m, const CONNS: usize, const SLOTS: usize> {
    pub(crate) state: &'m mut State,
    pub(crate) memory: &'m mut Buffers<CONNS, SLOTS>,
}

impl<'m, const CONNS: usize, const SLOTS: usize> Server<'m, CONNS, SLOTS> {
    /// Sets a server up, in memory that the caller reserved and that was never used before.
    ///
    /// # Errors
    /// A policy that does not fit the memory.
    pub fn start(
        state: &'m mut State,
        memory: &'m mut Buffers<CONNS, SLOTS>,
        config: Config,
    ) -> Result<Self, StartError> {
        Self::start_with(state, memory, config, ROUTES)
    }

    /// Sets a server up that serves other routes.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn start_with(
        state: &'m mut State,
        memory: &'m mut Buffers<CONNS, SLOTS>,
        config: Config,
        routes: &'static [Route],
    ) -> Result<Self, StartError> {
        let limits = config.policy.profile.limits();
        if limits.slots.count() as usize > SLOTS {
            return Err(StartError::MemoryTooSmall);
        }
        let records = u32::try_from(CONNS).unwrap_or(u32::MAX);
        let records = ConnectionRecords::divide(&config.policy.profile, records)
            .ok_or(StartError::MemoryTooSmall)?;
        state.open(config, records, routes)?;
        Ok(Self { state, memory })
    }

    /// Sets the wall clock, which `Date` fields follow from then on.
    pub const fn set_wall_clock(&mut self, wall: WallClock) {
        self.state.set_wall_clock(wall);
    }

    /// Whether another accept may be started on that lane's listener now: the lane takes connections,
    /// what it brings could be refused with an answer, has a record, and need not wait for a permit
    /// that is on its way back.
    #[must_use]
    pub fn may_accept(&self, lane: Lane, now: Now) -> bool {
        let at = now.unwrap_or(self.state.clock);
        let on_their_way = self.state.accepting[lane].saturating_add(1);
        self.state.backoff.may_accept(lane, at)
            && self.takes_connections(lane)
            && self.state.records.has_room(lane)
            && self
                .state
                .permits
                .can_answer_refusals(lane, Connections::new(on_their_way))
            && (self
                .state
                .permits
                .has_room(lane, Connections::new(on_their_way))
                || !self.is_turning_over(lane, at))
    }

    /// Starts an accept on that lane's listener, if it [may be](Server::may_accept): what it will bring
    /// has a record from here on.
    #[must_use]
    pub fn start_accept(&mut self, lane: Lane, now: Now) -> bool {
        let is_started = self.may_accept(lane, now) && self.state.records.claim(lane);
        if is_started {
            self.state.accepting[lane] = self.state.accepting[lane].saturating_add(1);
        }
        is_started
    }

    /// A connection was accepted by the listener of `lane`; actions for it follow, whether it is
    /// served, refused or turned away. `None`, which is counted as a fault: no such accept was started.
    pub fn accepted(&mut self, lane: Lane, now: Now) -> Option<ConnId> {
        self.observe(now);
        self.state.note_activity();
        self.state.backoff.accepted(lane);
        self.state.end_accept(lane).then(|| self.admit(lane, now))?
    }

    /// An accept of `lane` failed; if it would fail again at once, none is started for a while.
    pub fn accept_failed(&mut self, lane: Lane, failure: AcceptFailure, now: Now) {
        self.observe(now);
        self.state.note_activity();
        self.state.backoff.failed(lane, failure, self.state.clock);
        if self.state.end_accept(lane) {
            self.state.release_record(lane);
        }
    }

    /// Where the bytes of a receive go. `None` if none was asked for.
    pub fn receive_window(&mut self, conn: ConnId) -> Option<ReceiveWindow<'_>> {
        let at = self.memory.resolve(conn)?;
        let parts = self.memory.parts(at);
        if !parts.record.outstanding.receive {
            return None;
        }
        parts.record.input.open_window(parts.input)
    }

    /// A receive finished with `bytes` payload bytes in its window; 0: the peer sends no more.
    pub fn received(&mut self, conn: ConnId, bytes: usize, now: Now) {
        self.observe(now);
        let Some(at) = self.memory.resolve(conn) else {
            return;
        };
        let parts = self.memory.parts(at);
        if !core::mem::take(&mut parts.record.outstanding.receive) {
            return;
        }
        parts.record.input.close_window(parts.input, bytes);
        parts.record.peer_closed |= bytes == 0;
        match parts.record.doing() {
            Some(Doing::Fresh | Doing::Idle | Doing::Head | Doing::Body { .. }) => {
                if bytes > 0 {
                    self.advance(at, now);
                } else {
                    self.close_after_peer(at);
                }
            }
            Some(Doing::Session { .. }) => self.take_turn(at, now),
            Some(Doing::Telling { .. } | Doing::Lingering { .. }) => self.discard(at, bytes, now),
            Some(Doing::Waiting { .. } | Doing::Working { .. } | Doing::Serving { .. }) => self
                .state
                .fault("input came to a request that was read whole"),
            None => {}
        }
        self.dispatch(now);
    }

    /// The bytes of a send. `None` if none was asked for.
    pub fn send_window(&mut self, conn: ConnId) -> Option<SendWindow<'_>> {
        let at = self.memory.resolve(conn)?;
        if !self.memory[at].outstanding.send {
            return None;
        }
        let (output, area) = self.memory.output(at)?;
        output.window(area)
    }

    /// A send finished: the socket took the first `bytes` of its payload.
    pub fn sent(&mut self, conn: ConnId, bytes: usize, now: Now) {
        self.observe(now);
        let Some(at) = self.memory.resolve(conn) else {
            return;
        };
        if !core::mem::take(&mut self.memory[at].outstanding.send) {
            return;
        }
        let Some((output, area)) = self.memory.output(at) else {
            if !matches!(self.memory[at].stage, Stage::Closing { .. }) {
                self.state
                    .fault("a send ended of a connection without output");
            }
            return;
        };
        match output.sent(area, bytes) {
            Sent::Partly => self.want_send(at),
            Sent::Part => {
                self.memory.renew_standing(at, self.state.clock);
                self.want_send(at);
            }
            Sent::Wholly => match self.memory[at].doing() {
                Some(Doing::Body { .. }) => self.advance(at, now),
                Some(Doing::Session { .. }) => self.take_turn(at, now),
                _ => self.finish(at, now),
            },
        }
        self.dispatch(now);
    }

    /// A job ended so. Its request goes on, if it is still waiting for it.
    pub fn job_ended(&mut self, id: JobId, outcome: Outcome, now: Now) {
        self.observe(now);
        match self.state.jobs.end(id) {
            Owner::Request(at) => self.resume(at, outcome, now),
            Owner::Nobody => self.state.note_activity(),
            Owner::Unknown => {}
        }
        self.dispatch(now);
    }

    /// Jobs of a lane that were started and have not ended, whoever still waits for them.
    #[must_use]
    pub fn jobs_running(&self, lane: Lane) -> usize {
        self.state.jobs.running(lane)
    }

    /// A receive or a send failed, or the peer reset the connection: it is over.
    pub fn failed(&mut self, conn: ConnId, now: Now) {
        self.observe(now);
        if let Some(at) = self.memory.resolve(conn) {
            self.end(at, Reason::Failed);
        }
        self.dispatch(now);
    }

    /// The socket is closed and nothing is outstanding on it: its record may be used again.
    pub fn closed(&mut self, conn: ConnId, now: Now) {
        self.observe(now);
        if let Some(at) = self.memory.resolve(conn) {
            self.end(at, Reason::Failed);
            self.forget(at);
            self.dispatch(now);
        }
    }

    /// Why a connection ends whose socket is not closed yet.
    #[must_use]
    pub fn ends_because(&self, conn: ConnId) -> Option<Reason> {
        match self.memory[self.memory.resolve(conn)?].stage {
            Stage::Closing { reason, .. } => Some(reason),
            Stage::Free | Stage::Refused { .. } | Stage::Open { .. } => None,
        }
    }

    /// Lets deadlines pass. Cheap: call it once a turn, and at `next_deadline` at the latest.
    pub fn tick(&mut self, now: Now) {
        self.observe(now);
        if let Some(at) = now {
            while let Some(index) = self.memory.deadlines.expire(at) {
                if let Some(place) = self.memory.place(index) {
                    self.time_out(place, now);
                }
            }
            self.advance_drain(now);
        }
        self.dispatch(now);
    }

    /// The lane that a connection is charged to, while it has a record.
    #[must_use]
    pub fn lane_of(&self, conn: ConnId) -> Option<Lane> {
        let at = self.memory.resolve(conn)?;
        Some(self.memory[at].lane())
    }

    /// When `tick` is needed next at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let mut next = self.memory.deadlines.next();
        let resumes = Lane::ALL.map(|lane| {
            self.state
                .backoff
                .resumes(lane)
                .filter(|at| *at > self.state.clock)
        });
        let others = [
            self.state.ledger.next_expiry(),
            self.evidence_at(),
            self.drain_deadline(),
        ];
        let slots = Lane::ALL.map(|lane| self.next_slot_at(lane));
        for at in resumes.into_iter().chain(others).chain(slots).flatten() {
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        next
    }

    /// Whether an evidence line is due: something changed since the last, and the service has been
    /// quiet for a moment, or is quiet now and the last line is old.
    pub fn evidence_due(&mut self, now: Now) -> bool {
        self.observe(now);
        let due = self.evidence_at().is_some_and(|at| at <= self.state.clock);
        if due {
            self.state.reported = self.state.activity;
            self.state.reported_at = self.state.clock;
        }
        due
    }

    /// All counters; `Display` is the evidence line.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        self.state.evidence(self.memory.bytes_used())
    }

    /// Whether a drain has come to its end, its last evidence reported: exit 0.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.is_drained() && self.state.reported == self.state.activity
    }

    fn evidence_at(&self) -> Option<Instant> {
        let state = &self.state;
        // Not by what the ledger has outstanding: a line that showed only balanced books would
        // prove nothing.
        if state.busy > 0 || state.reported == state.activity {
            return None;
        }
        Some(
            state
                .active_at
                .after(SETTLE)
                .min(state.reported_at.after(EVIDENCE_AGE_MAX)),
        )
    }

    fn observe(&mut self, now: Now) {
        if let Some(now) = now {
            self.state.clock = self.state.clock.max(now);
        }
    }
}
