//! Sequence and acknowledgement numbers at the window's edges and half the space away, with
//! every kind of segment, on connections with nothing, much or an end already queued.

use crate::attacks::Attacker;
use crate::failure::Failure;
use crate::frames::{Flags, Flow, Segment};
use crate::session::Session;

/// The guest's receive window.
const WINDOW: u32 = 2_048;
/// Half the space of sequence numbers: there, before and after are the same.
const HALF: u32 = 1 << 31;
/// The longest payload of a frame.
const SEGMENT_BYTES: usize = 1_460;

/// How far from what is in order.
const OFFSETS: [u32; 11] = [
    0,
    1,
    WINDOW - 1,
    WINDOW,
    WINDOW + 1,
    HALF - 1,
    HALF,
    HALF + 1,
    0_u32.wrapping_sub(WINDOW),
    0_u32.wrapping_sub(1),
    // Half the space away from the window's end.
    HALF + WINDOW,
];

/// Flags and lengths.
const KINDS: [(Flags, usize); 9] = [
    (Flags::ACK, 0),
    (Flags::PSH_ACK, 1),
    (Flags::PSH_ACK, SEGMENT_BYTES),
    (Flags::FIN_ACK, 0),
    (Flags::FIN_ACK, 1),
    (Flags::RST, 0),
    (Flags::SYN, 0),
    (Flags(0), 1),
    (Flags(0x3f), 1),
];

/// What has come on a connection before.
#[derive(Clone, Copy)]
enum Before {
    /// Nothing.
    Nothing,
    /// A window full, and an end one past it.
    FullAndEnded,
    /// A hole before data at the window's end.
    Hole,
}

pub(super) fn attack(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    for before in [Before::Nothing, Before::FullAndEnded, Before::Hole] {
        for kind in KINDS {
            let flows = attacker.open_all(2 * OFFSETS.len())?;
            for (index, flow) in flows.iter().enumerate() {
                let offset = OFFSETS.get(index / 2).copied().unwrap_or_default();
                for segment in prelude(before, flow) {
                    attacker.peer.send(&segment)?;
                }
                attacker
                    .peer
                    .send(&off_by(flow, offset, index % 2 == 0, kind))?;
            }
            attacker.reset(&flows)?;
        }
    }
    attacker.judge_serving(session, "the window's edges")
}

fn zeros(flow: &Flow, after: u32, flags: Flags, bytes: usize) -> Segment {
    Segment {
        sequence: flow.next.wrapping_add(after),
        payload: vec![b'x'; bytes],
        ..flow.segment(flags)
    }
}

fn prelude(before: Before, flow: &Flow) -> Vec<Segment> {
    let full = u32::try_from(SEGMENT_BYTES).unwrap_or(WINDOW);
    match before {
        Before::Nothing => Vec::new(),
        Before::FullAndEnded => vec![
            zeros(flow, 0, Flags::PSH_ACK, SEGMENT_BYTES),
            zeros(flow, full, Flags::FIN_ACK, (WINDOW - full) as usize),
        ],
        Before::Hole => vec![zeros(flow, WINDOW - full, Flags::PSH_ACK, SEGMENT_BYTES)],
    }
}

/// A segment off by so much, in what it says of its own side or of the guest's.
fn off_by(flow: &Flow, offset: u32, own: bool, kind: (Flags, usize)) -> Segment {
    let (flags, bytes) = kind;
    let mut segment = zeros(flow, 0, flags, bytes);
    let number = if own {
        &mut segment.sequence
    } else {
        &mut segment.acknowledgement
    };
    *number = number.wrapping_add(offset);
    segment
}
