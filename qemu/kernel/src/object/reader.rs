//! The terminal as it is read: one call at a time, byte by byte as they come.

use capos_config::capos_capnp::{LineEcho as WireEcho, LineStatus};
use capos_lib::line_discipline::{Echo, LineDiscipline, LineEcho, LineOutcome};

use crate::call::reply::{Completion, Outcome};
use crate::call::scratch::Answer;
use crate::call::ticket::{ProcessIndex, Ticket};
use crate::message::Blob;
use crate::platform::Platform;
use crate::request::LineWanted;

const PROMPT_MAX: usize = 64;
/// Bytes taken from the port in one turn; more than its FIFO holds.
const TURN_BYTES: usize = 64;

/// The terminal.
pub struct Terminal {
    reader: Option<Reader>,
    /// Whether the port may hold bytes: it interrupts at the first and is then
    /// silent until all were taken.
    input: Input,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    None,
    Perhaps,
}

/// A call that reads.
pub(super) struct Reader {
    process: ProcessIndex,
    ticket: Ticket,
    discipline: LineDiscipline,
    prompt: [u8; PROMPT_MAX],
    prompt_length: usize,
    status: Option<LineStatus>,
}

impl Terminal {
    /// A terminal that nobody reads; its port may hold bytes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            reader: None,
            input: Input::Perhaps,
        }
    }

    /// Notes that the port has interrupted.
    pub const fn has_input(&mut self) {
        self.input = Input::Perhaps;
    }

    /// Takes what has arrived while a call reads.
    pub fn poll(&mut self, platform: &mut impl Platform) {
        if self.input == Input::Perhaps
            && let Some(reader) = self
                .reader
                .as_mut()
                .filter(|reader| reader.status.is_none())
        {
            for _ in 0..TURN_BYTES {
                let Some(byte) = platform.terminal_byte() else {
                    self.input = Input::None;
                    break;
                };
                reader.step(byte, platform);
                if reader.status.is_some() {
                    break;
                }
            }
        }
    }

    /// Whether a call reads.
    pub(super) const fn is_read(&self) -> bool {
        self.reader.is_some()
    }

    /// Lets `reader` read from now on, and shows its prompt.
    pub(super) fn begin(&mut self, reader: Reader, platform: &mut impl Platform) {
        platform.write_terminal(&[reader.prompt()]);
        self.reader = Some(reader);
    }

    /// Forgets the call of a process that ended.
    pub fn forget(&mut self, index: ProcessIndex) {
        if self
            .reader
            .as_ref()
            .is_some_and(|reader| reader.process == index)
        {
            self.reader = None;
        }
    }

    /// What the reading call of `index` is to be completed with, if its line is
    /// there.
    pub fn proceed<'a>(
        &mut self,
        index: ProcessIndex,
        answer: &'a mut Answer,
    ) -> Option<Completion<'a>> {
        let is_ready = |reader: &mut Reader| reader.process == index && reader.status.is_some();
        let reader = self.reader.take_if(is_ready)?;
        let status = reader.status.unwrap_or(LineStatus::Closed);
        let line = if status == LineStatus::Submitted {
            reader.discipline.line()
        } else {
            &[]
        };
        let reply = answer.reply(&[status as u64], &[Blob::Data(line)]);
        Completion::of(reader.ticket, reply.map(Outcome::Done))
    }
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new()
    }
}

impl Reader {
    pub(super) fn new(process: ProcessIndex, ticket: Ticket, wanted: &LineWanted<'_>) -> Self {
        let echo = match wanted.echo {
            WireEcho::Visible => LineEcho::Visible,
            WireEcho::Hidden => LineEcho::Hidden,
        };
        let mut reader = Self {
            process,
            ticket,
            discipline: LineDiscipline::new(echo, wanted.allow_empty, wanted.bytes_max),
            prompt: [0; PROMPT_MAX],
            prompt_length: 0,
            status: None,
        };
        for (target, &source) in reader.prompt.iter_mut().zip(wanted.prompt) {
            *target = source;
            reader.prompt_length = reader.prompt_length.saturating_add(1);
        }
        reader
    }

    fn prompt(&self) -> &[u8] {
        self.prompt.get(..self.prompt_length).unwrap_or(&[])
    }

    fn step(&mut self, byte: u8, platform: &mut impl Platform) {
        let step = self.discipline.step(byte);
        match step.echo {
            Echo::None => {}
            Echo::Byte(byte) => platform.write_terminal(&[&[byte]]),
            Echo::Backspace => platform.write_terminal(&[b"\x08 \x08"]),
        }
        let visible = self.discipline.echo_mode().is_visible();
        let newline: &[u8] = if visible { b"\r\n" } else { b"" };
        match step.outcome {
            LineOutcome::Pending => {}
            LineOutcome::Submitted => {
                platform.write_terminal(&[newline]);
                self.status = Some(LineStatus::Submitted);
            }
            LineOutcome::Cancelled => {
                platform.write_terminal(&[b"^C\r\n"]);
                self.status = Some(LineStatus::Cancelled);
            }
            LineOutcome::Reprompt => platform.write_terminal(&[newline, self.prompt()]),
        }
    }
}
