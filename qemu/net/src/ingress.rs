//! The life of a received frame: classify it, find its socket, deliver it.

use crate::adapter::Traffic;
use crate::classify::{Arrival, Class, classify};
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::handshake::Offer;
use crate::replies::offered_segment_bytes;
use crate::segment::SegmentKind;
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
            self.handle(port, frame.bytes());
            if let Some(at) = self.ports.get_mut(usize::from(port.0)) {
                at.link.recycle(frame);
            }
        }
        if handled > 0 {
            let transport = self.transport_of(port);
            if let Some(transport) = self.transports.get_mut(usize::from(transport.0)) {
                let counter = &mut transport.counters.frames_received;
                *counter = counter.saturating_add(u64::from(handled));
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
            Class::Segment(arrival) => self.handle_segment(port, &arrival, frame),
        }
    }

    fn handle_segment(&mut self, port: PortIndex, arrival: &Arrival, frame: &[u8]) {
        let kind = arrival.segment.kind();
        let mut offer = Offer::In(frame);
        if let Some(index) = self.pool.flows.find(arrival.key) {
            let may_start_anew = kind == SegmentKind::Request && self.is_in_time_wait(index);
            let offered = may_start_anew.then(|| self.offered(port, frame)).flatten();
            match offered {
                Some(segment_bytes) => {
                    // The peer has forgotten the old connection and starts anew.
                    self.pool.free(index);
                    offer = Offer::Read(segment_bytes);
                }
                None => {
                    self.deliver(port, index, arrival, frame);
                    return;
                }
            }
        }
        let transport = self.transport_of(port);
        let listener = self.listener_for(transport, arrival.key.local_port);
        match (kind, listener) {
            (SegmentKind::Request, Some(listener)) => {
                self.answer_request(port, listener, arrival, offer);
            }
            (SegmentKind::Acknowledgement, Some(listener)) => {
                self.complete_handshake(port, listener, arrival, frame);
            }
            (SegmentKind::Reset, _) => self.count(port, |counters| &mut counters.strays),
            _ => self.refuse(port, frame),
        }
    }

    /// The segment size that a request offers; none, if it does not survive full
    /// parsing.
    pub(crate) fn offered(&self, port: PortIndex, frame: &[u8]) -> Option<u16> {
        let at = self.ports.get(usize::from(port.0))?;
        offered_segment_bytes(at.receiver.medium, frame)
    }

    /// Whether a segment survives full parsing.
    pub(crate) fn is_sound(&self, port: PortIndex, frame: &[u8]) -> bool {
        self.offered(port, frame).is_some()
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
        let traffic = at.take_in(now, frame, &mut self.scratch, &mut self.nobody);
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
