//! Packets that the stack writes itself: answers to connection requests, their
//! replay towards a pool socket, and what a handshake teaches about neighbours.

use crate::classify::{Arrival, Receiver};
use crate::flow::FlowKey;
use crate::segment::ETHERNET_BYTES;
use core::net::Ipv4Addr;
use smoltcp::phy::{ChecksumCapabilities, Medium};
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket, TcpRepr,
    TcpSeqNumber,
};

/// The segment size that we offer: an Ethernet payload less both headers.
const SEGMENT_BYTES: u16 = 1_460;

/// The segment size of a peer that names none (RFC 9293, 3.7.1).
const SEGMENT_BYTES_DEFAULT: u16 = 536;

/// Length of a packet with both headers and the segment size option.
pub(crate) const HANDSHAKE_BYTES: usize = 44;

/// Length of an ARP frame.
pub(crate) const ARP_BYTES: usize = 42;

fn checksums(medium: Medium) -> ChecksumCapabilities {
    match medium {
        Medium::Ethernet => ChecksumCapabilities::default(),
        Medium::Ip => ChecksumCapabilities::ignored(),
    }
}

/// The segment size that a connection request offers; `None` if the request
/// does not survive full parsing, checksums included.
pub(crate) fn offered_segment_bytes(medium: Medium, frame: &[u8]) -> Option<u16> {
    let packet = match medium {
        Medium::Ethernet => frame.get(ETHERNET_BYTES..)?,
        Medium::Ip => frame,
    };
    let checksums = checksums(medium);
    let ip = Ipv4Packet::new_checked(packet).ok()?;
    let ip_header = Ipv4Repr::parse(&ip, &checksums).ok()?;
    let tcp = TcpPacket::new_checked(ip.payload()).ok()?;
    let from = IpAddress::Ipv4(ip_header.src_addr);
    let to = IpAddress::Ipv4(ip_header.dst_addr);
    let tcp_header = TcpRepr::parse(&tcp, &from, &to, &checksums).ok()?;
    Some(tcp_header.max_seg_size.unwrap_or(SEGMENT_BYTES_DEFAULT))
}

/// Sequence numbers and window of one side's first segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) isn: u32,
    pub(crate) acknowledges: Option<u32>,
    pub(crate) window: u16,
    pub(crate) segment_bytes: u16,
}

/// Writes a SYN or SYN|ACK from `from` to `to` into `packet`
/// ([`HANDSHAKE_BYTES`] long).
fn write_opening(
    packet: &mut [u8],
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    opening: Opening,
    checksums: &ChecksumCapabilities,
) {
    let mut segment = plain_segment(opening.isn, opening.acknowledges);
    segment.control = TcpControl::Syn;
    segment.window_len = opening.window;
    segment.max_seg_size = Some(opening.segment_bytes);
    write_segment(packet, from, to, segment, checksums);
}

/// A segment without options or text, and no window.
fn plain_segment(sequence: u32, acknowledges: Option<u32>) -> TcpRepr<'static> {
    TcpRepr {
        src_port: 0,
        dst_port: 0,
        control: TcpControl::None,
        seq_number: TcpSeqNumber(sequence.cast_signed()),
        ack_number: acknowledges.map(|n| TcpSeqNumber(n.cast_signed())),
        window_len: 0,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload: &[],
    }
}

fn write_segment(
    packet: &mut [u8],
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    segment: TcpRepr<'_>,
    checksums: &ChecksumCapabilities,
) {
    let tcp_header = TcpRepr {
        src_port: from.1,
        dst_port: to.1,
        ..segment
    };
    let ip_header = Ipv4Repr {
        src_addr: from.0,
        dst_addr: to.0,
        next_header: IpProtocol::Tcp,
        payload_len: tcp_header.buffer_len(),
        hop_limit: 64,
    };
    let mut ip = Ipv4Packet::new_unchecked(packet);
    ip_header.emit(&mut ip, checksums);
    tcp_header.emit(
        &mut TcpPacket::new_unchecked(ip.payload_mut()),
        &IpAddress::Ipv4(from.0),
        &IpAddress::Ipv4(to.0),
        checksums,
    );
}

/// Length of the answer to a connection request on this medium.
pub(crate) fn answer_len(medium: Medium) -> usize {
    match medium {
        Medium::Ethernet => HANDSHAKE_BYTES.wrapping_add(ETHERNET_BYTES),
        Medium::Ip => HANDSHAKE_BYTES,
    }
}

