//! A connection's input: received in place, parsed in place, moved only to make room.
//!
//! A receive's message frame lies over the [`PREFIX`] bytes in front of its payload, so that in a
//! head that came in parts it lies over bytes that were received before. They are kept aside while
//! the receive is outstanding. Payloads start on a word boundary; the gap of up to seven bytes that
//! this may leave is closed when the receive has finished.

use crate::connection::buffers::{INPUT_AREA, INPUT_BYTES, PREFIX, ReceiveWindow, WORD};
use crate::http::scan::HeadScan;

/// Which part of an input area is filled, counted from behind its prefix.
#[derive(Debug)]
pub(crate) struct Input {
    /// Where the unread bytes begin and end.
    begin: usize,
    end: usize,
    /// How far the head at `begin` was looked at.
    pub(crate) scan: HeadScan,
    /// While a window is out: where its payload goes, and what its frame lies over.
    window: usize,
    is_window_out: bool,
    kept: [u8; PREFIX],
}

impl Input {
    /// No input.
    pub(crate) const fn new() -> Self {
        Self {
            begin: 0,
            end: 0,
            scan: HeadScan::new(),
            window: 0,
            is_window_out: false,
            kept: [0; PREFIX],
        }
    }

    /// Whether nothing is unread.
    pub(crate) const fn is_empty(&self) -> bool {
        self.begin >= self.end
    }

    /// Whether no more can be received before something is read.
    pub(crate) const fn is_full(&self) -> bool {
        self.end.saturating_sub(self.begin) >= INPUT_BYTES
    }

