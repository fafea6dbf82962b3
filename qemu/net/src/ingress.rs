//! The life of a received frame: classify it, find its socket, deliver it.

use crate::adapter::{OneFrame, Traffic};
use crate::classify::{Class, Segment, SegmentKind, classify};
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::replies::offered_segment_bytes;
use crate::stack::NetStack;
use smoltcp::socket::tcp::State;

impl<D: FrameDevice> NetStack<D> {
    /// Handles at most `budget` frames of one port; answers how many.
    pub(crate) fn receive_some(&mut self, port: PortIndex, budget: u16) -> u16 {
        let mut handled = 0;
        while handled < budget {
            let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
                break;
            };
            if !at.link.may_receive() {
                break;
            }
            let Some(frame) = at.link.receive() else {
                break;
            };
            handled = handled.saturating_add(1);
            self.count(port, |counters| &mut counters.frames_received);
            self.handle(port, frame.bytes());
            if let Some(at) = self.ports.get_mut(usize::from(port.0)) {
                at.link.recycle(frame);
            }
        }
        handled
    }

    fn handle(&mut self, port: PortIndex, frame: &[u8]) {
        let Some(receiver) = self
            .ports
            .get(usize::from(port.0))
            .map(|port| port.receiver)
        else {
            return;
        };
        match classify(&receiver, frame) {
            Class::Malformed => self.count(port, |counters| &mut counters.malformed),
            Class::Ignored => self.count(port, |counters| &mut counters.ignored),
            Class::Fragment => self.count(port, |counters| &mut counters.fragments),
            Class::Arp => self.feed(port, frame),
            Class::Icmp => {
                let now = self.now;
                let transport = self.transport_of(port);
                let allowed = self
                    .transports
                    .get_mut(usize::from(transport.0))
                    .is_some_and(|transport| transport.echoes.take(now));
                if allowed {
                    self.feed(port, frame);
                } else {
                    self.count(port, |counters| &mut counters.echoes_suppressed);
                }
            }
            Class::Segment(segment) => self.handle_segment(port, segment, frame),
        }
    }

    fn handle_segment(&mut self, port: PortIndex, segment: Segment, frame: &[u8]) {
        if let Some(index) = self.pool.flows.find(segment.key) {
            if segment.kind == SegmentKind::Request
                && self.is_in_time_wait(index)
                && self.is_sound(port, frame)
            {
                // The peer has forgotten the old connection and starts anew.
                self.pool.free(index);
            } else {
                self.deliver(port, index, &segment, frame);
                return;
            }
        }
        let transport = self.transport_of(port);
        let listener = self.listener_for(transport, segment.key.local_port);
        match (segment.kind, listener) {
            (SegmentKind::Request, Some(listener)) => {
                self.answer_request(port, listener, &segment, frame);
            }
            (SegmentKind::Acknowledgement, Some(listener)) => {
                self.complete_handshake(port, listener, &segment, frame);
            }
            (SegmentKind::Reset, _) => self.count(port, |counters| &mut counters.strays),
            _ => self.refuse(port, frame),
        }
    }

    /// Whether a segment survives full parsing.
    pub(crate) fn is_sound(&self, port: PortIndex, frame: &[u8]) -> bool {
        self.ports
            .get(usize::from(port.0))
            .is_some_and(|at| offered_segment_bytes(at.receiver.medium, frame).is_some())
    }

    fn is_in_time_wait(&self, index: u16) -> bool {
        self.pool.slot(index).is_some_and(|slot| {
            slot.state() == State::TimeWait && slot.phase == crate::slot::Phase::Orphan
        })
    }

    /// Answers a segment that belongs to nothing with a reset, within the rate.
    pub(crate) fn refuse(&mut self, port: PortIndex, frame: &[u8]) {
        self.count(port, |counters| &mut counters.strays);
        let now = self.now;
        let transport = self.transport_of(port);
        let allowed = self
            .transports
            .get_mut(usize::from(transport.0))
            .is_some_and(|transport| transport.resets.take(now));
        if allowed {
            self.feed(port, frame);
        } else {
            self.count(port, |counters| &mut counters.resets_suppressed);
        }
    }

    /// Gives a frame that belongs to no socket to smoltcp.
    pub(crate) fn feed(&mut self, port: PortIndex, frame: &[u8]) {
        let now = self.now.wire();
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return;
        };
        let mut device = OneFrame {
            frame: Some(frame),
            link: &mut at.link,
            scratch: &mut self.scratch,
            traffic: Traffic::default(),
        };
        at.interface
            .poll_ingress_single(now, &mut device, &mut self.nobody);
        let traffic = device.traffic;
        self.count_traffic(port, traffic);
    }

    /// Adds what an adapter has sent to the transport's counters.
    pub(crate) fn count_traffic(&mut self, port: PortIndex, traffic: Traffic) {
        let transport = self.transport_of(port);
        if let Some(transport) = self.transports.get_mut(usize::from(transport.0)) {
            let counters = &mut transport.counters;
            counters.frames_sent = counters.frames_sent.saturating_add(traffic.sent);
            counters.frames_unsent = counters.frames_unsent.saturating_add(traffic.unsent);
        }
    }
}
