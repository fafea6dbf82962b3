//! A TCP segment as far as connections are concerned, heard or written: smoltcp's
//! sockets do not tell their numbers, so what they write is read back.

use smoltcp::phy::Medium;

/// Length of an Ethernet header.
pub(crate) const ETHERNET_BYTES: usize = 14;

/// A TCP segment's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) flags: Flags,
    /// Of its first byte, or of its SYN.
    pub(crate) sequence: u32,
    /// Meaningless without its flag: see [`Segment::acknowledges`].
    pub(crate) acknowledgement: u32,
    /// Unscaled.
    pub(crate) window: u16,
    pub(crate) text_bytes: u16,
}

impl Segment {
    /// Reads the TCP header that `tcp` begins with, of a segment with so much text.
    pub(crate) fn read(tcp: &[u8], text_bytes: u16) -> Option<Self> {
        let (header, _) = tcp.split_first_chunk::<20>()?;
        let [
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
            _,
            flags,
            w0,
            w1,
            ..,
        ] = *header;
        Some(Self {
            flags: Flags(flags),
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            acknowledgement: u32::from_be_bytes([a0, a1, a2, a3]),
            window: u16::from_be_bytes([w0, w1]),
            text_bytes,
        })
    }

    /// Reads a frame of smoltcp's own making: its IPv4 headers have no options.
    pub(crate) fn written(medium: Medium, frame: &[u8]) -> Option<Self> {
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
        let offset = *tcp.get(12)?;
        let headers = IPV4_BYTES.wrapping_add(u16::from(offset >> 4).wrapping_mul(4));
        let length = u16::from_be_bytes([length, length_low]);
        Self::read(tcp, length.wrapping_sub(headers))
    }

    /// Numbers that it takes: its text, its SYN and its FIN (SEG.LEN).
    pub(crate) fn length(&self) -> u32 {
        u32::from(self.text_bytes)
            .wrapping_add(u32::from(self.flags.has(Flags::SYN)))
            .wrapping_add(u32::from(self.flags.has(Flags::FIN)))
    }

    /// The number after its last one.
    pub(crate) fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.length())
    }

    /// The number after the window that it advertises.
    pub(crate) fn edge(&self) -> u32 {
        self.acknowledgement.wrapping_add(u32::from(self.window))
    }

    /// The number up to which it acknowledges, if it does.
    pub(crate) fn acknowledges(&self) -> Option<u32> {
        self.flags.has(Flags::ACK).then_some(self.acknowledgement)
    }

    /// What it can mean to a flow that is not known.
    pub(crate) fn kind(&self) -> SegmentKind {
        let flags = self.flags;
        if flags.has(Flags::RST) {
            return SegmentKind::Reset;
        }
        match (flags.has(Flags::SYN), flags.has(Flags::ACK)) {
            (true, false) if !flags.has(Flags::FIN) => SegmentKind::Request,
            (false, true) => SegmentKind::Acknowledgement,
            _ => SegmentKind::Other,
        }
    }
}

/// The flags of a TCP header that a connection's state depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    pub(crate) const FIN: Self = Self(0x01);
    pub(crate) const SYN: Self = Self(0x02);
    pub(crate) const RST: Self = Self(0x04);
    pub(crate) const ACK: Self = Self(0x10);

    /// Whether `flag` is set.
    pub(crate) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }
}

/// What a segment can mean to a flow that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentKind {
    /// SYN alone: a connection request.
    Request,
    /// ACK without SYN or RST: may complete a handshake.
    Acknowledgement,
    /// RST: never answered.
    Reset,
    /// Anything else.
    Other,
}
