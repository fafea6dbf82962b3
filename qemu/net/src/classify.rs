//! Looks at a received frame just far enough to decide who handles it.
//!
//! Invariants: NET-CLASSIFY (total: every byte string gets an answer, and a
//! segment's answer names the flow that the full parser will name).

use crate::flow::{FlowKey, PortIndex};
use crate::segment::Segment;
use core::net::Ipv4Addr;
use smoltcp::phy::Medium;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, IpProtocol, Ipv4Cidr, Ipv4Packet, TcpPacket,
};

/// Who receives: addresses that make a frame ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    pub(crate) port: PortIndex,
    pub(crate) medium: Medium,
    pub(crate) mac: EthernetAddress,
    pub(crate) subnet: Ipv4Cidr,
}

impl Receiver {
    /// Its own address.
    pub(crate) const fn address(&self) -> Ipv4Addr {
        self.subnet.address()
    }
}

/// A TCP segment that came in, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) key: FlowKey,
    pub(crate) segment: Segment,
    /// Hardware address of the sender; zero inside a loop.
    pub(crate) sender: EthernetAddress,
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Malformed,
    /// For someone else, or of a protocol that is not spoken here.
    Ignored,
    Fragment,
    Arp,
    Icmp,
    Segment(Arrival),
}

/// Classifies one frame of `receiver`'s medium.
pub(crate) fn classify(receiver: &Receiver, frame: &[u8]) -> Class {
    if receiver.medium == Medium::Ip {
        return packet(receiver, EthernetAddress([0; 6]), frame);
    }
    let Ok(ethernet) = EthernetFrame::new_checked(frame) else {
        return Class::Malformed;
    };
    let to = ethernet.dst_addr();
    match ethernet.ethertype() {
        EthernetProtocol::Arp if to == receiver.mac || to.is_broadcast() => Class::Arp,
        EthernetProtocol::Ipv4 if to == receiver.mac && ethernet.src_addr().is_unicast() => {
            packet(receiver, ethernet.src_addr(), ethernet.payload())
        }
        _ => Class::Ignored,
    }
}

fn packet(receiver: &Receiver, sender: EthernetAddress, bytes: &[u8]) -> Class {
    let Ok(ip) = Ipv4Packet::new_checked(bytes) else {
        return Class::Malformed;
    };
    if ip.version() != 4 || ip.header_len() < 20 {
        return Class::Malformed;
    }
    if ip.dst_addr() != receiver.address() || !may_come_from(receiver, ip.src_addr()) {
        return Class::Ignored;
    }
    if ip.more_frags() || ip.frag_offset() != 0 {
        return Class::Fragment;
    }
    match ip.next_header() {
        IpProtocol::Icmp => Class::Icmp,
        IpProtocol::Tcp => segment(receiver, sender, &ip),
        _ => Class::Ignored,
    }
}

/// Whether `source` is a host that can be answered (RFC 1122, 3.2.1.3): no
/// group, no reserved address, and not all hosts of our network. Our own address
/// arrives only inside a loop, and loopback addresses only there.
fn may_come_from(receiver: &Receiver, source: Ipv4Addr) -> bool {
    let [first, ..] = source.octets();
    let outside = receiver.medium == Medium::Ethernet;
    let subnet = &receiver.subnet;
    let is_none_there = || {
        source == subnet.address()
            || source == subnet.network().address()
            || Some(source) == subnet.broadcast()
            || source.is_loopback()
    };
    (1..=223).contains(&first) && !(outside && is_none_there())
}

