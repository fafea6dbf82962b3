//! The serve loop: one turn after the other, one entry into the kernel each.
//!
//! ```text
//!  accepts ─┐                       ┌─ clock    ─▶ now
//!  releases ┼─▶ SQ ─▶ enter ─▶ CQ ──┼─ accepted ─▶ permit ─▶ record
//!  actions ─┘        (waits only    ├─ received, sent, failed ─▶ server
//!                     when idle)    └─ closed   ─▶ record free
//! ```
//!
//! A turn's completions are told to the server in the kernel's order, all with
//! the time of that turn. Nothing here branches on what is in a request.

use ingress_ledger::{AcceptFailure, Instant};
use remote_session_web_ui::action::Action;
use remote_session_web_ui::buffers::PREFIX;
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::ids::ConnId;
use remote_session_web_ui::policy::{STRUCTURAL_CONNECTIONS, STRUCTURAL_SLOTS};
use remote_session_web_ui::server::{Now, Server};
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire::{self, ExceptionKind};

use super::console::Console;
use super::fault::Fault;
use super::listeners::Listeners;
use super::outcome::{self, CallFailure};
use super::ring::{Call, Completion, Ring, Span, Wait};
use super::sockets::{self, Releases, Sockets};

/// Connection records: the default ceiling of permits, the refusals that are
/// being answered, and the sockets that are being closed.
pub(super) const CONNS: usize = STRUCTURAL_CONNECTIONS as usize + 32;
/// Responses in memory at once.
pub(super) const SLOTS: usize = STRUCTURAL_SLOTS as usize;
/// Slots of the capability table that can wait to be given back.
pub(super) const RELEASES: usize = 2 * CONNS;

/// Releases that must find room before another accept is started: one for each
/// record, and one for each accept on its way.
const RELEASES_KEPT: usize = CONNS + 16;
/// Most completions of one turn.
const COMPLETIONS: usize = capos_config::ring::CQ_ENTRIES as usize;
/// Longest wait in the kernel, so that no lost wake-up lasts.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Wait while the clock cannot be read.
const BLIND_WAIT_NS: u64 = 10_000_000;
/// `Timer.now`.
pub(super) const NOW: u16 = 0;

/// The monotonic clock, read once a turn through its capability.
pub(super) struct Clock {
    cap: CapId,
    result: [u8; 64],
    on_its_way: bool,
    now: Now,
}

impl Clock {
    /// A clock that was last read as `now`.
    pub(super) const fn new(cap: CapId, now: Now) -> Self {
        Self {
            cap,
            result: [0; 64],
            on_its_way: false,
            now,
        }
    }
}

/// The running service.
pub(super) struct Service<'m> {
    pub(super) ring: &'m mut Ring,
    pub(super) clock: Clock,
    pub(super) console: &'m mut Console,
    pub(super) listeners: &'m mut Listeners,
    pub(super) sockets: &'m mut Sockets<CONNS>,
    pub(super) releases: &'m mut Releases<RELEASES>,
    pub(super) server: Server<'m, CONNS, SLOTS>,
    /// An action that found no room in the ring.
    pub(super) next: Option<Action>,
}

