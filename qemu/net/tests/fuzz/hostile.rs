//! Frames of peers that send whatever may hurt, near the numbers that matter.

use super::card::{ACTIVE, ACTIVE_PORT, Flow, OWN_MAC, PASSIVE, PASSIVE_PORT, PEER_MAC};
use super::segment::{ACK, FIN, PSH, RST, SYN, Segment, TEXT_MAX, URG};
use super::{Bytes, Fuzz, OWN, PEER};

const HALF: u32 = 1 << 31;

/// Options as they stand in headers, sound and unsound.
const OPTIONS: [&[u8]; 12] = [
    &[2, 4, 0, 0],
    &[2, 4, 0, 1],
    &[2, 4, 255, 255],
    &[2, 4, 5, 180, 4, 2, 1, 3, 3, 14, 1, 1],
    &[3, 3, 255, 0],
    &[4, 2, 1, 1, 3, 3, 7, 0],
    &[8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1],
    &[5, 10, 0, 0, 0, 9, 255, 255, 255, 0, 1, 1],
    &[1, 1, 1, 1, 0, 9, 9, 9],
    &[2, 0, 0, 0],
    &[5, 3, 0, 0],
    &[253, 255, 0, 0],
];

impl Fuzz {
    fn flow(&mut self, at: usize) -> Flow {
        self.card().flows[at]
    }

    fn put(&mut self, at: usize, segment: Segment) {
        let port = match at.checked_sub(PASSIVE) {
            None => PASSIVE_PORT + at as u16,
            Some(active) => ACTIVE_PORT + active as u16,
        };
        let to = self.flow(at).port;
        let segment = Segment {
            from: (PEER, port),
            to: (OWN, to),
            ..segment
        };
        self.card().put(|frame| segment.write(frame));
        self.tally.frames += 1;
    }

    /// What a peer in its right mind would send next on some connection.
    pub(crate) fn send_honest(&mut self, bytes: &mut Bytes<'_>) {
        let choice = bytes.byte();
        let at = usize::from(choice >> 4) % (PASSIVE + ACTIVE);
        let flow = self.flow(at);
        let mut segment = plain(flow.expected, flow.sent);
        match flow.flags & (SYN | ACK) {
            0 | SYN if at < PASSIVE => {
                segment = plain(bytes.long(), 0);
                segment.flags = SYN;
            }
            SYN => {
                segment.sequence = bytes.long();
                segment.flags = SYN | ACK;
            }
            _ => {
                let window = flow.edge.wrapping_sub(flow.expected) as usize;
                segment.text = match choice & 3 {
                    0 => 0,
                    1 => usize::from(bytes.byte()).min(window),
                    2 => window,
                    _ => window + 1,
                };
                segment.text = segment.text.min(TEXT_MAX);
                segment.flags |= [0, PSH, 0, FIN][usize::from(choice >> 2) & 3];
                segment.window = bytes.pick(&[0, 1, 100, 8_192, 65_535]);
            }
        }
        if choice == 255 {
            // It starts anew.
            segment = plain(bytes.long(), 0);
            segment.flags = SYN;
        }
        self.put(at, segment);
    }

    /// A segment with something wrong, at a place where it may matter.
    pub(crate) fn send_hostile(&mut self, bytes: &mut Bytes<'_>) {
        let choice = bytes.byte();
        let at = usize::from(choice >> 1) % (PASSIVE + ACTIVE);
        let flow = self.flow(at);
        let window = flow.edge.wrapping_sub(flow.expected);
        let mut segment = plain(
            near(bytes, [flow.expected, flow.edge, flow.isn, flow.expected]),
            near(bytes, [flow.sent, flow.sequence, flow.sent, flow.sent]),
        );
        segment.flags = match bytes.byte() {
            0..100 => ACK,
            100..130 => PSH | ACK,
            130..190 => FIN | ACK,
            190..210 => RST,
            210..215 => RST | ACK,
            215..230 => SYN,
            230..240 => SYN | ACK,
            240..244 => URG | ACK,
            other => other.wrapping_mul(37),
        };
        segment.text = match bytes.byte() {
            0..100 => 0,
            100..150 => 1,
            150..190 => usize::from(bytes.byte()),
            190..210 => window as usize,
            210..220 => window as usize + 1,
            220..235 => (window as usize).wrapping_sub(1),
            235..245 => flow.edge.wrapping_sub(segment.sequence) as usize,
            _ => TEXT_MAX,
        };
        if segment.text > TEXT_MAX {
            segment.text %= TEXT_MAX;
        }
        segment.window = bytes.pick(&[0, 1, 2, 16, 535, 8_192, 65_535, 40_000]);
        if choice & 1 == 1 {
            segment.urgent = bytes.long() as u16;
            add_options(&mut segment, bytes);
        }
        self.put(at, segment);
    }