fn segment(receiver: &Receiver, sender: EthernetAddress, ip: &Ipv4Packet<&[u8]>) -> Class {
    let Ok(tcp) = TcpPacket::new_checked(ip.payload()) else {
        return Class::Malformed;
    };
    if tcp.src_port() == 0 || tcp.dst_port() == 0 {
        return Class::Malformed;
    }
    let text_bytes = u16::try_from(tcp.payload().len()).unwrap_or(u16::MAX);
    let Some(segment) = Segment::read(ip.payload(), text_bytes) else {
        return Class::Malformed;
    };
    Class::Segment(Arrival {
        key: FlowKey {
            port: receiver.port,
            local: ip.dst_addr(),
            local_port: tcp.dst_port(),
            remote: ip.src_addr(),
            remote_port: tcp.src_port(),
        },
        segment,
        sender,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::SegmentKind;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const MAC: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);

    fn receiver(medium: Medium) -> Receiver {
        Receiver {
            port: PortIndex(3),
            medium,
            mac: MAC,
            subnet: Ipv4Cidr::new(Ipv4Addr::new(10, 0, 2, 15), 24),
        }
    }

    /// A frame that is a connection request in every field but those changed.
    fn request() -> Vec<u8> {
        let mut frame = vec![0; 54];
        frame[..6].copy_from_slice(&MAC.0);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 9]);
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        frame[14] = 0x45;
        frame[17] = 40;
        frame[22] = 64;
        frame[23] = 6;
        frame[26..30].copy_from_slice(&[10, 0, 2, 2]);
        frame[30..34].copy_from_slice(&[10, 0, 2, 15]);
        frame[34..38].copy_from_slice(&[0xC0, 0, 0x1F, 0x90]);
        frame[46] = 0x50;
        frame[47] = 0x02;
        frame
    }

    fn class_with(change: impl FnOnce(&mut Vec<u8>)) -> Class {
        let mut frame = request();
        change(&mut frame);
        classify(&receiver(Medium::Ethernet), &frame)
    }

    #[test]
    fn names_the_flow() {
        let Class::Segment(arrival) = class_with(|_| ()) else {
            panic!("not a segment")
        };
        assert_eq!(arrival.segment.kind(), SegmentKind::Request);
        assert_eq!(arrival.key.local_port, 8080);
        assert_eq!(arrival.key.remote, Ipv4Addr::new(10, 0, 2, 2));
        assert_eq!(arrival.key.remote_port, 0xC000);
        assert_eq!(arrival.sender.0[5], 9);
        assert_eq!(arrival.segment.text_bytes, 0);
    }

    #[test]
    fn length_counts_text_and_both_flags() {
        let segment = class_with(|f| {
            f.extend([0; 7]);
            f[17] += 5; // Two bytes of padding are no text.
            f[47] = 0x13;
        });
        let Class::Segment(Arrival { segment, .. }) = segment else {
            panic!("{segment:?}")
        };
        assert_eq!((segment.text_bytes, segment.length()), (5, 7));
    }

    #[test]
    fn refuses_what_cannot_be_answered() {
        assert_eq!(class_with(|f| f.truncate(53)), Class::Malformed);
        assert_eq!(class_with(|f| f[14] = 0x65), Class::Malformed);
        assert_eq!(class_with(|f| f[14] = 0x44), Class::Malformed);
        assert_eq!(class_with(|f| f[46] = 0x40), Class::Malformed);
        assert_eq!(class_with(|f| f[34] = 0), Class::Malformed);
        assert_eq!(class_with(|f| f[0] = 6), Class::Ignored);
        assert_eq!(class_with(|f| f[6] = 3), Class::Ignored, "sent by a group");
        assert_eq!(class_with(|f| f[33] = 16), Class::Ignored);
        assert_eq!(
            class_with(|f| f[29] = 15),
            Class::Ignored,
            "our own address from outside"
        );
        assert_eq!(class_with(|f| f[26] = 127), Class::Ignored);
        for first in [0, 224, 240, 255] {
            assert_eq!(class_with(|f| f[26] = first), Class::Ignored, "{first}");
        }
        for all in [0, 255] {
            assert_eq!(
                class_with(|f| f[29] = all),
                Class::Ignored,
                "all hosts here"
            );
            let elsewhere = class_with(|f| f[28..30].copy_from_slice(&[3, all]));
            assert!(matches!(elsewhere, Class::Segment(_)), "a host elsewhere");
        }
        for protocol in [[0x81, 0x00], [0x86, 0xdd], [0x05, 0xdc]] {
            let class = class_with(|f| f[12..14].copy_from_slice(&protocol));
            assert_eq!(class, Class::Ignored, "{protocol:x?}");
        }
        assert_eq!(class_with(|f| f[23] = 17), Class::Ignored);
        assert_eq!(class_with(|f| f[20] = 0x20), Class::Fragment);
        assert_eq!(class_with(|f| f[21] = 1), Class::Fragment);
        assert_eq!(class_with(|f| f[13] = 6), Class::Arp);
        assert_eq!(class_with(|f| f[23] = 1), Class::Icmp);
    }

    #[test]
    fn kinds_follow_the_flags() {
        let kind = |flags| match class_with(|f| f[47] = flags) {
            Class::Segment(arrival) => arrival.segment.kind(),
            other => panic!("{other:?}"),
        };
        assert_eq!(kind(0x02), SegmentKind::Request);
        assert_eq!(kind(0x03), SegmentKind::Other);
        assert_eq!(kind(0x12), SegmentKind::Other);
        assert_eq!(kind(0x10), SegmentKind::Acknowledgement);
        assert_eq!(kind(0x18), SegmentKind::Acknowledgement);
        assert_eq!(kind(0x11), SegmentKind::Acknowledgement);
        assert_eq!(kind(0x14), SegmentKind::Reset);
        assert_eq!(kind(0x06), SegmentKind::Reset);
        assert_eq!(kind(0x00), SegmentKind::Other);
    }

    proptest! {
        #[test]
        fn any_bytes_get_an_answer(frame in proptest::collection::vec(any::<u8>(), 0..128)) {
            classify(&receiver(Medium::Ethernet), &frame);
            classify(&receiver(Medium::Ip), &frame);
        }

        #[test]
        fn near_misses_get_an_answer(at in 0_usize..54, byte: u8, cut in 0_usize..=54) {
            let mut frame = request();
            frame[at] = byte;
            frame.truncate(cut);
            classify(&receiver(Medium::Ethernet), &frame);
            classify(&receiver(Medium::Ip), frame.get(14..).unwrap_or(&[]));
        }
    }
}
