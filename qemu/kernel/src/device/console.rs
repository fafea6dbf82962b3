//! The console: everything that is printed goes into a bounded buffer, and from
//! there to the first serial port when the kernel has a moment.

use core::fmt::Write;

use harness_kernel::line_buffer::LineBuffer;

use super::serial::{ReceiveInterrupt, Serial};
use crate::cell::KernelCell;

/// Bytes that may wait.
const CAPACITY: usize = 32 * 1024;
/// Bytes of it that only the kernel's own lines may use.
const RESERVE: usize = 8 * 1024;
/// Longest line of the kernel's own.
const LINE_MAX: usize = 256;

static BUFFER: KernelCell<Option<LineBuffer>> = KernelCell::new(None);

/// Prints a line of the kernel's own, behind `[kernel] `.
macro_rules! print_line {
    ($($argument:tt)*) => {
        $crate::device::console::print(format_args!($($argument)*))
    };
}
pub(crate) use print_line;

/// Prepares the port; what is printed before [`start`] goes out at once.
pub(crate) fn prepare() {
    Serial::COM1.start(ReceiveInterrupt::Off);
}

/// Starts buffering; needs the heap.
pub(crate) fn start() {
    BUFFER.with(|slot| *slot = Some(LineBuffer::new(CAPACITY)));
}

/// Formats and queues one line of the kernel's own; longer lines are cut.
pub(crate) fn print(arguments: core::fmt::Arguments<'_>) {
    let mut line = Line {
        bytes: [0; LINE_MAX],
        length: 0,
    };
    // `Line` cuts instead of failing.
    if write!(line, "[kernel] {arguments}").is_ok() {
        queue(&[line.text(), b"\n"], 0);
    }
}

/// Queues a process's bytes as one piece.
pub(crate) fn write_all(parts: &[&[u8]]) {
    queue(parts, RESERVE);
}

fn queue(parts: &[&[u8]], reserve: usize) {
    BUFFER.with(|slot| match slot {
        Some(buffer) => buffer.push_leaving(parts, reserve),
        None => parts.iter().for_each(|part| send_now(part)),
    });
}

/// Passes at most `budget` bytes to the port, and stops where it is busy.
pub(crate) fn pump(budget: usize) {
    BUFFER.with(|slot| {
        let Some(buffer) = slot else { return };
        let mut left = budget;
        while left > 0 && !buffer.is_empty() {
            let sent = Serial::COM1.send(buffer.front());
            if sent == 0 {
                return;
            }
            buffer.consume(sent);
            left = left.saturating_sub(sent);
        }
    });
}

/// Whether everything printed has gone out.
pub(crate) fn is_idle() -> bool {
    BUFFER.with(|slot| slot.as_ref().is_none_or(LineBuffer::is_empty))
}

/// Lines dropped for want of room.
pub(crate) fn dropped() -> u64 {
    BUFFER.with(|slot| slot.as_ref().map_or(0, LineBuffer::dropped))
}

/// Sends everything, waiting for the port within a bound; for the end.
pub(crate) fn drain() {
    for _ in 0..DRAIN_ROUNDS {
        if is_idle() {
            return;
        }
        pump(usize::MAX);
    }
}

/// Sends a last line past buffer and locks.
///
/// # Safety
/// Nothing of what was running before continues.
pub(crate) unsafe fn last_words(arguments: core::fmt::Arguments<'_>) {
    // SAFETY: the caller vouches that the kernel stops.
    if let Some(buffer) = unsafe { BUFFER.seize() } {
        for _ in 0..DRAIN_ROUNDS {
            if buffer.is_empty() {
                break;
            }
            let sent = Serial::COM1.send(buffer.front());
            buffer.consume(sent);
        }
    }
    let mut line = Line {
        bytes: [0; LINE_MAX],
        length: 0,
    };
    if write!(line, "[kernel] {arguments}").is_ok() {
        send_now(line.text());
        send_now(b"\n");
    }
}

/// Polls of a busy port before output is given up.
const DRAIN_ROUNDS: u32 = 2_000_000;

fn send_now(bytes: &[u8]) {
    let mut rest = bytes;
    for _ in 0..DRAIN_ROUNDS {
        let sent = Serial::COM1.send(rest);
        rest = rest.get(sent..).unwrap_or(&[]);
        if rest.is_empty() {
            return;
        }
    }
}

/// Text of bounded length; what is too long is cut.
struct Line {
    bytes: [u8; LINE_MAX],
    length: usize,
}

impl Line {
    fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            if let Some(slot) = self.bytes.get_mut(self.length) {
                *slot = if byte == b'\n' { b' ' } else { byte };
                self.length = self.length.saturating_add(1);
            }
        }
        Ok(())
    }
}
