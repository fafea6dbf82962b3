//! Raw frames, as attackers make them.
#![allow(dead_code, reason = "each test binary uses its own part")]

use super::{PEER_MAC, STACK_ADDRESS, STACK_MAC};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    EthernetAddress, EthernetFrame, EthernetProtocol, IpAddress, IpProtocol, Ipv4Packet, Ipv4Repr,
    TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
};
use std::net::Ipv4Addr;

/// A segment to the stack, with valid checksums.
#[derive(Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub(crate) from: (Ipv4Addr, u16),
    pub(crate) to_port: u16,
    pub(crate) control: TcpControl,
    pub(crate) sequence: u32,
    pub(crate) acknowledges: Option<u32>,
    pub(crate) payload: &'a [u8],
}

pub(crate) fn frame(raw: Raw<'_>) -> Vec<u8> {
    frame_to(STACK_ADDRESS, raw)
}

/// The same to another address of the stack.
pub(crate) fn frame_to(destination: Ipv4Addr, raw: Raw<'_>) -> Vec<u8> {
    let checksums = ChecksumCapabilities::default();
    let tcp = TcpRepr {
        src_port: raw.from.1,
        dst_port: raw.to_port,
        control: raw.control,
        seq_number: TcpSeqNumber(raw.sequence as i32),
        ack_number: raw.acknowledges.map(|n| TcpSeqNumber(n as i32)),
        window_len: 8_192,
        window_scale: None,
        max_seg_size: (raw.control == TcpControl::Syn).then_some(1_460),
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload: raw.payload,
    };
    let ip = Ipv4Repr {
        src_addr: raw.from.0,
        dst_addr: destination,
        next_header: IpProtocol::Tcp,
        payload_len: tcp.buffer_len(),
        hop_limit: 64,
    };
    let mut bytes = vec![0; 14 + 20 + tcp.buffer_len()];
    let mut ethernet = EthernetFrame::new_unchecked(&mut bytes[..]);
    ethernet.set_src_addr(EthernetAddress(PEER_MAC));
    ethernet.set_dst_addr(EthernetAddress(STACK_MAC));
    ethernet.set_ethertype(EthernetProtocol::Ipv4);
    let mut packet = Ipv4Packet::new_unchecked(ethernet.payload_mut());
    ip.emit(&mut packet, &checksums);
    tcp.emit(
        &mut TcpPacket::new_unchecked(packet.payload_mut()),
        &IpAddress::Ipv4(raw.from.0),
        &IpAddress::Ipv4(destination),
        &checksums,
    );
    bytes
}

/// What the stack sent: flags, sequence and acknowledgement number of a frame.
pub(crate) struct Seen {
    pub(crate) from_port: u16,
    pub(crate) to_port: u16,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) rst: bool,
    pub(crate) ack: bool,
    pub(crate) sequence: u32,
    pub(crate) acknowledges: u32,
    pub(crate) payload: Vec<u8>,
}

pub(crate) fn parse(frame: &[u8]) -> Option<Seen> {
    let ethernet = EthernetFrame::new_checked(frame).unwrap();
    if ethernet.ethertype() != EthernetProtocol::Ipv4 {
        return None;
    }
    let ip = Ipv4Packet::new_checked(ethernet.payload()).unwrap();
    assert!(ip.verify_checksum());
    if ip.next_header() != IpProtocol::Tcp {
        return None;
    }
    let (from, to) = (
        IpAddress::Ipv4(ip.src_addr()),
        IpAddress::Ipv4(ip.dst_addr()),
    );
    let tcp = TcpPacket::new_checked(ip.payload()).unwrap();
    assert!(tcp.verify_checksum(&from, &to));
    Some(Seen {
        from_port: tcp.src_port(),
        to_port: tcp.dst_port(),
        syn: tcp.syn(),
        fin: tcp.fin(),
        rst: tcp.rst(),
        ack: tcp.ack(),
        sequence: tcp.seq_number().0 as u32,
        acknowledges: tcp.ack_number().0 as u32,
        payload: tcp.payload().to_vec(),
    })
}
