//! The console: everything that is printed goes into a bounded buffer, and from
//! there to the first serial port when the kernel has a moment.

use core::fmt::Write;

use super::output::{Output, Pumped};
use super::serial::{ReceiveInterrupt, Serial};
use crate::cell::KernelCell;

/// Bytes that may wait.
const CAPACITY: usize = 32 * 1024;
/// Bytes of it that only the kernel's own lines may use.
const RESERVE: usize = 8 * 1024;
/// Longest line of the kernel's own.
const LINE_MAX: usize = 256;

static OUTPUT: KernelCell<Option<Output>> = KernelCell::new(None);

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
    OUTPUT.with(|slot| *slot = Some(Output::new(Serial::COM1, CAPACITY)));
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
    OUTPUT.with(|slot| match slot {
        Some(output) => output.push(parts, reserve),
        None => parts.iter().for_each(|part| Serial::COM1.send_now(part)),
    });
}

/// Sends for at most `nanoseconds`.
pub(crate) fn pump(nanoseconds: u64) -> Pumped {
    OUTPUT.with(|slot| {
        slot.as_mut()
            .map_or(Pumped::Empty, |output| output.pump(nanoseconds))
    })
}

/// Lines dropped for want of room.
pub(crate) fn dropped() -> u64 {
    OUTPUT.with(|slot| slot.as_ref().map_or(0, Output::dropped))
}

/// Sends everything, waiting for the port within a bound; for the end.
pub(crate) fn drain() {
    OUTPUT.with(|slot| {
        if let Some(output) = slot {
            output.drain();
        }
    });
}

/// Sends a last line past buffer and locks.
///
/// # Safety
/// Nothing of what was running before continues.
pub(crate) unsafe fn last_words(arguments: core::fmt::Arguments<'_>) {
    // SAFETY: the caller vouches that the kernel stops.
    if let Some(output) = unsafe { OUTPUT.seize() } {
        output.drain();
    }
    let mut line = Line {
        bytes: [0; LINE_MAX],
        length: 0,
    };
    if write!(line, "[kernel] {arguments}").is_ok() {
        Serial::COM1.send_now(line.text());
        Serial::COM1.send_now(b"\n");
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
                // Names in a boot package are not the kernel's words: they move no cursor.
                *slot = if byte.is_ascii_control() { b' ' } else { byte };
                self.length = self.length.saturating_add(1);
            }
        }
        Ok(())
    }
}
