//! The way of a segment to the connection that it names: through the gate to
//! smoltcp, or to an answer of our own.
//!
//! Invariants: NET-GATE, NET-CHALLENGE (segments that may be forged make a
//! connection answer at most twice a second, and a transport as often as its rate
//! allows).

use crate::adapter::{OneFrame, Traffic};
use crate::classify::Segment;
use crate::config::FRAME_BYTES_MAX;
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::gate::{Gate, TextAfterEnd, Verdict};
use crate::numbers::View;
use crate::replies::{self, PROBE_BYTES};
use crate::slot::Slot;
use crate::stack::NetStack;
use crate::wrote::Wrote;
use core::time::Duration;

/// Time between two challenges of one connection, so that one alone cannot use up
/// its transport's rate. A peer that starts anew repeats its request after a second.
const CHALLENGE_GAP: Duration = Duration::from_millis(500);

impl<D: FrameDevice> NetStack<D> {
    /// Does with a segment of the socket's connection what its gate says.
    pub(crate) fn deliver(&mut self, port: PortIndex, index: u16, segment: &Segment, frame: &[u8]) {
        let Some(slot) = self.pool.slot(index) else {
            return;
        };
        match slot.gate.judge(slot.state(), segment) {
            Verdict::Pass => self.hand_over(port, index, segment, frame),
            Verdict::PassWithoutEnd => self.hand_over_without_end(port, index, segment, frame),
            Verdict::Drop => self.count(port, |counters| &mut counters.unacceptable),
            // What is answered without smoltcp's having seen it has to be sound.
            Verdict::Acknowledge | Verdict::Challenge if !self.is_sound(port, frame) => {
                self.count(port, |counters| &mut counters.malformed);
            }
            Verdict::Acknowledge => {
                self.count(port, |counters| &mut counters.unacceptable);
                self.acknowledge(port, index, segment);
            }
            Verdict::Challenge => {
                self.count(port, |counters| &mut counters.unacceptable);
                self.challenge(port, index, segment);
            }
            Verdict::Refuse => self.refuse(port, frame),
        }
    }

    /// Gives a segment to smoltcp, and draws the consequences.
    fn hand_over(&mut self, port: PortIndex, index: u16, segment: &Segment, frame: &[u8]) {
        let Some(unacknowledged) = self.pool.slot(index).map(Slot::unacknowledged) else {
            return;
        };
        self.feed_socket(port, index, segment, frame);
        self.note_arrival(index, unacknowledged, segment);
        self.settle(index);
        self.wants_transmit(index);
    }

    /// RFC 9293, 3.10.7.4: what lies outside of the window is trimmed off, FIN
    /// included; smoltcp would count it into a window that it did not give.
    #[cold]
    fn hand_over_without_end(
        &mut self,
        port: PortIndex,
        index: u16,
        segment: &Segment,
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
        self.hand_over(port, index, segment, copied);
        self.acknowledge(port, index, segment);
    }

    /// Tells the sender of `segment` where its connection stands. smoltcp says it, in
    /// answer to a probe, so that it knows what it has said.
    fn acknowledge(&mut self, port: PortIndex, index: u16, segment: &Segment) {
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
            segment,
            numbers.expected(),
            numbers.acknowledgement_max(),
        );
        self.feed_socket(port, index, segment, probe);
    }

    /// Acknowledges within the rates (RFC 5961, 7).
    fn challenge(&mut self, port: PortIndex, index: u16, segment: &Segment) {
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
            self.acknowledge(port, index, segment);
        } else {
            self.count(port, |counters| &mut counters.challenges_suppressed);
        }
    }

    /// Gives a frame to smoltcp together with the one socket that it is for: `segment`'s
    /// own, or one made for it.
    fn feed_socket(&mut self, port: PortIndex, index: u16, segment: &Segment, frame: &[u8]) {
        let now = self.now.wire();
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return;
        };
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        let before = View::of(slot.socket());
        let mut device = OneFrame {
            frame: Some(frame),
            link: &mut at.link,
            scratch: &mut self.scratch,
            traffic: Traffic::default(),
        };
        at.interface
            .poll_ingress_single(now, &mut device, &mut slot.set);
        let traffic = device.traffic;
        let after = View::of(slot.socket());
        if slot.gate.heard(segment, before, after) == Err(TextAfterEnd) {
            // The stream that it means cannot be known.
            slot.socket_mut().abort();
        }
        if traffic.sent | traffic.unsent != 0 {
            self.count_traffic(port, traffic);
            self.note_written(index, traffic.wrote);
        }
    }

    /// Tells a socket's gate what smoltcp wrote for it.
    pub(crate) fn note_written(&mut self, index: u16, wrote: Option<Wrote>) {
        let (Some(wrote), Some(slot)) = (wrote, self.pool.slot_mut(index)) else {
            return;
        };
        if slot.gate.sent(&wrote).is_err() {
            self.pool.fault();
        }
    }
}
