//! A bounded buffer between whole lines and a slow device.
//!
//! A line that does not fit is dropped whole and counted, so that a reader
//! never sees half of one and a writer never waits.

use alloc::boxed::Box;
use alloc::vec;

/// Bytes waiting for a device, in order.
pub struct LineBuffer {
    bytes: Box<[u8]>,
    start: usize,
    length: usize,
    dropped: u64,
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// All of it waits for the device.
    Whole,
    /// There was no room: none of it does.
    Dropped,
}

impl LineBuffer {
    /// An empty buffer for `capacity` bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            bytes: vec![0; capacity].into_boxed_slice(),
            start: 0,
            length: 0,
            dropped: 0,
        }
    }

    /// Appends `parts` as one piece, or counts it as dropped if there is no
    /// room for all of it.
    pub fn push(&mut self, parts: &[&[u8]]) {
        self.push_leaving(parts.iter().copied(), 0);
    }

    /// As [`LineBuffer::push`], but leaves `reserve` bytes of room to those
    /// who push without one.
    pub fn push_leaving<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a [u8]>,
        reserve: usize,
    ) -> Pushed {
        let mut piece = self.piece(reserve);
        parts.for_each(|part| piece.put(part));
        piece.end()
    }

    /// Begins a piece that leaves `reserve` bytes of room to others. It is in
    /// the buffer once it is ended, whole or not at all.
    pub fn piece(&mut self, reserve: usize) -> Piece<'_> {
        let free = self.bytes.len().saturating_sub(self.length);
        Piece {
            at: self.wrap(self.start.saturating_add(self.length)),
            room: free.saturating_sub(reserve),
            written: 0,
            pushed: Pushed::Whole,
            buffer: self,
        }
    }

    /// The longest run of bytes that lie side by side at the front.
    #[must_use]
    pub fn front(&self) -> &[u8] {
        let end = self.start.saturating_add(self.length).min(self.bytes.len());
        self.bytes.get(self.start..end).unwrap_or(&[])
    }

    /// Removes `count` bytes from the front; at most as many as there are.
    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.length);
        self.length = self.length.saturating_sub(count);
        self.start = if self.length == 0 {
            0
        } else {
            self.wrap(self.start.saturating_add(count))
        };
    }

    /// Whether nothing waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Pieces that found no room since the start.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn wrap(&self, index: usize) -> usize {
        index.checked_sub(self.bytes.len()).unwrap_or(index)
    }
}

/// A piece that is being written behind what waits.
#[must_use = "a piece that is not ended never was"]
pub struct Piece<'b> {
    buffer: &'b mut LineBuffer,
    at: usize,
    room: usize,
    written: usize,
    pushed: Pushed,
}

impl Piece<'_> {
    /// Whether `bytes` more find room; if not, the piece is dropped.
    pub const fn has_room(&mut self, bytes: usize) -> bool {
        if bytes > self.room {
            self.pushed = Pushed::Dropped;
        }
        matches!(self.pushed, Pushed::Whole)
    }

    /// Appends bytes.
    pub fn put(&mut self, mut part: &[u8]) {
        if !self.has_room(part.len()) {
            return;
        }
        while !part.is_empty() {
            let Some(room) = self.buffer.bytes.get_mut(self.at..) else {
                return;
            };
            let count = room.len().min(part.len());
            let (now, later) = part.split_at(count);
            if let Some(target) = room.get_mut(..count) {
                target.copy_from_slice(now);
            }
            self.advance(count);
            part = later;
        }
    }

    /// Appends one byte.
    pub fn put_byte(&mut self, byte: u8) {
        if self.has_room(1)
            && let Some(place) = self.buffer.bytes.get_mut(self.at)
        {
            *place = byte;
            self.advance(1);
        }
    }

    /// Lets the piece join what waits, if all of it found room.
    pub const fn end(self) -> Pushed {
        match self.pushed {
            Pushed::Whole => {
                self.buffer.length = self.buffer.length.saturating_add(self.written);
            }
            Pushed::Dropped => self.buffer.dropped = self.buffer.dropped.saturating_add(1),
        }
        self.pushed
    }

    fn advance(&mut self, count: usize) {
        self.at = self.buffer.wrap(self.at.saturating_add(count));
        self.room = self.room.saturating_sub(count);
        self.written = self.written.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(buffer: &mut LineBuffer) -> Vec<u8> {
        let mut all = Vec::new();
        while !buffer.is_empty() {
            let front = buffer.front().to_vec();
            buffer.consume(front.len());
            all.extend(front);
        }
        all
    }

    #[test]
    fn keeps_order_across_the_wrap() {
        let mut buffer = LineBuffer::new(8);
        for round in 0..20_u8 {
            buffer.push(&[&[round, 1], &[2]]);
            buffer.push(&[&[3, 4]]);
            assert_eq!(drain(&mut buffer), [round, 1, 2, 3, 4]);
            buffer.push(&[&[9; 3]]);
            buffer.consume(2);
            buffer.push(&[&[8; 6]]);
            assert_eq!(drain(&mut buffer), [9, 8, 8, 8, 8, 8, 8]);
        }
        assert_eq!(buffer.dropped(), 0);
    }

    #[test]
    fn drops_whole_lines_and_counts_them() {
        let mut buffer = LineBuffer::new(8);
        buffer.push(&[b"abcdef"]);
        buffer.push(&[b"gh", b"i"]);
        buffer.push(&[b"jk"]);
        assert_eq!(buffer.dropped(), 1);
        assert_eq!(drain(&mut buffer), b"abcdefjk");
    }

    #[test]
    fn keeps_the_reserve_for_others() {
        let mut buffer = LineBuffer::new(8);
        let mut push = |text: &[u8]| buffer.push_leaving([text].into_iter(), 4);
        assert_eq!(push(b"abcde"), Pushed::Dropped);
        assert_eq!(push(b"abcd"), Pushed::Whole);
        assert_eq!(push(b"e"), Pushed::Dropped);
        buffer.push(&[b"wxyz"]);
        assert_eq!(buffer.dropped(), 2);
        assert_eq!(drain(&mut buffer), b"abcdwxyz");
    }
}