    /// ARP, ICMP, and frames with a few bytes wrong.
    pub(crate) fn send_other(&mut self, bytes: &mut Bytes<'_>) {
        let choice = bytes.byte();
        if choice < 128 {
            self.send_hostile(bytes);
        }
        let (at, value) = (usize::from(bytes.byte()), bytes.byte());
        let peer = [10, 0, 2, bytes.pick(&[2, 3, 15, 255, 0, 77])];
        self.card().put(|frame| match choice {
            0..128 => spoil(frame, at, value),
            128..200 => arp(frame, value, peer),
            _ => echo(frame, value, peer, at * 5),
        });
        self.tally.frames += 1;
    }
}

fn plain(sequence: u32, acknowledges: u32) -> Segment {
    Segment {
        from: (PEER, 0),
        to: (OWN, 0),
        flags: ACK,
        sequence,
        acknowledges,
        window: 8_192,
        urgent: 0,
        options: ([0; 40], 0),
        text: 0,
    }
}

/// A number at, or a step or half the space away from, one of these.
fn near(bytes: &mut Bytes<'_>, numbers: [u32; 4]) -> u32 {
    let choice = bytes.byte();
    let number = numbers[usize::from(choice & 3)];
    match choice >> 2 {
        0..20 => number,
        20..24 => number.wrapping_add(1),
        24..28 => number.wrapping_sub(1),
        28..34 => number.wrapping_add(HALF),
        34..37 => number.wrapping_add(HALF - 1),
        37..40 => number.wrapping_add(HALF + 1),
        40..50 => number.wrapping_add(u32::from(bytes.byte())),
        50..56 => number.wrapping_sub(u32::from(bytes.byte())),
        56..58 => number.wrapping_sub(65_535),
        58..60 => number.wrapping_sub(65_536),
        60..62 => number
            .wrapping_add(HALF)
            .wrapping_sub(u32::from(bytes.byte())),
        _ => bytes.long(),
    }
}

fn add_options(segment: &mut Segment, bytes: &mut Bytes<'_>) {
    let (all, len) = &mut segment.options;
    for _ in 0..bytes.byte() % 4 {
        let option = bytes.pick(&OPTIONS);
        if let Some(room) = all.get_mut(*len..*len + option.len()) {
            room.copy_from_slice(option);
            *len += option.len();
        }
    }
}

/// What stood in the buffer before, cut and with a byte changed.
fn spoil(frame: &mut [u8], at: usize, value: u8) -> usize {
    let len = 14 + at * 2;
    frame[at % 60] = value;
    len.min(frame.len())
}

fn arp(frame: &mut [u8], operation: u8, sender: [u8; 4]) -> usize {
    frame[..6].copy_from_slice(&OWN_MAC);
    frame[6..12].copy_from_slice(&PEER_MAC);
    frame[12..22].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, operation % 4]);
    frame[22..28].copy_from_slice(&PEER_MAC);
    frame[28..32].copy_from_slice(&sender);
    frame[32..38].fill(0);
    frame[38..42].copy_from_slice(&OWN.octets());
    42
}

fn echo(frame: &mut [u8], kind: u8, sender: [u8; 4], text: usize) -> usize {
    let segment = plain(0, 0);
    let len = Segment { text, ..segment }.write(frame);
    frame[23] = 1;
    frame[26..30].copy_from_slice(&sender);
    frame[34] = [8, 0, 3, 11, kind][usize::from(kind) % 5];
    frame[35] = 0;
    for (from, to, at) in [(14, 34, 24), (34, len, 36)] {
        frame[at..at + 2].fill(0);
        let check = super::segment::checksum_of(&frame[from..to]);
        frame[at..at + 2].copy_from_slice(&check);
    }
    len
}