    /// The unread bytes.
    pub(crate) fn unread<'a>(&self, area: &'a [u8; INPUT_AREA]) -> &'a [u8] {
        area.get(PREFIX.saturating_add(self.begin)..PREFIX.saturating_add(self.end))
            .unwrap_or_default()
    }

    /// The unread bytes, to be decoded in place.
    pub(crate) fn unread_mut<'a>(&self, area: &'a mut [u8; INPUT_AREA]) -> &'a mut [u8] {
        area.get_mut(PREFIX.saturating_add(self.begin)..PREFIX.saturating_add(self.end))
            .unwrap_or_default()
    }

    /// Takes `bytes` off the front; the next head starts there.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.begin = self.begin.saturating_add(bytes).min(self.end);
        self.scan = HeadScan::new();
    }

    /// Takes everything behind the first `bytes` off the end.
    pub(crate) fn truncate(&mut self, bytes: usize) {
        self.end = self.end.min(self.begin.saturating_add(bytes));
    }

    /// Throws everything away. A window that is out stays where it is.
    pub(crate) fn discard(&mut self) {
        if self.is_window_out {
            self.begin = self.end;
        } else {
            self.begin = 0;
            self.end = 0;
        }
        self.scan = HeadScan::new();
    }

    /// Where the next receive goes; the same place until it has finished.
    pub(crate) fn open_window<'a>(
        &mut self,
        area: &'a mut [u8; INPUT_AREA],
    ) -> Option<ReceiveWindow<'a>> {
        if !self.is_window_out {
            self.make_room(area);
            self.window = self.end.next_multiple_of(WORD);
            let frame = area.get(self.window..self.window.saturating_add(PREFIX))?;
            self.kept.copy_from_slice(frame);
            self.is_window_out = true;
        }
        let payload_max = INPUT_BYTES.saturating_sub(self.end);
        let message_end = PREFIX
            .saturating_add(self.window)
            .saturating_add(payload_max.next_multiple_of(WORD));
        let message = area.get_mut(self.window..message_end)?;
        (payload_max > 0).then_some(ReceiveWindow {
            message,
            payload_max,
        })
    }

    /// Takes in what a receive brought, at most what its window had room for.
    pub(crate) fn close_window(&mut self, area: &mut [u8; INPUT_AREA], bytes: usize) {
        if !self.is_window_out {
            return;
        }
        self.is_window_out = false;
        if let Some(frame) = area.get_mut(self.window..self.window.saturating_add(PREFIX)) {
            frame.copy_from_slice(&self.kept);
        }
        let bytes = bytes.min(INPUT_BYTES.saturating_sub(self.end));
        if self.window > self.end {
            let from = PREFIX.saturating_add(self.window);
            let to = PREFIX.saturating_add(self.end);
            if from.saturating_add(bytes) <= area.len() {
                area.copy_within(from..from.saturating_add(bytes), to);
            }
        }
        self.end = self.end.saturating_add(bytes);
    }

    /// Moves the unread bytes to the front.
    fn make_room(&mut self, area: &mut [u8; INPUT_AREA]) {
        if self.begin == 0 {
            return;
        }
        let (begin, end) = (
            PREFIX.saturating_add(self.begin),
            PREFIX.saturating_add(self.end),
        );
        if begin < end && end <= area.len() {
            area.copy_within(begin..end, PREFIX);
        }
        self.end = self.end.saturating_sub(self.begin);
        self.begin = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::arithmetic_side_effects, reason = "a test fails loudly")]
    fn receive(input: &mut Input, area: &mut [u8; INPUT_AREA], bytes: &[u8]) {
        let window = input.open_window(area).unwrap();
        assert_eq!(window.message.as_ptr() as usize % WORD, 0);
        assert!(window.message.len() >= PREFIX + bytes.len().next_multiple_of(WORD));
        window.message.fill(0xaa);
        window.message[PREFIX..PREFIX + bytes.len()].copy_from_slice(bytes);
        input.close_window(area, bytes.len());
    }

    #[test]
    fn frames_do_not_harm_what_came_before() {
        let mut area = Box::new(crate::connection::buffers::Area([0; INPUT_AREA]));
        let mut input = Input::new();
        let text: Vec<u8> = (0..INPUT_BYTES).map(|at| at.to_le_bytes()[0]).collect();
        let mut at = 0;
        for piece in (1..).map(|step| step % 97 + 1) {
            let end = (at + piece).min(text.len());
            receive(&mut input, &mut area.0, &text[at..end]);
            at = end;
            assert!(input.unread(&area.0) == &text[..at]);
            if at == text.len() {
                break;
            }
        }
        assert!(input.is_full());
        assert!(input.open_window(&mut area.0).is_none());
    }

    #[test]
    fn what_was_consumed_makes_room() {
        let mut area = Box::new(crate::connection::buffers::Area([0; INPUT_AREA]));
        let mut input = Input::new();
        receive(&mut input, &mut area.0, b"onetwo");
        input.consume(3);
        assert_eq!(input.unread(&area.0), b"two");
        receive(&mut input, &mut area.0, b"three");
        assert_eq!(input.unread(&area.0), b"twothree");
        assert_eq!(input.begin, 0);
        input.consume(100);
        assert!(input.is_empty());
    }

    #[test]
    fn discarding_leaves_a_window_that_is_out_where_it_is() {
        let mut area = Box::new(crate::connection::buffers::Area([0; INPUT_AREA]));
        let mut input = Input::new();
        receive(&mut input, &mut area.0, b"some bytes");
        let before = input
            .open_window(&mut area.0)
            .map(|window| (window.message.as_ptr(), window.payload_max));
        input.discard();
        let after = input
            .open_window(&mut area.0)
            .map(|window| (window.message.as_ptr(), window.payload_max));
        assert_eq!(before, after);
        input.close_window(&mut area.0, 3);
        assert_eq!(input.unread(&area.0).len(), 3);
    }

    #[test]
    fn a_receive_cannot_claim_more_than_its_window() {
        let mut area = Box::new(crate::connection::buffers::Area([0; INPUT_AREA]));
        let mut input = Input::new();
        input.open_window(&mut area.0).unwrap();
        input.close_window(&mut area.0, usize::MAX);
        assert_eq!(input.unread(&area.0).len(), INPUT_BYTES);
        input.close_window(&mut area.0, 5);
        assert_eq!(input.unread(&area.0).len(), INPUT_BYTES);
    }
}
