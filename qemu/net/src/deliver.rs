//! The way of a segment to the connection that it names: through the gate to
//! smoltcp, or to an answer of our own.
//!
//! Invariants: NET-GATE, NET-CHALLENGE (segments that may be forged make a
//! connection answer at most twice a second, and a transport as often as its rate
//! allows).

use crate::adapter::Traffic;
use crate::classify::Arrival;
use crate::config::FRAME_BYTES_MAX;
use crate::device::FrameDevice;
use crate::egress::Turn;
use crate::flow::PortIndex;
use crate::gate::{Gate, TextAfterEnd, Verdict};
use crate::link::Outcome;
use crate::numbers::View;
use crate::replies::{self, PROBE_BYTES};
use crate::resend::Told;
use crate::segment::Segment;
use crate::stack::NetStack;
use core::time::Duration;

/// Time between two challenges of one connection, so that one alone cannot use up
/// its transport's rate. A peer that starts anew repeats its request after a second.
const CHALLENGE_GAP: Duration = Duration::from_millis(500);

impl<D: FrameDevice> NetStack<D> {
    /// Does with a segment of the socket's connection what its gate says.
    pub(crate) fn deliver(&mut self, port: PortIndex, index: u16, arrival: &Arrival, frame: &[u8]) {
        let Some(slot) = self.pool.slot(index) else {
            return;
        };
        match slot.gate.judge(slot.state(), &arrival.segment) {
            Verdict::Pass => self.hand_over(port, index, arrival, frame),
            Verdict::PassWithoutEnd => self.hand_over_without_end(port, index, arrival, frame),
            Verdict::Drop => self.count(port, |counters| &mut counters.unacceptable),
            // What is answered without smoltcp's having seen it has to be sound.
            Verdict::Acknowledge | Verdict::Challenge if !self.is_sound(port, frame) => {
                self.count(port, |counters| &mut counters.malformed);
            }
            Verdict::Acknowledge => {
                self.count(port, |counters| &mut counters.unacceptable);
                self.acknowledge(port, index, arrival);
            }
            Verdict::Challenge => {
                self.count(port, |counters| &mut counters.unacceptable);
                self.challenge(port, index, arrival);
            }
            Verdict::Refuse => self.refuse(port, frame),
        }
    }

    /// Gives a segment to smoltcp, and draws the consequences.
    fn hand_over(&mut self, port: PortIndex, index: u16, arrival: &Arrival, frame: &[u8]) {
        let told = self.feed_socket(port, index, &arrival.segment, frame);
        self.note_arrival(index, arrival, told);
        self.settle(index);
        self.schedule(port, index, Turn::Heard);
    }

    /// RFC 9293, 3.10.7.4: what lies outside of the window is trimmed off, FIN
    /// included; smoltcp would count it into a window that it did not give.
    #[cold]
    fn hand_over_without_end(
        &mut self,
        port: PortIndex,
        index: u16,
        arrival: &Arrival,
        frame: &[u8],
    ) {
        let mut copy = [0; FRAME_BYTES_MAX];
        let Some(at) = self.ports.get(usize::from(port.0)) else {
            return;
        };
        let Some(copied) = copy.get_mut(..frame.len()) else {
            self.count(port, |counters| &mut counters.malformed);
            return;
        };
        copied.copy_from_slice(frame);
        replies::without_end(at.receiver.medium, copied);
        self.hand_over(port, index, arrival, copied);
        self.acknowledge(port, index, arrival);
    }

    /// Tells the sender of a segment where its connection stands. smoltcp says it, in
    /// answer to a probe, so that it knows what it has said.
    fn acknowledge(&mut self, port: PortIndex, index: u16, arrival: &Arrival) {
        let Some(at) = self.ports.get(usize::from(port.0)) else {
            return;
        };
        let Some(Gate::Open(numbers)) = self.pool.slot(index).map(|slot| slot.gate) else {
            return;
        };
        let mut bytes = [0; PROBE_BYTES];
        let probe = replies::probe(
            &mut bytes,
            &at.receiver,
            arrival,
            numbers.expected(),
            numbers.acknowledgement_max(),
        );
        self.feed_socket(port, index, &arrival.segment, probe);
    }

    /// Acknowledges within the rates (RFC 5961, 7).
    fn challenge(&mut self, port: PortIndex, index: u16, arrival: &Arrival) {
        let now = self.now;
        let transport = self.transport_of(port);
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        let allowed = slot.quiet_until <= now
            && self
                .transports
                .get_mut(usize::from(transport.0))
                .is_some_and(|transport| transport.challenges.take(now));
        if allowed {
            slot.quiet_until = now.after(CHALLENGE_GAP);
            self.count(port, |counters| &mut counters.challenges_sent);
            self.acknowledge(port, index, arrival);
        } else {
            self.count(port, |counters| &mut counters.challenges_suppressed);
        }
    }

    /// Gives a frame to smoltcp together with the one socket that it is for: `segment`'s
    /// own, or one made for it.
    fn feed_socket(
        &mut self,
        port: PortIndex,
        index: u16,
        segment: &Segment,
        frame: &[u8],
    ) -> Told {
        let now = self.now.wire();
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return Told::Nothing;
        };
        let Some(slot) = self.pool.slot_mut(index) else {
            return Told::Nothing;
        };
        let before = View::of(slot.socket());
        let traffic = at.take_in(now, frame, &mut self.scratch, &mut slot.set);
        let after = View::of(slot.socket());
        if slot.gate.heard(segment, before, after) == Err(TextAfterEnd) {
            // The stream that it means cannot be known.
            slot.socket_mut().abort();
        }
        if traffic.sent | traffic.unsent != 0 {
            self.count_traffic(port, traffic);
            self.note_written(index, traffic);
        }
        if after.unacknowledged() < before.unacknowledged() {
            Told::News
        } else {
            Told::Nothing
        }
    }

    /// Tells a socket's gate what smoltcp wrote for it, and its recovery what was sent.
    pub(crate) fn note_written(&mut self, index: u16, traffic: Traffic) {
        let now = self.now;
        let (Some((wrote, outcome)), Some(slot)) = (traffic.wrote, self.pool.slot_mut(index))
        else {
            return;
        };
        if outcome == Outcome::Queued
            && let Some(recovery) = &mut slot.recovery
        {
            recovery.on_sent(now, &wrote);
        }
        if slot.gate.sent(&wrote).is_err() {
            self.pool.fault();
        }
    }
}
