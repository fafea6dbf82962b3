//! A machine without hardware, that keeps what it is told.

use std::collections::VecDeque;
use std::fmt;

use harness_kernel::line_guard::{Ending, Speaker};
use harness_kernel::platform::{Moment, Platform};
use harness_net::{FrameDevice, NetStack};

use crate::memory::Memory;

/// The machine.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) now: u64,
    pub(crate) date: Option<Moment>,
    pub(crate) random: Option<u64>,
    /// The kernel's own lines.
    pub(crate) told: Vec<String>,
    /// What processes wrote to the console, with who.
    pub(crate) written: Vec<(usize, String)>,
    pub(crate) typed: VecDeque<u8>,
    pub(crate) shown: String,
}

impl Platform for Machine {
    type Space = Memory;
    type Stack = NetStack<NoCard>;

    fn now(&self) -> u64 {
        self.now
    }

    fn date(&self) -> Option<Moment> {
        self.date
    }

    fn random_word(&mut self) -> Option<u64> {
        self.random
    }

    fn print(&mut self, line: fmt::Arguments<'_>) {
        self.told.push(line.to_string());
    }

    fn write_console(&mut self, Speaker(who): Speaker, text: &[u8], ending: Ending) {
        let mut text = String::from_utf8(text.to_vec()).unwrap();
        if matches!(ending, Ending::Line) {
            text.push('\n');
        }
        self.written.push((who, text));
    }

    fn write_record(&mut self, Speaker(who): Speaker, parts: &[&[u8]]) {
        let text = String::from_utf8(parts.concat()).unwrap();
        self.written.push((who, text));
    }

    fn terminal_byte(&mut self) -> Option<u8> {
        self.typed.pop_front()
    }

    fn write_terminal(&mut self, parts: &[&[u8]]) {
        self.shown
            .push_str(&String::from_utf8(parts.concat()).unwrap());
    }
}

/// The loopback needs no card.
pub(crate) enum NoCard {}

impl FrameDevice for NoCard {
    type Frame = [u8; 0];

    fn mac(&self) -> [u8; 6] {
        match *self {}
    }

    fn receive(&mut self) -> Option<[u8; 0]> {
        match *self {}
    }

    fn recycle(&mut self, _: [u8; 0]) {
        match *self {}
    }

    fn can_transmit(&mut self) -> bool {
        match *self {}
    }

    fn transmit<R>(&mut self, _: usize, _: impl FnOnce(&mut [u8]) -> R) -> R {
        match *self {}
    }

    fn flush(&mut self) {
        match *self {}
    }
}
