//! What comes back, sorted by whose it is, and told to the server with the time of
//! the turn in which it is told.

use ingress_ledger::AcceptFailure;
use remote_session_web_ui::buffers::PREFIX;
use remote_session_web_ui::ids::{ConnId, JobId};
use remote_session_web_ui::request::jobs;
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire::{self, ExceptionKind};

use super::fatal::Fatal;
use super::inbox::Class;
use super::listeners::Listeners;
use super::outcome::{self, CallFailure};
use super::ring::Completion;
use super::serve::Service;
use super::sockets;

impl Service<'_> {
    /// Takes what the kernel has completed, and sorts it.
    pub(super) fn collect(&mut self) -> Result<(), Fatal> {
        while self.inbox.has_room() {
            let Some(completion) = self.ring.pop()? else {
                break;
            };
            if completion.tag == Tag::Clock {
                self.clock.answered(completion);
            } else {
                let class = self.class_of(completion.tag);
                self.inbox.push(class, completion).ok_or(Fatal::Inbox)?;
            }
        }
        Ok(())
    }

    /// A late completion of a connection that is gone is nobody's, and in no hurry.
    fn class_of(&self, tag: Tag) -> Class {
        let lane = match tag {
            Tag::Accept(place) => Listeners::lane_at(place),
            Tag::Receive(conn) | Tag::Send(conn) | Tag::Close(conn) => self.server.lane_of(conn),
            Tag::Job(id) => jobs::lane_of(id),
            Tag::Console | Tag::Release | Tag::Clock | Tag::Boot => return Class::First,
        };
        match lane {
            Some(lane) if lane.is_protected() => Class::First,
            _ => Class::Public,
        }
    }

    /// Tells the server of all completions of a class that wait, oldest first.
    pub(super) fn tell(&mut self, class: Class) -> Result<(), Fatal> {
        while let Some(completion) = self.inbox.pop(class) {
            match completion.tag {
                Tag::Accept(place) => self.accepted(place, completion)?,
                Tag::Receive(conn) => self.received(conn, completion),
                Tag::Send(conn) => self.sent(conn, completion),
                Tag::Close(conn) => self.closed(conn)?,
                Tag::Job(id) => self.job_ended(id, completion)?,
                Tag::Console => self.console.written(),
                Tag::Release => {}
                Tag::Clock | Tag::Boot => return Err(Fatal::UnknownCompletion),
            }
        }
        Ok(())
    }

    fn accepted(&mut self, place: u16, completion: Completion) -> Result<(), Fatal> {
        let lane = Listeners::lane_at(place).ok_or(Fatal::UnknownCompletion)?;
        let result = self
            .listeners
            .take_result(place)
            .ok_or(Fatal::UnknownCompletion)?;
        let cap = match outcome::result_cap(completion, result, 0, sockets::INTERFACE) {
            Ok(cap) => cap,
            Err(failure) => {
                self.server
                    .accept_failed(lane, accept_fault(failure), self.clock.now());
                return Ok(());
            }
        };
        self.server
            .accepted(lane, self.clock.now())
            .and_then(|conn| self.sockets.open(conn, cap))
            .ok_or(Fatal::Records)
    }

    fn job_ended(&mut self, id: JobId, completion: Completion) -> Result<(), Fatal> {
        let outcome = self
            .jobs
            .ended(id, completion)
            .ok_or(Fatal::UnknownCompletion)?;
        self.server.job_ended(id, outcome, self.clock.now());
        Ok(())
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
            Some(bytes) => self.server.received(conn, bytes, self.clock.now()),
            None => self.server.failed(conn, self.clock.now()),
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
            Some(bytes) => self.server.sent(conn, bytes, self.clock.now()),
            None => self.server.failed(conn, self.clock.now()),
        }
    }

    fn closed(&mut self, conn: ConnId) -> Result<(), Fatal> {
        if self
            .sockets
            .of(conn)
            .is_some_and(|socket| socket.is_closing())
        {
            self.releases.push(conn).ok_or(Fatal::Records)?;
        }
        Ok(())
    }

    /// Lets the server use the record again once the kernel owes nothing for it.
    pub(super) fn settle(&mut self, conn: ConnId) {
        let settled = self
            .sockets
            .of(conn)
            .is_some_and(|socket| socket.free_if_settled());
        if settled {
            self.server.closed(conn, self.clock.now());
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
