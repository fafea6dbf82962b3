//! The console: everything that is printed goes into a bounded buffer, and from
//! there to the first serial port when the kernel has a moment.
//!
//! Invariants: KERNEL-LINE (no line of a process's passes for the kernel's).

use core::fmt::Write;

use harness_kernel::line_guard::{Ending, LineGuard, Speaker};

use super::exit::{self, leave};
use super::output::{Output, Pumped};
use super::serial::{ReceiveInterrupt, Serial};
use crate::cell::KernelCell;

/// Bytes that may wait.
const CAPACITY: usize = 40 * 1024;
/// Bytes of it that only the kernel's own lines may use.
const RESERVE: usize = 8 * 1024;
/// Bytes beyond these that only the first process may use, so that no other
/// keeps its words from the console.
const FIRST_RESERVE: usize = 8 * 1024;
/// Longest line of the kernel's own.
const LINE_MAX: usize = 256;

static CONSOLE: KernelCell<Option<Console>> = KernelCell::new(None);

struct Console {
    output: Output,
    guard: LineGuard,
}

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
    CONSOLE.with(|slot| {
        *slot = Some(Console {
            output: Output::new(Serial::COM1, CAPACITY),
            guard: LineGuard::new(),
        });
    });
}

/// Formats and queues one line of the kernel's own; longer lines are cut.
pub(crate) fn print(arguments: core::fmt::Arguments<'_>) {
    queue_line(&[Line::of(arguments).text()], 0);
}

/// Queues a line that says what a process wished to have said; its parts hold no
/// control character.
pub(crate) fn write_record(speaker: Speaker, parts: &[&[u8]]) {
    queue_line(parts, left_to_others(speaker));
}

/// Bytes of room that a process leaves to others.
const fn left_to_others(speaker: Speaker) -> usize {
    match speaker {
        Speaker(0) => RESERVE,
        Speaker(_) => RESERVE + FIRST_RESERVE,
    }
}

fn queue_line(parts: &[&[u8]], reserve: usize) {
    CONSOLE.with(|slot| match slot {
        Some(Console { output, guard }) => guard.line(output.buffer(), parts, reserve),
        None => send_line_now(parts),
    });
}

/// Queues a process's bytes as one piece.
pub(crate) fn write(speaker: Speaker, text: &[u8], ending: Ending) {
    // No process runs before there is a console.
    CONSOLE.with(|slot| {
        if let Some(Console { output, guard }) = slot {
            guard.text(
                output.buffer(),
                speaker,
                (text, ending),
                left_to_others(speaker),
            );
        }
    });
}

fn send_line_now(parts: &[&[u8]]) {
    parts.iter().for_each(|part| Serial::COM1.send_now(part));
    Serial::COM1.send_now(b"\n");
}

/// Sends for at most `nanoseconds`.
pub(crate) fn pump(nanoseconds: u64) -> Pumped {
    CONSOLE.with(|slot| {
        slot.as_mut()
            .map_or(Pumped::Empty, |console| console.output.pump(nanoseconds))
    })
}

/// Lines dropped for want of room.
pub(crate) fn dropped() -> u64 {
    CONSOLE.with(|slot| slot.as_ref().map_or(0, |console| console.output.dropped()))
}

/// Sends everything, waiting for the port within a bound; for the end.
pub(crate) fn drain() {
    CONSOLE.with(|slot| {
        if let Some(console) = slot {
            console.output.drain();
        }
    });
}

/// Ends the machine with the kernel's last words, past buffer and locks.
#[expect(
    unsafe_code,
    reason = "whoever had the console when the kernel failed never gives it back"
)]
pub(crate) fn give_up(what: core::fmt::Arguments<'_>) -> ! {
    // SAFETY: nothing of what was running before continues: this does not return.
    if let Some(console) = unsafe { CONSOLE.seize() } {
        console.output.drain();
        if !console.output.is_empty() || !console.guard.is_at_line_start() {
            Serial::COM1.send_now(b"\n");
        }
    }
    let ending = exit::Ending::Panic;
    send_line_now(&[Line::of(format_args!("panic: {what}")).text()]);
    send_line_now(&[Line::of(format_args!("exit {}", ending.name())).text()]);
    leave(ending)
}

/// Text of bounded length; what is too long is cut.
struct Line {
    bytes: [u8; LINE_MAX],
    length: usize,
}

impl Line {
    /// `[kernel] ` and the formatted text.
    fn of(arguments: core::fmt::Arguments<'_>) -> Self {
        let mut line = Self {
            bytes: [0; LINE_MAX],
            length: 0,
        };
        // A line cuts instead of failing; were an argument to fail, what it
        // said before stands.
        let _cut = write!(line, "[kernel] {arguments}");
        line
    }

    fn text(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for character in text.chars() {
            // Names in a boot package are not the kernel's words: they move no cursor.
            let character = if character.is_control() {
                ' '
            } else {
                character
            };
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).as_bytes();
            let end = self.length.saturating_add(bytes.len());
            if let Some(room) = self.bytes.get_mut(self.length..end) {
                room.copy_from_slice(bytes);
                self.length = end;
            }
        }
        Ok(())
    }
}
