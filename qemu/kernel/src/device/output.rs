//! What waits to be sent over a serial port, and how much of a turn it may
//! take.
//!
//! Each byte is an exit from the guest, whose price is whatever the emulator
//! is busy with: a microsecond, or a hundred times that while packets flood in.
//! So the bound is in time, not in bytes.

use harness_kernel::line_buffer::LineBuffer;

use super::serial::{FIFO_BYTES, Serial};
use crate::time;

/// Output of one port.
pub(crate) struct Output {
    port: Serial,
    buffer: LineBuffer,
    /// Bytes that the port takes without being asked again.
    room: usize,
}

/// How a turn of output ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pumped {
    /// Nothing waits any more.
    Empty,
    /// The time is used up.
    TimeUp,
    /// The port takes no more now.
    Busy,
}

impl Output {
    /// Nothing waits; `capacity` bytes may.
    pub(crate) fn new(port: Serial, capacity: usize) -> Self {
        Self {
            port,
            buffer: LineBuffer::new(capacity),
            room: 0,
        }
    }

    /// Queues a piece; see [`LineBuffer`].
    pub(crate) fn push(&mut self, parts: &[&[u8]]) {
        self.buffer.push(parts);
    }

    /// What waits, to queue more.
    pub(crate) const fn buffer(&mut self) -> &mut LineBuffer {
        &mut self.buffer
    }

    /// Whether nothing waits any more.
    pub(crate) const fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Pieces that found no room.
    pub(crate) const fn dropped(&self) -> u64 {
        self.buffer.dropped()
    }

    /// Sends for at most `nanoseconds`, at least one byte if the port takes it.
    pub(crate) fn pump(&mut self, nanoseconds: u64) -> Pumped {
        if self.buffer.is_empty() {
            return Pumped::Empty;
        }
        let end = time::now().saturating_add(nanoseconds);
        while let Some(&byte) = self.buffer.front().first() {
            if self.room == 0 {
                if !self.port.is_ready() {
                    return Pumped::Busy;
                }
                self.room = FIFO_BYTES;
            }
            self.port.send(byte);
            self.room = self.room.saturating_sub(1);
            self.buffer.consume(1);
            if time::now() >= end {
                return Pumped::TimeUp;
            }
        }
        Pumped::Empty
    }

    /// Sends everything, waiting for the port within a bound; for the end.
    pub(crate) fn drain(&mut self) {
        for _ in 0..DRAIN_POLLS {
            if self.pump(u64::MAX) == Pumped::Empty {
                return;
            }
        }
    }
}

/// Polls of a busy port before what waits is given up.
const DRAIN_POLLS: u32 = 2_000_000;
