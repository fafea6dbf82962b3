//! Transmission: only sockets that may have something to send are looked at,
//! one segment each, in turn.
//!
//! Invariants: NET-IDLE (an idle connection is in no transmit queue and, unless
//! its process has set work up for it, in no timer).

use crate::adapter::{OneFrame, Traffic};
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::slot::Phase;
use crate::stack::{Blocked, NetStack};
use crate::time::Instant;
use core::time::Duration;
use smoltcp::iface::PollResult;
use smoltcp::socket::tcp::State;

/// When to ask again a socket that says it has something to send but sent nothing.
const STALLED_RETRY: Duration = Duration::from_millis(2);

impl<D: FrameDevice> NetStack<D> {
    /// Puts a socket into its port's transmit queue, unless it is in one.
    pub(crate) fn wants_transmit(&mut self, index: u16) {
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        if slot.in_transmit || slot.phase == Phase::Free {
            return;
        }
        let port = slot.port;
        if let Some(at) = self.ports.get_mut(usize::from(port.0)) {
            at.transmit.push_back(index);
            if let Some(slot) = self.pool.slot_mut(index) {
                slot.in_transmit = true;
            }
        }
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
            if at.transmit.is_empty() {
                break;
            }
            if !at.link.can_transmit() {
                blocked = Some(Blocked);
                break;
            }
            let Some(index) = at.transmit.pop_front() else {
                break;
            };
            turns = turns.saturating_add(1);
            let Some(slot) = self.pool.slot_mut(index) else {
                continue;
            };
            slot.in_transmit = false;
            if slot.port == port {
                self.transmit_one(port, index);
            } else {
                // Reused on another port since it was queued here.
                self.wants_transmit(index);
            }
        }
        if let Some(at) = self.ports.get_mut(usize::from(port.0)) {
            at.link.flush();
        }
        (turns, blocked)
    }

    /// Lets one socket send one segment, and notes when it next wants to.
    pub(crate) fn transmit_one(&mut self, port: PortIndex, index: u16) {
        let now = self.now;
        let silence = self.config.silence_time;
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return;
        };
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        if slot.phase == Phase::Free {
            return;
        }
        // smoltcp's timeout runs on idle connections too; only a peer that owes
        // an acknowledgement may be given up on.
        let socket = slot.socket_mut();
        let owed = socket.send_queue() > 0
            || !matches!(
                socket.state(),
                State::Established | State::CloseWait | State::FinWait2
            );
        socket.set_timeout(owed.then(|| silence.into()));
        let mut device = OneFrame {
            frame: None,
            link: &mut at.link,
            scratch: &mut self.scratch,
            traffic: Traffic::default(),
        };
        let sent = at
            .interface
            .poll_egress(now.wire(), &mut device, &mut slot.set);
        let traffic = device.traffic;
        let next = at
            .interface
            .poll_at(now.wire(), &slot.set)
            .map(Instant::from_wire);
        let deadline = slot.deadline;
        self.count_traffic(port, traffic);
        self.note_written(index, traffic.wrote);
        self.settle(index);
        let gone = self
            .pool
            .slot(index)
            .is_none_or(|slot| slot.phase == Phase::Free || slot.is_finished());
        if gone {
            return;
        }
        let due = match next {
            Some(at) if at <= now && sent == PollResult::SocketStateChanged => {
                self.wants_transmit(index);
                deadline
            }
            Some(at) if at <= now => earlier(deadline, now.after(STALLED_RETRY)),
            Some(at) => earlier(deadline, at),
            None => deadline,
        };
        self.pool.timers.set(index, due);
    }
}

fn earlier(deadline: Option<Instant>, other: Instant) -> Option<Instant> {
    Some(deadline.map_or(other, |deadline| deadline.min(other)))
}
