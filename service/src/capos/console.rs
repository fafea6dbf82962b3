//! The console, without ever waiting for it (INV-CONSOLE).
//!
//! One line is on its way, a few wait; a line that finds no room is dropped and
//! counted, and the count is the next line that does find room.

use core::fmt::{self, Write};

use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire::{self, DATA_PREFIX_BYTES, WORD_BYTES};

use super::fatal::Fatal;
use super::ring::{Call, Memory, Ring};

/// Most bytes of a line; the evidence line is the longest.
pub(super) const LINE_BYTES: usize = 6_144;
/// Lines that may wait.
const LINES: usize = 6;
/// `Console.writeLine`.
pub(super) const WRITE_LINE: u16 = 1;

const AREA_BYTES: usize = DATA_PREFIX_BYTES + LINE_BYTES + WORD_BYTES;

/// One line, formatted in place behind the frame of its message.
#[repr(C, align(8))]
pub(super) struct Line {
    area: [u8; AREA_BYTES],
    text_bytes: usize,
}

impl Line {
    /// No text.
    pub(super) const fn new() -> Self {
        Self {
            area: [0; AREA_BYTES],
            text_bytes: 0,
        }
    }

    /// Formats a line and frames it; text past [`LINE_BYTES`] is cut.
    pub(super) fn set(&mut self, text: fmt::Arguments<'_>) -> &[u8] {
        self.text_bytes = 0;
        let cut = self.write_fmt(text).is_err();
        if cut {
            // Room for the mark was kept, so this cannot fail.
            self.append(b"...");
        }
        let framed = wire::frame_text(&mut self.area, self.text_bytes).unwrap_or(0);
        self.area.get(..framed).unwrap_or(&[])
    }

    fn append(&mut self, bytes: &[u8]) {
        let start = DATA_PREFIX_BYTES.saturating_add(self.text_bytes);
        let end = start.saturating_add(bytes.len());
        if let Some(room) = self.area.get_mut(start..end) {
            room.copy_from_slice(bytes);
            self.text_bytes = self.text_bytes.saturating_add(bytes.len());
        }
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        const MARK_BYTES: usize = 3;
        let room = (LINE_BYTES - MARK_BYTES).saturating_sub(self.text_bytes);
        let whole = text.floor_char_boundary(room);
        self.append(text.as_bytes().get(..whole).unwrap_or(&[]));
        if whole == text.len() {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

/// The queue of lines.
pub(super) struct Console {
    lines: [Line; LINES],
    first: usize,
    waiting: usize,
    cap: CapId,
    in_flight: bool,
    dropped: u64,
}

impl Console {
    /// No line waits. The capability is set by [`Console::open`].
    pub(super) const fn new() -> Self {
        Self {
            lines: [const { Line::new() }; LINES],
            first: 0,
            waiting: 0,
            cap: CapId(0),
            in_flight: false,
            dropped: 0,
        }
    }

    /// Says where lines go.
    pub(super) fn open(&mut self, cap: CapId) {
        self.cap = cap;
    }

    /// Queues a line, or counts it as dropped.
    pub(super) fn say(&mut self, text: fmt::Arguments<'_>) {
        let dropped = self.dropped;
        if dropped > 0 && self.queue(format_args!("[web-ui] console dropped={dropped}")) {
            self.dropped = 0;
        }
        if !self.queue(text) {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    fn queue(&mut self, text: fmt::Arguments<'_>) -> bool {
        if self.waiting >= LINES {
            return false;
        }
        let place = self.first.wrapping_add(self.waiting) % LINES;
        if let Some(line) = self.lines.get_mut(place) {
            line.set(text);
            self.waiting = self.waiting.saturating_add(1);
        }
        true
    }

    /// Whether nothing waits and nothing is on its way.
    pub(super) const fn is_idle(&self) -> bool {
        self.waiting == 0 && !self.in_flight
    }

    /// Whether a line could be sent at once.
    pub(super) const fn has_next(&self) -> bool {
        self.waiting > 0 && !self.in_flight
    }

    /// Whether another line can wait.
    pub(super) const fn has_room(&self) -> bool {
        self.waiting < LINES
    }

    /// Sends the next line if none is on its way and the ring has room.
    ///
    /// # Errors
    /// Never without a defect of the ring.
    pub(super) fn pump(&mut self, ring: &mut Ring) -> Result<(), Fatal> {
        if self.in_flight || self.waiting == 0 || ring.space() == 0 {
            return Ok(());
        }
        let Some(line) = self.lines.get(self.first) else {
            return Ok(());
        };
        let message_bytes = DATA_PREFIX_BYTES.saturating_add(
            line.text_bytes
                .saturating_add(1)
                .next_multiple_of(WORD_BYTES),
        );
        let message = line.area.get(..message_bytes).unwrap_or(&[]);
        let call = Call {
            cap: self.cap,
            method: WRITE_LINE,
            params: Memory::read(message),
            result: Memory::NONE,
            tag: Tag::Console,
        };
        // SAFETY: the line stays in its place until `written` gives it free,
        // which only the completion causes; there is no result memory.
        unsafe { ring.push(call) }?;
        self.in_flight = true;
        Ok(())
    }

    /// The line on its way has been taken (or refused, which is its end too). It is one of those
    /// that wait, so that a completion that answers no line takes none away.
    pub(super) fn written(&mut self) {
        if core::mem::take(&mut self.in_flight)
            && let Some(left) = self.waiting.checked_sub(1)
        {
            self.first = self.first.wrapping_add(1) % LINES;
            self.waiting = left;
        }
    }
}
