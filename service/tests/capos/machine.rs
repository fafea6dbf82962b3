//! A machine that has what the process may be granted, and nobody at it.

use std::fmt;

use harness_kernel::line_guard::{Ending, Speaker};
use harness_kernel::platform::{Moment, Platform};

use crate::lent::Space;
use crate::network::Peers;

/// The machine.
pub(crate) struct Machine {
    /// The monotonic clock.
    pub(crate) now_ns: u64,
    /// What the process wrote to its console.
    pub(crate) lines: Vec<String>,
}

impl Platform for Machine {
    type Space = Space;
    type Stack = Peers;

    fn now(&self) -> u64 {
        self.now_ns
    }

    fn date(&self) -> Option<Moment> {
        Some(Moment {
            unix_seconds: 784_111_777,
            nanoseconds: 0,
            monotonic: self.now_ns,
        })
    }

    fn random_word(&mut self) -> Option<u64> {
        Some(0x0403_0201)
    }

    fn print(&mut self, line: fmt::Arguments<'_>) {
        panic!("the kernel complains: {line}");
    }

    fn write_console(&mut self, _: Speaker, text: &[u8], ending: Ending) {
        assert!(matches!(ending, Ending::Line), "the process prints lines");
        self.lines.push(String::from_utf8(text.to_vec()).unwrap());
    }

    fn write_record(&mut self, _: Speaker, _: &[&[u8]]) {
        panic!("the process has no log");
    }

    fn terminal_byte(&mut self) -> Option<u8> {
        None
    }

    fn write_terminal(&mut self, _: &[&[u8]]) {
        panic!("the process has no terminal");
    }
}
