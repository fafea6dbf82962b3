//! A connection's input: received in place, parsed in place, moved only to make room.
//!
//! A receive's message frame lies over the [`PREFIX`] bytes in front of its payload, so that in a
//! head that came in parts it lies over bytes that were received before. They are kept aside while
//! the receive is outstanding. Payloads start on a word boundary; the gap of up to seven bytes that
//! this may leave is closed when the receive has finished.
//!
//! A request's head and its decoded body stay where they are until the request is released, so that
//! a handler reads them there however late it is entered:
//!
//! ```text
//!   | head          | body, decoded | (framing, read) | unread: the next request |
//!   ^ keep.head     ^ keep.body                       ^ begin                    ^ end
//! ```
//!
//! Where a body may have stood is wiped at its request's release (INV-WIPE).

use core::ops::Range;

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
    request: Kept,
}

/// What is kept of a request that was taken off the input, counted as `begin` is.
#[derive(Debug)]
struct Kept {
    /// Nothing is kept where these are empty.
    head: Range<usize>,
    body: Range<usize>,
    /// Where bytes of a body may stand that was read, or passed by.
    soiled: Option<Range<usize>>,
    /// Whether whatever comes may be some of a body that is thrown away.
    passes_by: bool,
}

impl Kept {
    const NOTHING: Self = Self {
        head: 0..0,
        body: 0..0,
        soiled: None,
        passes_by: false,
    };

    /// Moves with the bytes, which have moved to the front; what was soiled stays so.
    fn shift(&mut self, by: usize) {
        for range in [&mut self.head, &mut self.body] {
            range.start = range.start.saturating_sub(by);
            range.end = range.end.saturating_sub(by);
        }
        if let Some(soiled) = &mut self.soiled {
            soiled.start = soiled.start.saturating_sub(by);
        }
    }
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
            request: Kept::NOTHING,
        }
    }

    /// Whether nothing is unread.
    pub(crate) const fn is_empty(&self) -> bool {
        self.begin >= self.end
    }

    /// Whether no more can be received before something is read.
    pub(crate) const fn is_full(&self) -> bool {
        self.end.saturating_sub(self.first()) >= INPUT_BYTES
    }

    /// The first byte that is still wanted.
    const fn first(&self) -> usize {
        if self.request.head.start < self.request.head.end {
            self.request.head.start
        } else {
            self.begin
        }
    }

    /// Takes a head off the front and keeps it: `begin..end` of the unread bytes.
    pub(crate) fn take_head(&mut self, begin: usize, end: usize) {
        let start = self.begin.saturating_add(begin);
        self.consume(end);
        self.request.head = start..self.begin;
        self.request.body = self.begin..self.begin;
    }

    /// A body begins: whatever comes from here on may be some of it.
    pub(crate) fn begin_body(&mut self) {
        self.request.soiled = Some(self.begin..self.end);
    }

    /// Takes a body off the front and keeps it: `decoded` bytes, of `read`.
    pub(crate) fn take_body(&mut self, decoded: usize, read: usize) {
        let start = self.begin;
        self.consume(read);
        self.request.body = start..start.saturating_add(decoded).min(self.begin);
    }

    /// Head and body of the request that is being served.
    pub(crate) fn request<'a>(&self, area: &'a [u8; INPUT_AREA]) -> (&'a [u8], &'a [u8]) {
        let part = |range: &Range<usize>| {
            area.get(PREFIX.saturating_add(range.start)..PREFIX.saturating_add(range.end))
                .unwrap_or_default()
        };
        (part(&self.request.head), part(&self.request.body))
    }

    /// Keeps the request no longer, and wipes what its body has left.
    pub(crate) fn release(&mut self, area: &mut [u8; INPUT_AREA]) {
        self.request.head = 0..0;
        self.request.body = 0..0;
        self.wipe(area);
    }

    /// The socket is closed: whatever was lent has come back, and nothing is kept.
    pub(crate) fn discard_closed(&mut self, area: &mut [u8; INPUT_AREA]) {
        self.is_window_out = false;
        self.discard(area);
    }

    /// Wipes where a body may have stood, but for what is unread. While a receive is outstanding
    /// the area is lent; then it is done when that has finished.
    fn wipe(&mut self, area: &mut [u8; INPUT_AREA]) {
        if self.is_window_out {
            return;
        }
        let Some(soiled) = self.request.soiled.take() else {
            return;
        };
        let before = soiled.start..soiled.end.min(self.begin);
        let behind = soiled.start.max(self.end)..soiled.end;
        for range in [before, behind] {
            let bytes =
                area.get_mut(PREFIX.saturating_add(range.start)..PREFIX.saturating_add(range.end));
            bytes.unwrap_or_default().fill(0);
        }
        self.kept.fill(0);
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

    /// Throws everything away. A window that is out stays where it is, and what it brings may be
    /// some of a body as what is thrown away was.
    pub(crate) fn discard(&mut self, area: &mut [u8; INPUT_AREA]) {
        self.begin = self.end;
        self.request.passes_by |= self.request.soiled.is_some();
        self.release(area);
        if !self.is_window_out {
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
        if self.request.passes_by && self.request.soiled.is_none() {
            self.request.soiled = Some(self.end..self.end);
        }
        if let Some(soiled) = &mut self.request.soiled {
            soiled.end = soiled.end.max(self.window.saturating_add(bytes));
        }
        if self.window > self.end {
            let from = PREFIX.saturating_add(self.window);
            let to = PREFIX.saturating_add(self.end);
            if from.saturating_add(bytes) <= area.len() {
                area.copy_within(from..from.saturating_add(bytes), to);
            }
        }
        self.end = self.end.saturating_add(bytes);
    }

    /// Moves what is still wanted to the front.
    fn make_room(&mut self, area: &mut [u8; INPUT_AREA]) {
        let first = self.first();
        if first == 0 {
            return;
        }
        let (from, to) = (
            PREFIX.saturating_add(first),
            PREFIX.saturating_add(self.end),
        );
        if from < to && to <= area.len() {
            area.copy_within(from..to, PREFIX);
        }
        self.end = self.end.saturating_sub(first);
        self.begin = self.begin.saturating_sub(first);
        self.request.shift(first);
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
        input.discard(&mut area.0);
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
