//! The stack's end of a wire whose other end is the fuzzer: it keeps, of what the
//! stack sends, the numbers near which it is worth sending something.

use super::segment::{ACK, RST, SYN};
use harness_net::{FRAME_BYTES_MAX, FrameDevice};
use std::collections::VecDeque;

pub(crate) const OWN_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Connections to the stack's listener, by the peer's port from here on.
pub(crate) const PASSIVE: usize = 6;
pub(crate) const PASSIVE_PORT: u16 = 1_000;

/// Connections of the stack's own, by the port that it calls from here on.
pub(crate) const ACTIVE: usize = 3;
pub(crate) const ACTIVE_PORT: u16 = 9_000;

pub(crate) const LISTEN_PORT: u16 = 8_080;

/// What the stack has said about one connection.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flow {
    /// The stack's port.
    pub(crate) port: u16,
    /// The peer's initial number, while it starts anew.
    pub(crate) isn: u32,
    /// The number that the stack expects, and the one after its window.
    pub(crate) expected: u32,
    pub(crate) edge: u32,
    /// The number after the last that it sent, and of its last segment.
    pub(crate) sent: u32,
    pub(crate) sequence: u32,
    /// Bytes of text in it.
    pub(crate) text: usize,
    pub(crate) flags: u8,
}

/// What a card's buffer holds: more than a frame should have.
const BUFFER_BYTES: usize = 2_048;

/// A frame and its length.
pub(crate) struct Frame {
    pub(crate) bytes: Box<[u8; BUFFER_BYTES]>,
    pub(crate) len: usize,
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

pub(crate) struct Card {
    waiting: VecDeque<Frame>,
    free: Vec<Frame>,
    scratch: Box<[u8; FRAME_BYTES_MAX]>,
    pub(crate) flows: [Flow; PASSIVE + ACTIVE],
    /// Frames that may be sent.
    pub(crate) room: u32,
}

impl Card {
    pub(crate) fn new() -> Self {
        let listening = Flow {
            port: LISTEN_PORT,
            ..Flow::default()
        };
        Self {
            waiting: VecDeque::new(),
            free: Vec::new(),
            scratch: Box::new([0; FRAME_BYTES_MAX]),
            flows: [listening; PASSIVE + ACTIVE],
            room: u32::MAX,
        }
    }

    /// Puts a frame that `write` makes where the stack will find it.
    pub(crate) fn put(&mut self, write: impl FnOnce(&mut [u8]) -> usize) {
        let mut frame = self.free.pop().unwrap_or_else(|| Frame {
            bytes: Box::new([0; BUFFER_BYTES]),
            len: 0,
        });
        frame.len = write(&mut frame.bytes[..]);
        self.waiting.push_back(frame);
    }

    /// Lets the last two frames pass each other.
    pub(crate) fn reorder(&mut self) {
        let count = self.waiting.len();
        if count >= 2 {
            self.waiting.swap(count - 1, count - 2);
        }
    }

    fn sees(&mut self, len: usize) {
        let frame = &self.scratch[..len];
        if len < 54 || frame[12..14] != [0x08, 0x00] || frame[23] != 6 {
            return;
        }
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let long = |at: usize| (u32::from(word(at)) << 16) | u32::from(word(at + 2));
        let peer_port = word(36);
        let at = match peer_port {
            ACTIVE_PORT.. => usize::from(peer_port - ACTIVE_PORT) + PASSIVE,
            _ => usize::from(peer_port.wrapping_sub(PASSIVE_PORT)),
        };
        let Some(flow) = self.flows.get_mut(at) else {
            return;
        };
        let flags = frame[47];
        if flags & RST != 0 {
            return;
        }
        let text = usize::from(word(16)) - 20 - usize::from(frame[46] >> 4) * 4;
        flow.port = word(34);
        flow.flags = flags;
        flow.sequence = long(38);
        flow.text = text;
        flow.sent = flow
            .sequence
            .wrapping_add(text as u32 + u32::from(flags & 1) + u32::from(flags & SYN != 0));
        if flags & ACK != 0 {
            flow.expected = long(42);
            flow.edge = flow.expected.wrapping_add(u32::from(word(48)));
        }
    }
}

impl FrameDevice for Card {
    type Frame = Frame;

    fn mac(&self) -> [u8; 6] {
        OWN_MAC
    }

    fn receive(&mut self) -> Option<Frame> {
        self.waiting.pop_front()
    }

    fn recycle(&mut self, frame: Frame) {
        self.free.push(frame);
    }

    fn can_transmit(&mut self) -> bool {
        self.room > 0
    }

    fn transmit<R>(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        self.room -= 1;
        let result = fill(&mut self.scratch[..len]);
        self.sees(len);
        result
    }

    fn flush(&mut self) {}
}
