//! Writes segments fast: hundreds of millions are made in one run.

use super::card::{OWN_MAC, PEER_MAC};
use std::net::Ipv4Addr;

pub(crate) const FIN: u8 = 0x01;
pub(crate) const SYN: u8 = 0x02;
pub(crate) const RST: u8 = 0x04;
pub(crate) const PSH: u8 = 0x08;
pub(crate) const ACK: u8 = 0x10;
pub(crate) const URG: u8 = 0x20;

/// Largest text of a segment.
pub(crate) const TEXT_MAX: usize = 1_460;

/// A segment to the stack. Its text is a function of its numbers, so that a reader
/// sees a stream that lost or gained a byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) from: (Ipv4Addr, u16),
    pub(crate) to: (Ipv4Addr, u16),
    pub(crate) flags: u8,
    pub(crate) sequence: u32,
    pub(crate) acknowledges: u32,
    pub(crate) window: u16,
    pub(crate) urgent: u16,
    pub(crate) options: ([u8; 40], usize),
    pub(crate) text: usize,
}

/// The byte of the stream that has this number.
pub(crate) fn byte_at(sequence: u32) -> u8 {
    sequence as u8
}

const PATTERN: [u8; 256 + TEXT_MAX] = {
    let mut pattern = [0; 256 + TEXT_MAX];
    let mut at = 0;
    while at < pattern.len() {
        pattern[at] = at as u8;
        at += 1;
    }
    pattern
};

/// The sum of big-endian words, carries folded in later.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words
        .remainder()
        .first()
        .map_or(0, |byte| u64::from(*byte) << 8);
    words.fold(last, |sum, word| {
        sum + u64::from(u16::from_be_bytes([word[0], word[1]]))
    })
}

fn checksum(mut sum: u64) -> [u8; 2] {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// The Internet checksum of these bytes.
pub(crate) fn checksum_of(bytes: &[u8]) -> [u8; 2] {
    checksum(sum(bytes))
}

impl Segment {
    /// Writes the frame, with sound checksums; answers its length.
    pub(crate) fn write(&self, frame: &mut [u8]) -> usize {
        let (options, option_bytes) = (&self.options.0, self.options.1 & !3);
        let header = 20 + option_bytes;
        let total = 20 + header + self.text;
        frame[..6].copy_from_slice(&OWN_MAC);
        frame[6..12].copy_from_slice(&PEER_MAC);
        frame[12..14].copy_from_slice(&[0x08, 0x00]);
        let ip = &mut frame[14..14 + total];
        ip[..12].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        ip[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        ip[12..16].copy_from_slice(&self.from.0.octets());
        ip[16..20].copy_from_slice(&self.to.0.octets());
        let check = checksum(sum(&ip[..20]));
        ip[10..12].copy_from_slice(&check);
        let addresses = sum(&ip[12..20]);
        let tcp = &mut ip[20..];
        tcp[..2].copy_from_slice(&self.from.1.to_be_bytes());
        tcp[2..4].copy_from_slice(&self.to.1.to_be_bytes());
        tcp[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        tcp[8..12].copy_from_slice(&self.acknowledges.to_be_bytes());
        tcp[12] = ((header / 4) as u8) << 4;
        tcp[13] = self.flags;
        tcp[14..16].copy_from_slice(&self.window.to_be_bytes());
        tcp[16..18].fill(0);
        tcp[18..20].copy_from_slice(&self.urgent.to_be_bytes());
        tcp[20..header].copy_from_slice(&options[..option_bytes]);
        let start = usize::from(byte_at(self.sequence));
        tcp[header..].copy_from_slice(&PATTERN[start..start + self.text]);
        let check = checksum(addresses + 6 + tcp.len() as u64 + sum(tcp));
        tcp[16..18].copy_from_slice(&check);
        14 + total
    }
}
