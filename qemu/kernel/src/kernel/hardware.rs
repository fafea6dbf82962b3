//! The machine as objects see it.

use core::fmt;

use harness_kernel::line_guard::{Ending, Speaker};
use harness_kernel::platform::{Moment, Platform};
use harness_net::NetStack;

use crate::cpu;
use crate::device::console;
use crate::device::output::{Output, Pumped};
use crate::device::serial::{ReceiveInterrupt, Serial};
use crate::memory::address_space::AddressSpace;
use crate::network::card::Card;
use crate::time;

const TERMINAL_BYTES: usize = 16 * 1024;

/// The machine; the terminal's output waits here.
pub(crate) struct Hardware {
    terminal: Output,
}

impl Hardware {
    /// Starts the terminal's port.
    pub(crate) fn start() -> Self {
        Serial::COM2.start(ReceiveInterrupt::On);
        Self {
            terminal: Output::new(Serial::COM2, TERMINAL_BYTES),
        }
    }

    /// Sends the terminal's output for at most `nanoseconds`.
    pub(crate) fn pump_terminal(&mut self, nanoseconds: u64) -> Pumped {
        self.terminal.pump(nanoseconds)
    }

    /// Sends all of it, waiting for the port within a bound; for the end.
    pub(crate) fn drain_terminal(&mut self) {
        self.terminal.drain();
    }
}

impl Platform for Hardware {
    type Space = AddressSpace;
    type Stack = NetStack<Card>;

    fn now(&self) -> u64 {
        time::now()
    }

    fn date(&self) -> Option<Moment> {
        time::date()
    }

    fn random_word(&mut self) -> Option<u64> {
        cpu::random_word()
    }

    fn print(&mut self, line: fmt::Arguments<'_>) {
        console::print(line);
    }

    fn write_console(&mut self, speaker: Speaker, text: &[u8], ending: Ending) {
        console::write(speaker, text, ending);
    }

    fn write_record(&mut self, speaker: Speaker, parts: &[&[u8]]) {
        console::write_record(speaker, parts);
    }

    fn terminal_byte(&mut self) -> Option<u8> {
        Serial::COM2.receive()
    }

    fn write_terminal(&mut self, parts: &[&[u8]]) {
        self.terminal.push(parts);
    }
}
