//! The turn of the ports in one poll: small pieces, whoever has had least work
//! lately first.
//!
//! Invariants: NET-TURN (a poll does bounded work for each port, loops included;
//! whatever one of them has to do, each of the others is looked at again after
//! at most [`PIECE`] of its frames and [`PIECE`] of its segments; a card that
//! rests is not received from).

use crate::config::{PORTS_MAX, PollBudget};
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::ids::TransportSet;
use crate::link::Link;
use crate::outcome::Polled;
use crate::stack::NetStack;
use crate::time::Instant;
use core::time::Duration;

/// Frames, and segments, of one port before the others are looked at again. A
/// frame that waits elsewhere waits for these: some 30 µs on a slow machine.
pub(crate) const PIECE: u16 = 8;

/// When to look again at a link that had no room to transmit.
const BLOCKED_RETRY: Duration = Duration::from_millis(1);

/// Timers that one poll expires.
const TIMERS_PER_POLL: usize = 256;

/// What a port may still do in this poll.
#[derive(Debug, Clone, Copy, Default)]
struct Left {
    frames: u16,
    segments: u16,
    blocked: Option<Blocked>,
}

/// Marker: a link has no room for what waits to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocked;

impl<D: FrameDevice> NetStack<D> {
    /// Does a turn's work at instant `now`: expires timers, then receives and
    /// transmits on each transport within `budget`.
    pub fn poll(&mut self, now: Instant, budget: PollBudget) -> Polled {
        self.now = self.now.max(now);
        let is_holding = self.pool.end_holds();
        let mut more_work = self.expire_timers() | is_holding;
        let next_answer = self.repeat_answers();
        let mut left = [Left::default(); PORTS_MAX];
        for (at, left) in (0_u8..).zip(left.iter_mut()).take(self.ports.len()) {
            left.frames = self.frames_of(PortIndex(at), budget);
            left.segments = budget.segments;
        }
        let before = left;
        let mut worked = false;
        while self.round(&mut left) {
            worked = true;
        }
        let mut exhausted = TransportSet::EMPTY;
        let mut next_deadline = self.pool.timers.next().into_iter().chain(next_answer).min();
        for ((at, before), left) in (0_u8..).zip(&before).zip(&left).take(self.ports.len()) {
            let port = PortIndex(at);
            let used_up = before.frames > 0 && left.frames == 0;
            if used_up {
                self.count(port, |counters| &mut counters.budget_exhausted);
                exhausted = exhausted.with(self.transport_of(port));
            }
            more_work |= used_up || (before.segments > 0 && left.segments == 0);
            if left.blocked.is_some() {
                let retry = self.now.after(BLOCKED_RETRY);
                next_deadline = Some(next_deadline.map_or(retry, |due| due.min(retry)));
            }
        }
        if worked {
            self.reorder(&before, &left);
        }
        Polled {
            more_work,
            next_deadline,
            exhausted,
        }
    }

    /// Expires due timers, a bounded number; true if some are left.
    fn expire_timers(&mut self) -> bool {
        for _ in 0..TIMERS_PER_POLL {
            let Some(index) = self.pool.timers.pop_due(self.now) else {
                return false;
            };
            self.expire(index);
        }
        self.pool.timers.next().is_some_and(|due| due <= self.now)
    }

    /// Gives each port a piece of work, in their order; whether any had some.
    /// Each round with work takes from what is left, so their number is bounded.
    fn round(&mut self, left: &mut [Left; PORTS_MAX]) -> bool {
        let mut worked = false;
        for place in 0..self.order.len() {
            let Some(&port) = self.order.get(place) else {
                break;
            };
            if let Some(left) = left.get_mut(usize::from(port.0)) {
                worked |= self.piece(port, left);
            }
        }
        worked
    }

    /// One piece of a port's work; whether there was some.
    fn piece(&mut self, port: PortIndex, left: &mut Left) -> bool {
        let received = self.receive_some(port, left.frames.min(PIECE));
        left.frames = left.frames.saturating_sub(received);
        let (sent, blocked) = self.transmit_some(port, left.segments.min(PIECE));
        left.segments = left.segments.saturating_sub(sent);
        left.blocked = blocked;
        // Telling a card costs more than a piece: not before there is a pause.
        let goes_on =
            (received == PIECE && left.frames > 0) || (sent == PIECE && left.segments > 0);
        if !goes_on && let Some(at) = self.ports.get_mut(usize::from(port.0)) {
            at.link.flush();
        }
        received > 0 || sent > 0
    }

    /// Orders the ports for the next poll: those that did least in this one and
    /// those before it, each counted half as much as the one after it, first.
    fn reorder(&mut self, before: &[Left; PORTS_MAX], left: &[Left; PORTS_MAX]) {
        for ((port, before), left) in self.ports.iter_mut().zip(before).zip(left) {
            let frames = u32::from(before.frames.saturating_sub(left.frames));
            let segments = u32::from(before.segments.saturating_sub(left.segments));
            port.work = (port.work >> 1)
                .saturating_add(frames)
                .saturating_add(segments);
        }
        let ports = &self.ports;
        self.order
            .sort_unstable_by_key(|port| ports.get(usize::from(port.0)).map(|port| port.work));
    }

    /// Frames that a port may receive in this turn: none, if its card rests.
    fn frames_of(&self, port: PortIndex, budget: PollBudget) -> u16 {
        let is_card = self
            .ports
            .get(usize::from(port.0))
            .is_some_and(|port| matches!(port.link, Link::Card(_)));
        if is_card && budget.resting.contains(self.transport_of(port)) {
            0
        } else {
            budget.frames
        }
    }
}
