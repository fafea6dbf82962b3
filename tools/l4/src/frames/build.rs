//! Builds TCP segments and ARP replies as whole Ethernet frames, checksums included, and reads
//! segments back.

use std::net::Ipv4Addr;

use crate::frames::{PEER_IP, PEER_MAC, guest_mac};
use crate::lane::Lane;
use crate::machine::nic;

/// TCP flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    /// Ends a direction.
    pub(crate) const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub(crate) const SYN: Self = Self(0x02);
    /// Ends a connection at once.
    pub(crate) const RST: Self = Self(0x04);
    /// Acknowledges.
    pub(crate) const ACK: Self = Self(0x10);
    /// Ends a direction, acknowledging.
    pub(crate) const FIN_ACK: Self = Self(0x11);
    /// Answers a connection request.
    pub(crate) const SYN_ACK: Self = Self(0x12);
    /// Carries data that is to be handed on.
    pub(crate) const PSH_ACK: Self = Self(0x18);
    /// The urgent pointer means something.
    pub(crate) const URG: Self = Self(0x20);

    /// Whether every flag of `other` is set.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sides' flags.
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One TCP segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Ethernet source and destination.
    pub(crate) macs: ([u8; 6], [u8; 6]),
    /// IPv4 source and port.
    pub(crate) from: (Ipv4Addr, u16),
    /// IPv4 destination and port.
    pub(crate) to: (Ipv4Addr, u16),
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) flags: Flags,
    pub(crate) window: u16,
    pub(crate) urgent: u16,
    /// Options, padded to words here.
    pub(crate) options: Vec<u8>,
    /// IPv4's word of flags and fragment offset.
    pub(crate) fragment: u16,
    pub(crate) payload: Vec<u8>,
}

impl Default for Segment {
    /// From a peer on the public NIC's network to the public lane.
    fn default() -> Self {
        Self {
            macs: (PEER_MAC, guest_mac(1)),
            from: (PEER_IP, 0),
            to: (nic::guest_ip(1), Lane::Anonymous.port()),
            sequence: 0,
            acknowledgement: 0,
            flags: Flags::default(),
            window: 8192,
            urgent: 0,
            options: Vec::new(),
            fragment: DO_NOT_FRAGMENT,
            payload: Vec::new(),
        }
    }
}

/// IPv4's flags (RFC 791, 3.1), in the word that they share with the fragment offset.
const DO_NOT_FRAGMENT: u16 = 0x4000;
/// See [`DO_NOT_FRAGMENT`].
pub(crate) const MORE_FRAGMENTS: u16 = 0x2000;

fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        for pair in part.chunks(2) {
            let high = pair.first().copied().unwrap_or_default();
            let low = pair.get(1).copied().unwrap_or_default();
            sum += u32::from(u16::from_be_bytes([high, low]));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or_default()
}

fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

impl Segment {
    pub(crate) fn frame(&self) -> Vec<u8> {
        let packet = self.packet();
        let mut frame = Vec::with_capacity(14 + packet.len());
        frame.extend(self.macs.1);
        frame.extend(self.macs.0);
        frame.extend([0x08, 0x00]);
        frame.extend(packet);
        frame
    }

    pub(crate) fn packet(&self) -> Vec<u8> {
        let tcp = self.tcp();
        let mut ip = vec![0x45, 0];
        ip.extend(length(20 + tcp.len()));
        ip.extend([0, 0]);
        ip.extend(self.fragment.to_be_bytes());
        ip.extend([64, 6, 0, 0]);
        ip.extend(self.from.0.octets());
        ip.extend(self.to.0.octets());
        let sum = checksum(&[&ip]).to_be_bytes();
        ip.splice(10..12, sum);
        ip.extend(tcp);
        ip
    }

    fn tcp(&self) -> Vec<u8> {
        let mut tcp = Vec::with_capacity(20 + self.payload.len());
        tcp.extend(self.from.1.to_be_bytes());
        tcp.extend(self.to.1.to_be_bytes());
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend(self.acknowledgement.to_be_bytes());
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4).min(40), 0);
        let words = u8::try_from(5 + options.len() / 4).unwrap_or(15);
        tcp.extend([words << 4, self.flags.0]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 2]);
        tcp.extend(self.urgent.to_be_bytes());
        tcp.extend(options);
        tcp.extend(&self.payload);
        let mut pseudo = Vec::with_capacity(12);
        pseudo.extend(self.from.0.octets());
        pseudo.extend(self.to.0.octets());
        pseudo.extend([0, 6]);
        pseudo.extend(length(tcp.len()));
        let sum = checksum(&[&pseudo, &tcp]).to_be_bytes();
        tcp.splice(16..18, sum);
        tcp
    }
}

