//! The in-guest client: commands over its terminal, connections over the
//! network manager, one result line each on terminal and console.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use alloc::string::String;

use capos_rt::syscall::CAP_ENTER_WAIT_FOREVER as FOREVER;
use capos_rt::{ConsoleClient, LineEcho, LineStatus, Runtime, TerminalSessionClient};
use freestanding as _;
use ingress_probe::command::{Command, Line};
use ingress_probe::parse;

use crate::held::Held;
use crate::network::Network;

mod held;
mod load;
mod network;
mod worker;

/// Most bytes of a command line.
const LINE_BYTES: u32 = 900;

/// Exit codes that the probe gives by itself.
mod exit {
    /// The terminal has closed.
    pub(crate) const CLOSED: i64 = 0;
    /// A grant is missing or of another interface.
    pub(crate) const GRANTS: i64 = 78;
    /// The ring or the terminal failed.
    pub(crate) const FAULT: i64 = 70;
}

fn start(mut runtime: Runtime) -> i64 {
    let capset = runtime.capset();
    let (Ok(console), Ok(terminal), Ok(network), Ok(timer)) = (
        capset.get_client(b"console"),
        capset.get_client(b"terminal"),
        capset.get_client(b"network"),
        capset.get_client(b"timer"),
    ) else {
        return exit::GRANTS;
    };
    let Ok(ring) = runtime.ring_client() else {
        return exit::FAULT;
    };
    let probe = Probe {
        network: Network::new(ring, network, timer),
        console,
        terminal,
        held: Held::new(),
        commands: 0,
    };
    probe.run().unwrap_or(exit::FAULT)
}

capos_rt::entry_point!(start);

struct Probe<'a> {
    network: Network<'a>,
    console: ConsoleClient,
    terminal: TerminalSessionClient,
    held: Held,
    commands: u64,
}

impl Probe<'_> {
    fn run(mut self) -> Option<i64> {
        self.say("[probe] ready")?;
        loop {
            let read = self
                .terminal
                .read_line_wait(
                    self.network.ring(),
                    "",
                    LINE_BYTES,
                    LineEcho::Hidden,
                    false,
                    FOREVER,
                )
                .ok()?;
            match read.status {
                LineStatus::Submitted => {}
                LineStatus::Cancelled => continue,
                LineStatus::Closed => return Some(exit::CLOSED),
            }
            self.commands = self.commands.saturating_add(1);
            let text = core::str::from_utf8(&read.line).unwrap_or("not-utf8");
            if let Some(code) = self.answer(text)? {
                return Some(code);
            }
        }
    }

    /// Does what one line asks for; the exit code if that was to end.
    fn answer(&mut self, text: &str) -> Option<Option<i64>> {
        let number = self.commands;
        match parse::parse(text) {
            Err(error) => {
                let word = text.split_ascii_whitespace().next().unwrap_or("none");
                let word: String = word
                    .chars()
                    .filter(char::is_ascii_alphanumeric)
                    .take(16)
                    .collect();
                self.say(&format!(
                    "[probe] done id={number} cmd={word} error={}",
                    error.explain()
                ))?;
                Some(None)
            }
            Ok(line) => {
                let id = line.id.unwrap_or(number);
                let (words, code) = self.carry_out(&line)?;
                self.say(&format!("[probe] done id={id} cmd={} {words}", line.word))?;
                Some(code)
            }
        }
    }

    fn carry_out(&mut self, line: &Line) -> Option<(String, Option<i64>)> {
        let words = match &line.command {
            Command::Exit(code) => return Some((format!("code={code}"), Some(*code))),
            Command::Load(load) => load::run(&mut self.network, load)?,
            Command::Hold(hold) => self.held.open(&mut self.network, hold)?,
            Command::Drop => self.held.drop_all(&mut self.network)?,
        };
        Some((words, None))
    }

    /// One line to the console and to the terminal.
    fn say(&mut self, text: &str) -> Option<()> {
        self.console
            .write_line_wait(self.network.ring(), text, FOREVER)
            .ok()?;
        self.terminal
            .write_line_wait(self.network.ring(), text, FOREVER)
            .ok()
    }
}