impl Service<'_> {
    /// Serves until a drain has come to its end.
    ///
    /// # Errors
    /// The first [`Fault`]; the process ends with it.
    pub(super) fn run(&mut self) -> Result<(), Fault> {
        while !(self.server.finished() && self.console.is_idle()) {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), Fault> {
        self.submit()?;
        self.ring.enter(Wait::Not)?;
        let busy = self.complete()?;
        self.server.tick(self.clock.now);
        self.report();
        if busy || self.has_work() {
            return Ok(());
        }
        self.ring.enter(self.patience())
    }

    /// Whether there is something to submit at once.
    fn has_work(&mut self) -> bool {
        if self.next.is_none() {
            self.next = self.server.next_action();
        }
        self.next.is_some() || !self.releases.is_empty() || self.console.has_next()
    }

    /// How long nothing needs to be done unless something happens.
    fn patience(&self) -> Wait {
        let Some(now) = self.clock.now else {
            return Wait::For(BLIND_WAIT_NS);
        };
        let until = self
            .server
            .next_deadline()
            .map_or(LONGEST_WAIT_NS, |deadline| deadline.since(now).as_nanos());
        Wait::For(until.min(LONGEST_WAIT_NS))
    }

    /// Fills the submission queue: clock, console, accepts, then releases and
    /// actions in turn, so that neither waits for all of the other.
    fn submit(&mut self) -> Result<(), Fault> {
        self.read_clock()?;
        self.console.pump(self.ring)?;
        self.start_accepts()?;
        while self.ring.space() > 0 {
            let released = self.releases.pop();
            if let Some(cap) = released {
                self.ring.push_release(cap)?;
                if self.ring.space() == 0 {
                    break;
                }
            }
            match self.next.take().or_else(|| self.server.next_action()) {
                Some(action) => self.act(action)?,
                None if released.is_none() => break,
                None => {}
            }
        }
        Ok(())
    }

    fn read_clock(&mut self) -> Result<(), Fault> {
        if self.clock.on_its_way || self.ring.space() == 0 {
            return Ok(());
        }
        let call = Call {
            cap: self.clock.cap,
            method: NOW,
            params: Span::read(&wire::NO_PARAMS),
            result: Span::write(&mut self.clock.result),
            tag: Tag::Clock,
        };
        // SAFETY: the clock lives as long as the service, which never moves
        // while it runs; its result is read when the completion is there.
        unsafe { self.ring.push(call) }?;
        self.clock.on_its_way = true;
        Ok(())
    }

    fn start_accepts(&mut self) -> Result<(), Fault> {
        let now = self.clock.now;
        while self.ring.space() > 0 && self.releases.room() > RELEASES_KEPT {
            let server = &self.server;
            let Some(call) = self
                .listeners
                .next_call(|lane| server.may_accept(lane, now))
            else {
                break;
            };
            // SAFETY: the listeners are a static; an accept's result is read
            // when its completion is there, and it is not started before.
            unsafe { self.ring.push(call) }?;
        }
        Ok(())
    }

    /// Does one thing that the server asks for; takes one place in the ring.
    fn act(&mut self, action: Action) -> Result<(), Fault> {
        match action {
            Action::Receive(conn) => self.receive(conn),
            Action::Send(conn) => self.send(conn),
            Action::Close(conn) => self.close(conn),
            Action::Abort(conn) => self.abort(conn),
        }
    }

    fn receive(&mut self, conn: ConnId) -> Result<(), Fault> {
        let Some(socket) = self.sockets.of(conn) else {
            return Ok(());
        };
        let (Some(cap), Some(window)) = (socket.open_cap(), self.server.receive_window(conn))
        else {
            return Ok(());
        };
        let payload_max = u64::try_from(window.payload_max).unwrap_or(0);
        let params = socket.receive_params(wire::one_word(payload_max & 0xffff_ffff));
        let call = Call {
            cap,
            method: sockets::RECV,
            params: Span::read(params),
            result: Span::write(window.message),
            tag: Tag::Receive(conn),
        };
        // SAFETY: INV-SOCKETS, parameters and window belong to the connection's
        // record, which stays as it is until this receive has completed.
        unsafe { self.ring.push(call) }?;
        socket.receive_started();
        Ok(())
    }

    fn send(&mut self, conn: ConnId) -> Result<(), Fault> {
        let Some(socket) = self.sockets.of(conn) else {
            return Ok(());
        };
        let (Some(cap), Some(window)) = (socket.open_cap(), self.server.send_window(conn)) else {
            return Ok(());
        };
        let framed = wire::frame_data(window.message, window.payload).unwrap_or(0);
        let message = window.message.get(..framed).unwrap_or(&[]);
        let params = Span::read(message);
        let call = Call {
            cap,
            method: sockets::SEND,
            params,
            result: Span::write(socket.send_result()),
            tag: Tag::Send(conn),
        };
        // SAFETY: INV-SOCKETS, window and result room belong to the connection,
        // which keeps them as they are until this send has completed.
        unsafe { self.ring.push(call) }?;
        socket.send_started();
        Ok(())
    }

    fn close(&mut self, conn: ConnId) -> Result<(), Fault> {
        let Some(socket) = self.sockets.of(conn) else {
            return Ok(());
        };
        let Some(cap) = socket.open_cap() else {
            return Ok(());
        };
        let call = Call {
            cap,
            method: sockets::CLOSE,
            params: Span::read(&wire::NO_PARAMS),
            result: Span::NONE,
            tag: Tag::Close(conn),
        };
        // SAFETY: the parameters are a constant, and there is no result memory.
        unsafe { self.ring.push(call) }?;
        socket.close_started();
        Ok(())
    }

    fn abort(&mut self, conn: ConnId) -> Result<(), Fault> {
        let Some(cap) = self.sockets.of(conn).and_then(|socket| socket.give_back()) else {
            return Ok(());
        };
        self.ring.push_release(cap)?;
        self.settle(conn);
        Ok(())
    }

    /// Takes all completions; whether there was any but the clock's.
    fn complete(&mut self) -> Result<bool, Fault> {
        let mut completions = [None; COMPLETIONS];
        let mut busy = false;
        for place in &mut completions {
            let Some(completion) = self.ring.pop()? else {
                break;
            };
            if completion.tag == Tag::Clock {
                self.clock_read(completion);
            } else {
                busy = true;
                *place = Some(completion);
            }
        }
        for completion in completions.into_iter().flatten() {
            match completion.tag {
                Tag::Accept(place) => self.accepted(place, completion)?,
                Tag::Receive(conn) => self.received(conn, completion),
                Tag::Send(conn) => self.sent(conn, completion),
                Tag::Close(conn) => self.closed(conn)?,
                Tag::Console => self.console.written(),
                Tag::Release => {}
                Tag::Clock | Tag::Boot => return Err(Fault::UnknownCompletion),
            }
        }
        Ok(busy)
    }

    fn clock_read(&mut self, completion: Completion) {
        self.clock.on_its_way = false;
        self.clock.now = outcome::result(completion, &self.clock.result)
            .ok()
            .and_then(|message| wire::monotonic_ns(message).ok())
            .map(Instant::from_nanos);
    }

    fn accepted(&mut self, place: u16, completion: Completion) -> Result<(), Fault> {
        let lane = Listeners::lane_at(place).ok_or(Fault::UnknownCompletion)?;
        let result = self
            .listeners
            .take_result(place)
            .ok_or(Fault::UnknownCompletion)?;
        let cap = match outcome::result_cap(completion, result, 0, sockets::INTERFACE) {
            Ok(cap) => cap,
            Err(failure) => {
                self.server
                    .accept_failed(lane, accept_fault(failure), self.clock.now);
                return Ok(());
            }
        };
        let taken = self
            .server
            .accepted(lane, self.clock.now)
            .ok()
            .and_then(|conn| self.sockets.open(conn, cap));
        match taken {
            Some(()) => Ok(()),
            // Neither a record nor an answer: dropping the slot resets the peer.
            None => self.releases.push(cap).ok_or(Fault::ReleaseQueue),
        }
    }

    fn received(&mut self, conn: ConnId, completion: Completion) {
        let Some(socket) = self.sockets.of(conn) else {
            return;
        };
        if !socket.receive_ended() {
            return;
        }
        if !socket.is_open() {
            return self.settle(conn);
        }
        let bytes = self
            .server
            .receive_window(conn)
            .and_then(|window| place_payload(window.message, window.payload_max, completion));
        match bytes {
            Some(bytes) => self.server.received(conn, bytes, self.clock.now),
            None => self.server.failed(conn, self.clock.now),
        }
    }

    fn sent(&mut self, conn: ConnId, completion: Completion) {
        let Some(socket) = self.sockets.of(conn) else {
            return;
        };
        if !socket.send_ended() {
            return;
        }
        if !socket.is_open() {
            return self.settle(conn);
        }
        let bytes = outcome::result(completion, socket.send_result())
            .ok()
            .and_then(|message| wire::bytes_sent(message).ok())
            .and_then(|bytes| usize::try_from(bytes).ok());
        match bytes {
            Some(bytes) => self.server.sent(conn, bytes, self.clock.now),
            None => self.server.failed(conn, self.clock.now),
        }
    }

    fn closed(&mut self, conn: ConnId) -> Result<(), Fault> {
        let cap = self
            .sockets
            .of(conn)
            .filter(|socket| socket.is_closing())
            .and_then(|socket| socket.give_back());
        if let Some(cap) = cap {
            self.releases.push(cap).ok_or(Fault::ReleaseQueue)?;
            self.settle(conn);
        }
        Ok(())
    }

    /// Lets the server use the record again once the kernel owes nothing for it.
    fn settle(&mut self, conn: ConnId) {
        let settled = self
            .sockets
            .of(conn)
            .is_some_and(|socket| socket.free_if_settled());
        if settled {
            self.server.closed(conn, self.clock.now);
        }
    }

    fn report(&mut self) {
        if self.console.has_room() && self.server.evidence_due(self.clock.now) {
            let evidence = self.server.evidence();
            self.console
                .say(format_args!("[web-ui] evidence {evidence}"));
        }
    }
}

