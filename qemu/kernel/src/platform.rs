//! What objects need of the machine, and no more: clocks, random numbers, the
//! two ports' text. The binary has one (`hardware.rs`), tests have another.

use core::fmt;

use crate::line_guard::{Ending, Speaker};
use crate::sockets::stack::Stack;
use crate::user_space::UserSpace;

/// A date with the moment that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970, UTC.
    pub unix_seconds: i64,
    /// Nanoseconds into the second.
    pub nanoseconds: u32,
    /// The same moment on the monotonic clock.
    pub monotonic: u64,
}

/// The machine as objects see it.
pub trait Platform {
    /// How a process's memory is reached.
    type Space: UserSpace;
    /// The TCP stack.
    type Stack: Stack;

    /// Nanoseconds on the monotonic clock.
    fn now(&self) -> u64;

    /// The date, if the machine has one.
    fn date(&self) -> Option<Moment>;

    /// A random word, if the processor draws any.
    fn random_word(&mut self) -> Option<u64>;

    /// Prints a line of the kernel's own on the console.
    fn print(&mut self, line: fmt::Arguments<'_>);

    /// Queues a process's bytes for the console as one piece.
    fn write_console(&mut self, speaker: Speaker, text: &[u8], ending: Ending);

    /// Queues a line that says what a process wished to have said; its parts
    /// hold no control character.
    fn write_record(&mut self, speaker: Speaker, parts: &[&[u8]]);

    /// The next byte that the terminal's port has received.
    fn terminal_byte(&mut self) -> Option<u8>;

    /// Queues a piece for the terminal.
    fn write_terminal(&mut self, parts: &[&[u8]]);
}
