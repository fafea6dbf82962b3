//! Sending again. `recovery.rs` says when; smoltcp knows what. It sends again all
//! that is unacknowledged when its retransmission timer is due, so one socket is
//! shown the time of that timer, on an interface that exists for this one packet:
//! no other timer sees it, and neither do the neighbours that its port knows.

use crate::adapter::{Framing, OneFrame, Traffic};
use crate::classify::Arrival;
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::recovery::Recovery;
use crate::segment::ETHERNET_BYTES;
use crate::stack::NetStack;
use smoltcp::iface::{Config, Interface};
use smoltcp::phy::Medium;
use smoltcp::socket::tcp::State;
use smoltcp::wire::{EthernetFrame, EthernetProtocol, EthernetRepr, HardwareAddress, IpCidr};

/// What a segment said of what we had sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// Some of it is acknowledged.
    News,
    Nothing,
}

impl<D: FrameDevice> NetStack<D> {
    /// Draws from a segment that smoltcp has processed what it says of those that
    /// were sent: only what smoltcp took for an acknowledgement is one.
    pub(crate) fn note_arrival(&mut self, index: u16, arrival: &Arrival, told: Told) {
        let now = self.now;
        let Some(slot) = self.pool.slot_mut(index) else {
            return;
        };
        slot.neighbour = arrival.sender;
        let segment = &arrival.segment;
        let Some(number) = segment.acknowledges() else {
            return;
        };
        let is_over = slot.state() == State::Closed;
        match (&mut slot.recovery, told) {
            _ if is_over => slot.recovery = None,
            (Some(recovery), Told::News) => recovery.on_acknowledged(now, number, segment.window),
            (Some(recovery), Told::Nothing) => recovery.on_nothing_new(now, segment),
            // The handshake's: it acknowledges our SYN.
            (None, Told::News) => slot.recovery = Some(Recovery::new(number, segment.window)),
            (None, Told::Nothing) => {}
        }
    }

    /// Whether a socket is to send again what is unacknowledged.
    pub(crate) fn is_overdue(&self, index: u16) -> bool {
        self.pool
            .slot(index)
            .and_then(|slot| slot.recovery.as_ref()?.due())
            .is_some_and(|due| due <= self.now)
    }

    /// Sends again the first of what is unacknowledged; the rest follows in the
    /// socket's next turns.
    pub(crate) fn resend(&mut self, port: PortIndex, index: u16) -> Traffic {
        let now = self.now;
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return Traffic::default();
        };
        let Some(slot) = self.pool.slot_mut(index) else {
            return Traffic::default();
        };
        let Some(own) = slot.socket().local_endpoint() else {
            return Traffic::default();
        };
        // Not the time to give up: that is judged by the true time.
        slot.socket_mut().set_timeout(None);
        let header = (at.receiver.medium == Medium::Ethernet).then(|| {
            ethernet_header(EthernetRepr {
                src_addr: at.receiver.mac,
                dst_addr: slot.neighbour,
                ethertype: EthernetProtocol::Ipv4,
            })
        });
        let framing = Framing::Packets(header);
        let mut device = OneFrame::out(&mut at.link, framing, &mut self.scratch);
        let config = Config::new(HardwareAddress::Ip);
        let mut interface = Interface::new(config, &mut device, now.wire());
        interface.update_ip_addrs(|addresses| {
            let added = addresses.push(IpCidr::new(own.addr, 32));
            debug_assert!(added.is_ok(), "a fresh interface has room for one address");
        });
        let timer = interface.poll_at(now.wire(), &slot.set);
        let has_more_urgent = timer.is_some_and(|due| due <= now.wire());
        if !has_more_urgent && let Some(recovery) = &mut slot.recovery {
            recovery.on_due(now);
        }
        if let Some(due) = timer {
            interface.poll_egress(due.max(now.wire()), &mut device, &mut slot.set);
        }
        device.traffic
    }
}

fn ethernet_header(header: EthernetRepr) -> [u8; ETHERNET_BYTES] {
    let mut bytes = [0; ETHERNET_BYTES];
    header.emit(&mut EthernetFrame::new_unchecked(&mut bytes[..]));
    bytes
}