/// Writes the SYN|ACK to `request` with initial sequence number `isn`. It goes
/// to the hardware address that the request came from: no neighbour lookup, so
/// a flood of invented sources asks for none.
pub(crate) fn write_answer(
    frame: &mut [u8],
    receiver: &Receiver,
    request: &Arrival,
    isn: u32,
    window: u16,
) {
    let packet = match receiver.medium {
        Medium::Ip => frame,
        Medium::Ethernet => {
            let mut ethernet = EthernetFrame::new_unchecked(&mut *frame);
            EthernetRepr {
                src_addr: receiver.mac,
                dst_addr: request.sender,
                ethertype: EthernetProtocol::Ipv4,
            }
            .emit(&mut ethernet);
            match frame.get_mut(ETHERNET_BYTES..) {
                Some(packet) => packet,
                None => return,
            }
        }
    };
    let key = request.key;
    let opening = Opening {
        isn,
        acknowledges: Some(request.segment.sequence.wrapping_add(1)),
        window,
        segment_bytes: SEGMENT_BYTES,
    };
    write_opening(
        packet,
        (key.local, key.local_port),
        (key.remote, key.remote_port),
        opening,
        &checksums(receiver.medium),
    );
}

/// The request that must have opened `key`, for replay towards a socket.
pub(crate) fn request_again(key: FlowKey, opening: Opening) -> [u8; HANDSHAKE_BYTES] {
    let mut packet = [0; HANDSHAKE_BYTES];
    write_opening(
        &mut packet,
        (key.remote, key.remote_port),
        (key.local, key.local_port),
        opening,
        &ChecksumCapabilities::ignored(),
    );
    packet
}

/// The byte of text of a probe: already received, so its value is not looked at.
const PROBE_TEXT: &[u8] = &[0];

/// Length of a probe with all three headers.
pub(crate) const PROBE_BYTES: usize = 55;

/// A keep-alive probe as the peer of `arrival` would send it (RFC 9293, 3.8.4), with
/// the number before the one that is `expected`: smoltcp answers it by telling where
/// the connection stands, and changes nothing else.
pub(crate) fn probe<'a>(
    bytes: &'a mut [u8; PROBE_BYTES],
    receiver: &Receiver,
    arrival: &Arrival,
    expected: u32,
    acknowledges: u32,
) -> &'a [u8] {
    let key = arrival.key;
    let (link, packet) = bytes.split_at_mut(ETHERNET_BYTES);
    let mut written = plain_segment(expected.wrapping_sub(1), Some(acknowledges));
    written.payload = PROBE_TEXT;
    write_segment(
        packet,
        (key.remote, key.remote_port),
        (key.local, key.local_port),
        written,
        &checksums(receiver.medium),
    );
    let start = match receiver.medium {
        Medium::Ip => ETHERNET_BYTES,
        Medium::Ethernet => {
            EthernetRepr {
                src_addr: arrival.sender,
                dst_addr: receiver.mac,
                ethertype: EthernetProtocol::Ipv4,
            }
            .emit(&mut EthernetFrame::new_unchecked(link));
            0
        }
    };
    bytes.get(start..).unwrap_or_default()
}

/// Takes the FIN out of the segment in `frame`, which `classify` has understood, and
/// keeps its checksum as right or wrong as it was (RFC 1624).
pub(crate) fn without_end(medium: Medium, frame: &mut [u8]) {
    let start = match medium {
        Medium::Ethernet => ETHERNET_BYTES,
        Medium::Ip => 0,
    };
    let Some(packet) = frame.get_mut(start..) else {
        return;
    };
    let mut ip = Ipv4Packet::new_unchecked(packet);
    let mut tcp = TcpPacket::new_unchecked(ip.payload_mut());
    let checksum = tcp.checksum();
    // The sum holds the complement of the header, and the FIN counted one.
    let (sum, carried) = checksum.overflowing_add(1);
    tcp.set_fin(false);
    tcp.set_checksum(sum.wrapping_add(u16::from(carried)));
}

/// An ARP reply as `neighbour` at `mac` would send it to us.
pub(crate) fn neighbour_reply(
    receiver: &Receiver,
    neighbour: Ipv4Addr,
    mac: EthernetAddress,
) -> [u8; ARP_BYTES] {
    let mut bytes = [0; ARP_BYTES];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    EthernetRepr {
        src_addr: mac,
        dst_addr: receiver.mac,
        ethertype: EthernetProtocol::Arp,
    }
    .emit(&mut frame);
    ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: mac,
        source_protocol_addr: neighbour,
        target_hardware_addr: receiver.mac,
        target_protocol_addr: receiver.address(),
    }
    .emit(&mut ArpPacket::new_unchecked(frame.payload_mut()));
    bytes
}
