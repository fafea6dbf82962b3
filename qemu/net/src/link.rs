//! What an interface sends to and receives from: a card, or a loop inside the
//! transport. Both lend frames instead of copying them.

use crate::config::FRAME_BYTES_MAX;
use crate::device::FrameDevice;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use smoltcp::phy::{ChecksumCapabilities, DeviceCapabilities, Medium};

/// Largest packet inside a loop, and the payload of the largest frame.
const PACKET_BYTES_MAX: usize = 1_500;

/// Packets on their way from a transport to itself, bounded.
#[derive(Debug)]
pub(crate) struct Ring {
    waiting: VecDeque<Vec<u8>>,
    free: Vec<Vec<u8>>,
}

impl Ring {
    fn new(frames: usize) -> Self {
        Self {
            waiting: VecDeque::with_capacity(frames),
            free: (0..frames)
                .map(|_| Vec::with_capacity(PACKET_BYTES_MAX))
                .collect(),
        }
    }
}

/// A card or a loop.
#[derive(Debug)]
pub(crate) enum Link<D: FrameDevice> {
    /// A network card: Ethernet.
    Card(D),
    /// The inside of a transport: bare IP packets, no checksums.
    Loop(Ring),
}

/// A frame that is being processed.
pub(crate) enum Received<D: FrameDevice> {
    Card(D::Frame),
    Loop(Vec<u8>),
}

impl<D: FrameDevice> Received<D> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Card(frame) => frame.as_ref(),
            Self::Loop(packet) => packet,
        }
    }
}

impl<D: FrameDevice> Link<D> {
    /// A loop that holds `frames` packets.
    pub(crate) fn new_loop(frames: usize) -> Self {
        Self::Loop(Ring::new(frames.max(1)))
    }

    /// The medium as smoltcp names it.
    pub(crate) fn medium(&self) -> Medium {
        match self {
            Self::Card(_) => Medium::Ethernet,
            Self::Loop(_) => Medium::Ip,
        }
    }

    /// What smoltcp must know about it.
    pub(crate) fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = self.medium();
        match self {
            Self::Card(_) => capabilities.max_transmission_unit = FRAME_BYTES_MAX,
            Self::Loop(_) => {
                capabilities.max_transmission_unit = PACKET_BYTES_MAX;
                capabilities.checksum = ChecksumCapabilities::ignored();
            }
        }
        capabilities
    }

    /// Whether a frame may be taken now. Almost every frame is answered by one,
    /// and an answer that finds no room is lost to a peer that repeats itself
    /// seconds later: what arrives waits in the card until there is room. A
    /// loop gives room only by being received from.
    pub(crate) fn may_receive(&mut self) -> bool {
        match self {
            Self::Card(card) => card.can_transmit(),
            Self::Loop(_) => true,
        }
    }

    /// The next frame, if one waits.
    pub(crate) fn receive(&mut self) -> Option<Received<D>> {
        match self {
            Self::Card(card) => card.receive().map(Received::Card),
            Self::Loop(ring) => ring.waiting.pop_front().map(Received::Loop),
        }
    }

    /// Gives a processed frame's buffer back.
    pub(crate) fn recycle(&mut self, frame: Received<D>) {
        match (self, frame) {
            (Self::Card(card), Received::Card(frame)) => card.recycle(frame),
            (Self::Loop(ring), Received::Loop(packet)) => ring.free.push(packet),
            // A frame never changes links; its buffer would be lost, no more.
            (Self::Card(_), Received::Loop(_)) | (Self::Loop(_), Received::Card(_)) => {}
        }
    }

    /// Whether one more frame can be sent.
    pub(crate) fn can_transmit(&mut self) -> bool {
        match self {
            Self::Card(card) => card.can_transmit(),
            Self::Loop(ring) => !ring.free.is_empty(),
        }
    }

    /// Sends a frame of `len` bytes written by `fill`; without room, `fill`
    /// writes to `scratch`, which must hold `len` bytes, and nothing is sent.
    pub(crate) fn transmit<R>(
        &mut self,
        len: usize,
        scratch: &mut [u8],
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> (R, Outcome) {
        if !self.can_transmit() {
            let room = scratch.len().min(len);
            let (head, _) = scratch.split_at_mut(room);
            return (fill(head), Outcome::NoRoom);
        }
        match self {
            Self::Card(card) => (card.transmit(len, fill), Outcome::Queued),
            Self::Loop(ring) => {
                let mut packet = ring.free.pop().unwrap_or_default();
                packet.resize(len, 0);
                let result = fill(&mut packet);
                ring.waiting.push_back(packet);
                (result, Outcome::Queued)
            }
        }
    }

    /// Ends a batch.
    pub(crate) fn flush(&mut self) {
        if let Self::Card(card) = self {
            card.flush();
        }
    }
}

/// What became of a frame given to [`Link::transmit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Queued,
    NoRoom,
}
