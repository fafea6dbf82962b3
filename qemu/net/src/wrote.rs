//! What smoltcp writes, read back: its sockets do not tell their numbers, their
//! segments do.

use crate::classify::Flags;
use smoltcp::phy::Medium;

/// A TCP segment that smoltcp wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrote {
    pub(crate) flags: Flags,
    pub(crate) sequence: u32,
    pub(crate) acknowledgement: u32,
    pub(crate) window: u16,
    pub(crate) text_bytes: u16,
}

impl Wrote {
    /// Reads a frame of smoltcp's own making: its IPv4 headers have no options.
    pub(crate) fn read(medium: Medium, frame: &[u8]) -> Option<Self> {
        const ETHERNET_BYTES: usize = 14;
        const IPV4_BYTES: u16 = 20;
        const IPV4_TYPE: [u8; 2] = [0x08, 0x00];
        const TCP: u8 = 6;
        let packet = match medium {
            Medium::Ip => frame,
            Medium::Ethernet => {
                let (link, packet) = frame.split_at_checked(ETHERNET_BYTES)?;
                if !link.ends_with(&IPV4_TYPE) {
                    return None;
                }
                packet
            }
        };
        let (ip, tcp) = packet.split_at_checked(usize::from(IPV4_BYTES))?;
        let &[_, _, length, length_low, _, _, _, _, _, protocol, ..] = ip else {
            return None;
        };
        if protocol != TCP {
            return None;
        }
        let &[
            _,
            _,
            _,
            _,
            s0,
            s1,
            s2,
            s3,
            a0,
            a1,
            a2,
            a3,
            offset,
            flags,
            w0,
            w1,
            ..,
        ] = tcp
        else {
            return None;
        };
        let headers = IPV4_BYTES.wrapping_add(u16::from(offset >> 4).wrapping_mul(4));
        Some(Self {
            flags: Flags(flags),
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            acknowledgement: u32::from_be_bytes([a0, a1, a2, a3]),
            window: u16::from_be_bytes([w0, w1]),
            text_bytes: u16::from_be_bytes([length, length_low]).wrapping_sub(headers),
        })
    }

    /// The number after its last one.
    pub(crate) fn end(&self) -> u32 {
        self.sequence
            .wrapping_add(self.flags.length(self.text_bytes))
    }

    /// The number after the window that it advertises.
    pub(crate) fn edge(&self) -> u32 {
        self.acknowledgement.wrapping_add(u32::from(self.window))
    }
}
