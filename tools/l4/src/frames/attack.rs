//! Floods of single packets, prepared beforehand so that sending costs nothing else.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::frames::{Flags, PEER_MAC, Segment, guest_mac};
use crate::random::Random;

/// What kind of packet a flood is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Opens connections from addresses that never answer.
    SpoofedSyn,
    /// Opens connections from addresses that are on the wire and never acknowledge.
    HalfOpen,
    /// Resets of connections that do not exist.
    Reset,
    /// Ends of connections that do not exist.
    Finish,
    /// Data outside of any window.
    OutOfWindow,
}

/// From how many addresses a flood seems to come; from each of them, all ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sources {
    /// Thousands.
    Many,
    /// A dozen. QEMU's user network sees every frame too, asks for each source's hardware
    /// address, remembers sixteen, and stops the whole emulator over what it holds back.
    Few,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SpoofedSyn => "spoofed SYN flood",
            Self::HalfOpen => "half-open exhaustion",
            Self::Reset => "RST flood",
            Self::Finish => "FIN flood",
            Self::OutOfWindow => "out-of-window data",
        }
    }

    fn segment(self, random: &mut Random, port: u16, sources: Sources) -> Segment {
        // Hosts below 64 are QEMU's or the guest's; from 64 the injector answers ARP. A
        // spoofed source is in no network that the guest knows.
        let (network, hosts) = match sources {
            Sources::Many => (random.byte(), 128),
            Sources::Few => (100, 12),
        };
        let host = 64 + random.byte() % hosts;
        let from = match self {
            Self::SpoofedSyn => Ipv4Addr::new(198, 51, network, host),
            _ => Ipv4Addr::new(10, 0, 2, host),
        };
        let (flags, payload) = match self {
            Self::SpoofedSyn | Self::HalfOpen => (Flags::SYN, Vec::new()),
            Self::Reset => (Flags::RST, Vec::new()),
            Self::Finish => (Flags::FIN_ACK, Vec::new()),
            Self::OutOfWindow => (Flags::ACK, random.bytes(64)),
        };
        let [low, high, ..] = random.next().to_le_bytes();
        Segment {
            macs: (PEER_MAC, guest_mac(1)),
            from: (from, u16::from_le_bytes([low, high]).max(1024)),
            to: (Ipv4Addr::new(10, 0, 2, 15), port),
            sequence: u32::try_from(random.next() >> 32).unwrap_or_default(),
            acknowledgement: u32::try_from(random.next() >> 32).unwrap_or_default(),
            flags,
            payload,
            ..Segment::default()
        }
    }

    /// Frames to send over and over.
    pub(crate) fn frames(self, port: u16, sources: Sources) -> Vec<Vec<u8>> {
        let segments = self.segments(port, sources);
        segments.map(|segment| segment.frame()).collect()
    }

    /// The same as IPv4 packets.
    pub(crate) fn packets(self, port: u16, sources: Sources) -> Vec<Vec<u8>> {
        let segments = self.segments(port, sources);
        segments.map(|segment| segment.packet()).collect()
    }

    fn segments(self, port: u16, sources: Sources) -> impl Iterator<Item = Segment> {
        let mut random = Random::new(0xf100d + self as u64);
        (0..16_384).map(move |_| self.segment(&mut random, port, sources))
    }
}

/// Sends frames, so many a second at most; tells how many were taken.
pub(crate) fn flood(
    send: impl Fn(&[u8]) -> bool,
    frames: &[Vec<u8>],
    rate: u32,
    time: Duration,
) -> u64 {
    let begun = Instant::now();
    let mut sent = 0_u64;
    let mut tried = 0_u64;
    for frame in frames.iter().cycle() {
        let elapsed = begun.elapsed();
        if elapsed > time {
            break;
        }
        sent += u64::from(send(frame));
        tried += 1;
        let due = Duration::from_secs_f64(tried as f64 / f64::from(rate));
        if due > elapsed + Duration::from_millis(2) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    sent
}
