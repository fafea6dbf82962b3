//! Frames that no honest peer sends: noise of every length, and well-formed frames with one
//! field broken, which reach deeper than noise does.

use std::net::Ipv4Addr;

use crate::frames::{Flags, PEER_MAC, Segment};
use crate::random::Random;

/// The longest frame without its checksum.
const FRAME_BYTES_MAX: usize = 1514;

/// One hostile frame for the NIC with that address.
pub(crate) fn frame(random: &mut Random, mac: [u8; 6], ip: Ipv4Addr, port: u16) -> Vec<u8> {
    match random.below(6) {
        0 => noise(random),
        1 => addressed(random, mac),
        2 => ethertype(random, mac),
        3 => {
            let mut frame = segment(random, mac, ip, port).frame();
            flip(random, &mut frame, 14);
            frame
        }
        4 => {
            let mut frame = segment(random, mac, ip, port).frame();
            let keep = random.below(frame.len());
            frame.truncate(keep);
            frame
        }
        _ => segment(random, mac, ip, port).frame(),
    }
}

fn noise(random: &mut Random) -> Vec<u8> {
    let count = random.below(FRAME_BYTES_MAX + 1);
    random.bytes(count)
}

fn addressed(random: &mut Random, mac: [u8; 6]) -> Vec<u8> {
    let mut frame = noise(random);
    let broadcast = [0xff; 6];
    let to = if random.below(2) == 0 { mac } else { broadcast };
    for (byte, value) in frame.iter_mut().zip(to) {
        *byte = value;
    }
    frame
}

/// A right Ethernet header for IPv4, ARP, IPv6, VLAN or LLDP before noise.
fn ethertype(random: &mut Random, mac: [u8; 6]) -> Vec<u8> {
    let types = [
        [0x08, 0x00],
        [0x08, 0x06],
        [0x86, 0xdd],
        [0x81, 0x00],
        [0x88, 0xcc],
    ];
    let kind = types
        .get(random.below(types.len()))
        .copied()
        .unwrap_or_default();
    let mut frame = Vec::new();
    frame.extend(mac);
    frame.extend(PEER_MAC);
    frame.extend(kind);
    let count = random.below(FRAME_BYTES_MAX - 14);
    frame.extend(random.bytes(count));
    if kind == [0x08, 0x00] {
        // A plausible first byte lets the rest be looked at.
        if let Some(byte) = frame.get_mut(14) {
            *byte = 0x45;
        }
    }
    frame
}

/// A segment in order in every checksum, out of order in everything else.
fn segment(random: &mut Random, mac: [u8; 6], ip: Ipv4Addr, port: u16) -> Segment {
    let host = u8::try_from(64 + random.below(190)).unwrap_or(64);
    let [a, b, c, _] = ip.octets();
    let count = random.below(64);
    Segment {
        macs: (PEER_MAC, mac),
        from: (Ipv4Addr::new(a, b, c, host), u16::from(random.byte()) + 1),
        to: (
            ip,
            if random.below(4) == 0 {
                u16::from(random.byte())
            } else {
                port
            },
        ),
        sequence: u32::try_from(random.next() >> 32).unwrap_or_default(),
        acknowledgement: u32::try_from(random.next() >> 32).unwrap_or_default(),
        flags: Flags(random.byte()),
        payload: random.bytes(count),
        ..Segment::default()
    }
}

/// Changes a few bytes at or after `from`.
fn flip(random: &mut Random, frame: &mut [u8], from: usize) {
    for _ in 0..=random.below(4) {
        let at = from + random.below(frame.len().saturating_sub(from));
        if let Some(byte) = frame.get_mut(at) {
            *byte = random.byte();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_frames_and_none_is_too_long() {
        let ip = Ipv4Addr::new(10, 0, 2, 15);
        let make = || {
            let mut random = Random::new(9);
            (0..2000)
                .map(|_| frame(&mut random, [4; 6], ip, 8080))
                .collect::<Vec<_>>()
        };
        let frames = make();
        assert_eq!(frames, make());
        assert!(frames.iter().all(|frame| frame.len() <= FRAME_BYTES_MAX));
    }
}
