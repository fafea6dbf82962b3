//! Builds TCP segments and ARP replies as whole Ethernet frames, checksums included.

use std::net::Ipv4Addr;

/// TCP flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    /// Opens a connection.
    pub(crate) const SYN: Self = Self(0x02);
    /// Ends a connection at once.
    pub(crate) const RST: Self = Self(0x04);
    /// Acknowledges.
    pub(crate) const ACK: Self = Self(0x10);
    /// Ends a direction, acknowledging.
    pub(crate) const FIN_ACK: Self = Self(0x11);
}

/// One TCP segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// Ethernet source and destination.
    pub(crate) macs: ([u8; 6], [u8; 6]),
    /// IPv4 source and port.
    pub(crate) from: (Ipv4Addr, u16),
    /// IPv4 destination and port.
    pub(crate) to: (Ipv4Addr, u16),
    /// Sequence number.
    pub(crate) sequence: u32,
    /// Acknowledgement number.
    pub(crate) acknowledgement: u32,
    /// Flags.
    pub(crate) flags: Flags,
    /// Payload.
    pub(crate) payload: Vec<u8>,
}

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
    /// The whole frame.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let tcp = self.tcp();
        let mut ip = vec![0x45, 0];
        ip.extend(length(20 + tcp.len()));
        ip.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        ip.extend(self.from.0.octets());
        ip.extend(self.to.0.octets());
        let sum = checksum(&[&ip]).to_be_bytes();
        ip.splice(10..12, sum);
        let mut frame = Vec::with_capacity(14 + ip.len() + tcp.len());
        frame.extend(self.macs.1);
        frame.extend(self.macs.0);
        frame.extend([0x08, 0x00]);
        frame.extend(ip);
        frame.extend(tcp);
        frame
    }

    fn tcp(&self) -> Vec<u8> {
        let mut tcp = Vec::with_capacity(20 + self.payload.len());
        tcp.extend(self.from.1.to_be_bytes());
        tcp.extend(self.to.1.to_be_bytes());
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend(self.acknowledgement.to_be_bytes());
        tcp.extend([0x50, self.flags.0]);
        tcp.extend(8192_u16.to_be_bytes());
        tcp.extend([0; 4]);
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
            acknowledgement: 0,
            flags: Flags::SYN,
            payload: b"odd".to_vec(),
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