impl Segment {
    /// Reads a frame that carries a whole TCP segment; `None` for any other. What the guest
    /// sends is believed: its checksums are its card's and the host's matter.
    pub(crate) fn parse(frame: &[u8]) -> Option<Self> {
        let (ethernet, packet) = frame.split_at_checked(14)?;
        let word = |bytes: &[u8], at: usize| {
            let two = bytes.get(at..at + 2)?;
            Some(u16::from_be_bytes(two.try_into().ok()?))
        };
        let double = |bytes: &[u8], at: usize| {
            let four = bytes.get(at..at + 4)?;
            Some(u32::from_be_bytes(four.try_into().ok()?))
        };
        if word(ethernet, 12)? != 0x0800 || packet.first()? >> 4 != 4 || *packet.get(9)? != 6 {
            return None;
        }
        let header = usize::from(packet.first()? & 0x0f) * 4;
        let tcp = packet.get(header..usize::from(word(packet, 2)?))?;
        let data = usize::from(tcp.get(12)? >> 4) * 4;
        Some(Self {
            macs: (
                ethernet.get(6..12)?.try_into().ok()?,
                ethernet.get(..6)?.try_into().ok()?,
            ),
            from: (Ipv4Addr::from(double(packet, 12)?), word(tcp, 0)?),
            to: (Ipv4Addr::from(double(packet, 16)?), word(tcp, 2)?),
            sequence: double(tcp, 4)?,
            acknowledgement: double(tcp, 8)?,
            flags: Flags(*tcp.get(13)?),
            window: word(tcp, 14)?,
            urgent: word(tcp, 18)?,
            options: tcp.get(20..data)?.to_vec(),
            fragment: word(packet, 6)?,
            payload: tcp.get(data..)?.to_vec(),
        })
    }

    /// The sequence number after it.
    pub(crate) fn end(&self) -> u32 {
        let length = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        let controls = [Flags::SYN, Flags::FIN].map(|flag| u32::from(self.flags.has(flag)));
        let [syn, fin] = controls;
        self.sequence.wrapping_add(length).wrapping_add(syn + fin)
    }
}

/// The answer to an ARP request, if `frame` is one for an address that `claims`.
pub(crate) fn arp_reply(
    frame: &[u8],
    own: [u8; 6],
    claims: impl Fn(Ipv4Addr) -> bool,
) -> Option<Vec<u8>> {
    let request = [0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1];
    if frame.get(12..22)? != request {
        return None;
    }
    let (asker_mac, asker_ip) = (frame.get(22..28)?, frame.get(28..32)?);
    let asked: [u8; 4] = frame.get(38..42)?.try_into().ok()?;
    if !claims(Ipv4Addr::from(asked)) {
        return None;
    }
    let mut reply = Vec::with_capacity(60);
    reply.extend(asker_mac);
    reply.extend(own);
    reply.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 2]);
    reply.extend(own);
    reply.extend(asked);
    reply.extend(asker_mac);
    reply.extend(asker_ip);
    reply.resize(60, 0);
    Some(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> Segment {
        Segment {
            macs: ([2; 6], [4; 6]),
            from: (Ipv4Addr::new(10, 0, 2, 77), 4000),
            to: (Ipv4Addr::new(10, 0, 2, 15), 8080),
            sequence: 7,
            flags: Flags::SYN,
            payload: b"odd".to_vec(),
            ..Segment::default()
        }
    }

    #[test]
    fn checksums_add_up_to_zero() {
        let frame = segment().frame();
        assert_eq!(checksum(&[&frame[14..34]]), 0);
        let mut pseudo = frame[26..34].to_vec();
        pseudo.extend([0, 6, 0, 23]);
        assert_eq!(checksum(&[&pseudo, &frame[34..]]), 0);
        assert_eq!(frame.len(), 14 + 20 + 20 + 3);
    }

    #[test]
    fn what_is_built_is_read_back_with_its_padding_and_nothing_else() {
        let mut sent = segment();
        sent.options = vec![2, 4, 5, 0xb4];
        sent.flags = Flags::FIN_ACK.with(Flags::URG);
        sent.urgent = 2;
        let mut frame = sent.frame();
        frame.resize(frame.len() + 9, 0);
        assert_eq!(Segment::parse(&frame), Some(sent.clone()));
        assert_eq!(sent.end(), 7 + 3 + 1);
        assert_eq!(Segment::parse(&frame[..40]), None);
        assert_eq!(Segment::parse(&[0; 60]), None);
    }

    #[test]
    fn only_a_claimed_address_is_answered() {
        let mut request = vec![0xff; 6];
        request.extend([4; 6]);
        request.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1]);
        request.extend([4; 6]);
        request.extend([10, 0, 2, 15]);
        request.extend([0; 6]);
        request.extend([10, 0, 2, 77]);
        let claims = |ip: Ipv4Addr| ip.octets()[3] == 77;
        let reply = arp_reply(&request, [2; 6], claims).unwrap();
        assert_eq!(&reply[28..32], &[10, 0, 2, 77]);
        assert!(arp_reply(&request, [2; 6], |_| false).is_none());
        assert!(arp_reply(&request[..30], [2; 6], claims).is_none());
    }
}
