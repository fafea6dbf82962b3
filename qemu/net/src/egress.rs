//! Transmission: only sockets that may have something to send are looked at,
//! one segment each, in turn.
//!
//! Invariants: NET-IDLE (an idle connection is in no transmit queue and, unless
//! its process has set work up for it, in no timer).

use crate::adapter::{OneFrame, Traffic};
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::recovery::Recovery;
use crate::slot::Phase;
use crate::stack::NetStack;
use crate::time::Instant;
use crate::turn::Blocked;
use core::time::Duration;
use smoltcp::socket::tcp::State;

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
        while turns < budget {
            let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
                break;
            };
            if !self.pool.has_transmitter(port) {
                break;
            }
            if !at.link.can_transmit() {
                blocked = Some(Blocked);
                break;
            }
            let Some(index) = self.pool.next_transmitter(port) else {
                break;
            };
            turns = turns.saturating_add(1);
            self.transmit_one(port, index);
        }
        (turns, blocked)
    }

    /// Lets one socket send one segment, and notes when it next wants to.
    pub(crate) fn transmit_one(&mut self, port: PortIndex, index: u16) {
        let overdue = self.is_overdue(index);
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        if slot.phase == Phase::Free {
            return;
        }
        let traffic = if overdue {
            self.resend(port, index)
        } else {
            self.send_next(port, index)
        };
        self.count_traffic(port, traffic);
        self.note_written(index, traffic.wrote);
        if let Some(segment) = traffic.segment {
            let now = self.now;
            if let Some(recovery) = self
                .pool
                .slot_mut(index)
                .and_then(|slot| slot.recovery.as_mut())
            {
                recovery.on_sent(now, segment);
            }
        }
        self.settle(index);
        let gone = self
            .pool
            .slot(index)
            .is_none_or(|slot| slot.phase == Phase::Free || slot.is_finished());
        if !gone {
            self.schedule(port, index, traffic);
        }
    }

    /// Has smoltcp send what is next.
    fn send_next(&mut self, port: PortIndex, index: u16) -> Traffic {
        let now = self.now.wire();
        self.set_patience(index);
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return Traffic::default();
        };
        let Some(slot) = self.pool.slot_mut(index) else {
            return Traffic::default();
        };
        let mut device = OneFrame {
            frame: None,
            link: &mut at.link,
            scratch: &mut self.scratch,
            traffic: Traffic::default(),
        };
        at.interface.poll_egress(now, &mut device, &mut slot.set);
        device.traffic
    }

    /// smoltcp's timeout runs on idle connections too; only a peer that owes an
    /// acknowledgement may be given up on.
    fn set_patience(&mut self, index: u16) {
        let silence = self.config.silence_time;
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        let socket = slot.socket_mut();
        let owed = socket.send_queue() > 0
            || !matches!(
                socket.state(),
                State::Established | State::CloseWait | State::FinWait2
            );
        socket.set_timeout(owed.then(|| silence.into()));
    }

    /// Notes when a socket next wants to send, after it has sent `traffic`.
    fn schedule(&mut self, port: PortIndex, index: u16, traffic: Traffic) {
        let now = self.now;
        self.set_patience(index);
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return;
        };
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        let next = at
            .interface
            .poll_at(now.wire(), &slot.set)
            .map(Instant::from_wire);
        let again = slot.recovery.as_ref().and_then(Recovery::due);
        let has_more = next.is_some_and(|next| next <= now) && traffic.segment.is_some();
        let timers = [slot.deadline, again, next.filter(|_| !has_more)];
        if has_more {
            self.wants_transmit(index);
        }
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