/// Whether an accept that failed so would fail again at once.
fn accept_fault(failure: CallFailure) -> AcceptFailure {
    match failure {
        // The connection that was to be accepted is the one that is lost.
        CallFailure::Exception(ExceptionKind::Disconnected)
        | CallFailure::Malformed(_)
        | CallFailure::NoCapability => AcceptFailure::Consumed,
        CallFailure::Exception(_) | CallFailure::Transport(_) => AcceptFailure::Spins,
    }
}

/// Finds the payload of a receive and makes sure that it stands where the
/// connection's input expects it; its length, or `None` for a failed receive.
fn place_payload(message: &mut [u8], payload_max: usize, completion: Completion) -> Option<usize> {
    let result = outcome::result(completion, message).ok()?;
    let payload = wire::received(result).ok()?;
    let bytes = payload.len();
    if bytes > payload_max {
        return None;
    }
    let start = payload
        .as_ptr()
        .addr()
        .checked_sub(message.as_ptr().addr())?;
    if bytes > 0 && start != PREFIX {
        // A message laid out otherwise than every builder does it.
        let end = start
            .checked_add(bytes)
            .filter(|end| *end <= message.len())?;
        let room = message.len().checked_sub(bytes)?;
        if PREFIX > room {
            return None;
        }
        message.copy_within(start..end, PREFIX);
    }
    Some(bytes)
}
