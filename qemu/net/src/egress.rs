//! Transmission: only sockets that may have something to send are looked at,
//! one segment each, in turn.
//!
//! Invariants: NET-IDLE (an idle connection is in no transmit queue and, unless
//! its process has set work up for it, in no timer).

use crate::adapter::Traffic;
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::recovery::Recovery;
use crate::slot::{Phase, Slot};
use crate::stack::NetStack;
use crate::time::Instant;
use crate::turn::Blocked;
use core::time::Duration;
use smoltcp::socket::tcp::State;
use smoltcp::time::Duration as Patience;

/// When to ask again a socket that says it has something to send but sent nothing.
const STALLED_RETRY: Duration = Duration::from_millis(2);

impl<D: FrameDevice> NetStack<D> {
    /// Puts a socket into its port's transmit queue, unless it is in one.
    pub(crate) fn wants_transmit(&mut self, index: u16) {
        self.pool.wants_transmit(index);
    }

    /// Gives at most `budget` queued sockets one segment each; answers how many
    /// had their turn, and whether the link ran out of room.
    pub(crate) fn transmit_some(&mut self, port: PortIndex, budget: u16) -> (u16, Option<Blocked>) {
        let mut turns = 0;
        let mut blocked = None;
        let mut traffic = Traffic::default();
        while turns < budget && self.pool.has_transmitter(port) {
            let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
                break;
            };
            if !at.link.can_transmit() {
                blocked = Some(Blocked);
                break;
            }
            let Some(index) = self.pool.next_transmitter(port) else {
                break;
            };
            turns = turns.saturating_add(1);
            traffic.add(self.transmit_one(port, index));
        }
        if turns > 0 {
            self.count_traffic(port, traffic);
        }
        (turns, blocked)
    }

    /// Lets one socket send one segment, and notes when it next wants to; what it sent
    /// is the caller's to count.
    pub(crate) fn transmit_one(&mut self, port: PortIndex, index: u16) -> Traffic {
        let overdue = self.is_overdue(index);
        let Some(slot) = self.pool.slot_mut(index) else {
            return Traffic::default();
        };
        if slot.phase == Phase::Free {
            return Traffic::default();
        }
        let traffic = if overdue {
            self.resend(port, index)
        } else {
            self.send_next(port, index)
        };
        self.note_written(index, traffic);
        self.settle(index);
        let turn = match traffic.segment() {
            Some(_) => Turn::Sent,
            None => Turn::Idle,
        };
        self.schedule(port, index, turn);
        traffic
    }

    /// Has smoltcp send what is next.
    fn send_next(&mut self, port: PortIndex, index: u16) -> Traffic {
        let now = self.now.wire();
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return Traffic::default();
        };
        let Some(slot) = self.pool.slot_mut(index) else {
            return Traffic::default();
        };
        at.let_out(now, &mut self.scratch, &mut slot.set)
    }

    /// Whether smoltcp would send a segment of this socket now.
    pub(crate) fn has_segment(&mut self, port: PortIndex, index: u16) -> bool {
        let now = self.now.wire();
        let (Some(at), Some(slot)) = (
            self.ports.get_mut(usize::from(port.0)),
            self.pool.slot(index),
        ) else {
            return false;
        };
        let next = at.interface.poll_at(now, &slot.set);
        next.is_some_and(|next| next <= now)
    }

    /// Notes when a socket next wants to send, after a turn of it.
    pub(crate) fn schedule(&mut self, port: PortIndex, index: u16, turn: Turn) {
        let now = self.now;
        let (Some(at), Some(slot)) = (
            self.ports.get_mut(usize::from(port.0)),
            self.pool.slot_mut(index),
        ) else {
            return;
        };
        if slot.phase == Phase::Free || slot.is_finished() {
            return;
        }
        set_patience(slot, self.patience);
        let next = at
            .interface
            .poll_at(now.wire(), &slot.set)
            .map(Instant::from_wire);
        let again = slot.recovery.as_ref().and_then(Recovery::due);
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        let has_more = match turn {
            Turn::Heard => is_due(next) || is_due(again),
            Turn::Sent => is_due(next),
            Turn::Idle => false,
        };
        if has_more {
            self.wants_transmit(index);
            if turn == Turn::Heard {
                return;
            }
        }
        let Some(slot) = self.pool.slot(index) else {
            return;
        };
        let timers = [slot.deadline, again, next.filter(|_| !has_more)];
        let due = timers.into_iter().flatten().min().map(|due| {
            // What is due and was not sent cannot be sent now.
            if due <= now {
                now.after(STALLED_RETRY)
            } else {
                due
            }
        });
        self.pool.timers.set(index, due);
    }
}

/// What a socket has just done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It has heard a segment: only if it has to answer does it join those that
    /// transmit, and its timers are set when it has.
    Heard,
    /// It has sent a segment.
    Sent,
    /// It had nothing to send, or no way to.
    Idle,
}

/// smoltcp's timeout runs on idle connections too; only a peer that owes an
/// acknowledgement may be given up on. What is queued since counts from when it is
/// first sent.
fn set_patience(slot: &mut Slot, patience: Patience) {
    let socket = slot.socket_mut();
    let owed = socket.send_queue() > 0
        || !matches!(
            socket.state(),
            State::Established | State::CloseWait | State::FinWait2
        );
    socket.set_timeout(owed.then_some(patience));
}
