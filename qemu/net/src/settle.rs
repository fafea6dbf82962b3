//! What follows from a change in a socket: notices to its process, ends of
//! connections that nobody holds, deadlines.
//!
//! Invariants: NET-ORPHAN (a connection that no process holds ends in bounded
//! time), NET-NOTICE (a wait gets exactly one notice).

use crate::device::FrameDevice;
use crate::events::Source;
use crate::ids::{SocketId, TransportId};
use crate::outcome::Event;
use crate::pool::{orphans, time_wait};
use crate::slot::{Attempt, Notice, Phase};
use crate::stack::NetStack;
use smoltcp::socket::tcp::State;

impl<D: FrameDevice> NetStack<D> {
    /// Draws the consequences of whatever just happened to a socket.
    pub(crate) fn settle(&mut self, index: u16) {
        let Some(slot) = self.pool.slot(index) else {
            return;
        };
        let finished = slot.is_finished();
        match slot.phase {
            Phase::Free => return,
            Phase::Queued if finished => {
                let listener = slot.account;
                self.pool.free(index);
                self.count_listener(listener, |c| &mut c.reset_before_accept);
                return;
            }
            Phase::Queued => {}
            Phase::Connecting => self.settle_attempt(index),
            Phase::Owned => self.settle_owned(index),
            Phase::Orphan if finished => {
                self.pool.free(index);
                return;
            }
            Phase::Orphan => self.settle_orphan(index),
        }
        if finished {
            // The process still holds the handle; the addresses are free again.
            self.pool.flows.remove(index);
            self.pool.timers.set(index, None);
        }
    }

    fn settle_attempt(&mut self, index: u16) {
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        let outcome = match slot.state() {
            State::SynSent | State::SynReceived => return,
            State::Closed => Attempt::Failed,
            _ => Attempt::Established,
        };
        slot.phase = Phase::Owned;
        slot.attempt = outcome;
        slot.deadline = None;
        let notice = match outcome {
            Attempt::Established => Notice::Connected,
            Attempt::Failed => Notice::Failed,
        };
        self.notify(index, notice);
        self.settle_owned(index);
    }

    fn settle_owned(&mut self, index: u16) {
        let Some(slot) = self.pool.slot(index) else {
            return;
        };
        let socket = slot.socket();
        let waits = slot.waits;
        let readable = waits.readable && (socket.can_recv() || !socket.may_recv());
        let writable = waits.writable && (socket.can_send() || !socket.may_send());
        if readable {
            self.notify(index, Notice::Readable);
        }
        if writable {
            self.notify(index, Notice::Writable);
        }
    }

    fn settle_orphan(&mut self, index: u16) {
        let now = self.now;
        let time_wait_end = now.after(self.config.time_wait);
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        let account = slot.account;
        let socket = slot.socket_mut();
        // Nobody will read it; reading it here lets the peer reach its end.
        while socket.can_recv() {
            if socket.recv(|bytes| (bytes.len(), ())).is_err() {
                break;
            }
        }
        let waiting = time_wait(account);
        if slot.state() == State::TimeWait && self.pool.lists.list_of(index) != Some(waiting) {
            if let Some(slot) = self.pool.slot_mut(index) {
                slot.deadline = Some(time_wait_end);
            }
            self.pool.move_to(waiting, index);
            self.pool.timers.set(index, Some(time_wait_end));
        }
    }

    /// Makes a socket an orphan: from here on the stack ends it alone.
    pub(crate) fn orphan(&mut self, index: u16) {
        let now = self.now;
        let end = now.after(self.config.orphan_time);
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        if slot.state() == State::Closed {
            self.kill(index);
            return;
        }
        slot.disown();
        slot.phase = Phase::Orphan;
        slot.orphaned = now;
        slot.deadline = Some(end);
        let account = slot.account;
        slot.socket_mut().close();
        self.pool.ready.remove(Source::Socket(index));
        self.pool.move_to(orphans(account), index);
        self.pool.timers.set(index, Some(end));
        self.settle(index);
        self.wants_transmit(index);
    }

    /// A socket's timer is due: its own deadline, or something to transmit.
    pub(crate) fn expire(&mut self, index: u16) {
        let now = self.now;
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        let over = slot.deadline.is_some_and(|deadline| deadline <= now);
        match slot.phase {
            Phase::Orphan if over && slot.state() == State::TimeWait => self.pool.free(index),
            Phase::Orphan if over => {
                let counter = &mut self.pool.counters.orphans_timed_out;
                *counter = counter.saturating_add(1);
                self.kill(index);
            }
            Phase::Connecting if over => {
                slot.deadline = None;
                slot.socket_mut().abort();
                self.wants_transmit(index);
                self.settle(index);
            }
            _ => self.wants_transmit(index),
        }
    }

    /// Resets a connection and frees its socket at once.
    pub(crate) fn kill(&mut self, index: u16) {
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        slot.phase = Phase::Orphan;
        slot.socket_mut().abort();
        let port = slot.port;
        if !slot.is_finished() {
            let traffic = self.transmit_one(port, index);
            self.count_traffic(port, traffic);
        }
        self.pool.free(index);
    }

    /// Queues a notice about a socket, ending the wait that it answers.
    pub(crate) fn notify(&mut self, index: u16, notice: Notice) {
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        slot.settle_wait(notice);
        slot.notices |= notice as u8;
        let port = slot.port;
        let transport = self.transport_of(port);
        self.pool.ready.push(transport, Source::Socket(index));
    }

    /// The next thing that became possible, transports in turn.
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            let (transport, source) = self.pool.ready.pop()?;
            let event = match source {
                Source::Socket(index) => self.socket_event(transport, index),
                Source::Listener(index) => self.listener_event(index),
            };
            if event.is_some() {
                return event;
            }
        }
    }

    fn socket_event(&mut self, transport: TransportId, index: u16) -> Option<Event> {
        let slot = self.pool.slot_mut(index)?;
        let id = SocketId {
            index,
            generation: slot.generation,
        };
        let lowest = slot.notices & slot.notices.wrapping_neg();
        slot.notices &= !lowest;
        if slot.notices != 0 {
            self.pool.ready.push(transport, Source::Socket(index));
        }
        match lowest {
            1 => Some(Event::Connected(id)),
            2 => Some(Event::Failed(id)),
            4 => Some(Event::Readable(id)),
            8 => Some(Event::Writable(id)),
            _ => None,
        }
    }
}
