//! TerminalSession: lines from and bytes to the second serial port. One call
//! reads at a time; what arrives while none does stays in the port.

use capos_config::capos_capnp::{LineEcho as WireEcho, LineStatus};
use capos_lib::line_discipline::{Echo, LineDiscipline, LineEcho, LineOutcome};
use harness_kernel::message::Blob;
use harness_kernel::request;

use super::{Call, SmallMessage, answer, params};
use crate::device::output::{Output, Pumped};
use crate::device::serial::{ReceiveInterrupt, Serial};
use crate::kernel::Kernel;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply, Ticket};

const OUTPUT_BYTES: usize = 16 * 1024;
const PROMPT_MAX: usize = 64;
/// Bytes taken from the port in one turn; more than its FIFO holds.
const TURN_BYTES: usize = 64;

/// The terminal.
pub(crate) struct Terminal {
    output: Output,
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

struct Reader {
    process: ProcessIndex,
    ticket: Ticket,
    discipline: LineDiscipline,
    prompt: [u8; PROMPT_MAX],
    prompt_length: usize,
    status: Option<LineStatus>,
}

impl Terminal {
    /// Starts the port.
    pub(crate) fn start() -> Self {
        Serial::COM2.start(ReceiveInterrupt::On);
        Self {
            output: Output::new(Serial::COM2, OUTPUT_BYTES),
            reader: None,
            input: Input::Perhaps,
        }
    }

    /// Notes that the port has interrupted.
    pub(crate) const fn has_input(&mut self) {
        self.input = Input::Perhaps;
    }

    /// Takes what has arrived while a call reads.
    pub(crate) fn poll(&mut self) {
        if self.input == Input::Perhaps
            && let Some(reader) = self
                .reader
                .as_mut()
                .filter(|reader| reader.status.is_none())
        {
            for _ in 0..TURN_BYTES {
                let Some(byte) = Serial::COM2.receive() else {
                    self.input = Input::None;
                    break;
                };
                reader.step(byte, &mut self.output);
                if reader.status.is_some() {
                    break;
                }
            }
        }
    }

    /// Sends for at most `nanoseconds`.
    pub(crate) fn pump(&mut self, nanoseconds: u64) -> Pumped {
        self.output.pump(nanoseconds)
    }

    /// Sends everything, waiting for the port within a bound; for the end.
    pub(crate) fn drain(&mut self) {
        self.output.drain();
    }

    /// Forgets the call of a process that ended.
    pub(crate) fn forget(&mut self, index: ProcessIndex) {
        if self
            .reader
            .as_ref()
            .is_some_and(|reader| reader.process == index)
        {
            self.reader = None;
        }
    }

    /// Whether `index` waits for a line that is there.
    pub(crate) fn is_ready_for(&self, index: ProcessIndex) -> bool {
        self.reader
            .as_ref()
            .is_some_and(|reader| reader.process == index && reader.status.is_some())
    }
}

impl Reader {
    fn step(&mut self, byte: u8, output: &mut Output) {
        let step = self.discipline.step(byte);
        match step.echo {
            Echo::None => {}
            Echo::Byte(byte) => output.push(&[&[byte]]),
            Echo::Backspace => output.push(&[b"\x08 \x08"]),
        }
        let visible = self.discipline.echo_mode().is_visible();
        let newline: &[u8] = if visible { b"\r\n" } else { b"" };
        match step.outcome {
            LineOutcome::Pending => {}
            LineOutcome::Submitted => {
                output.push(&[newline]);
                self.status = Some(LineStatus::Submitted);
            }
            LineOutcome::Cancelled => {
                output.push(&[b"^C\r\n"]);
                self.status = Some(LineStatus::Cancelled);
            }
            LineOutcome::Reprompt => {
                let prompt = self.prompt.get(..self.prompt_length).unwrap_or(&[]);
                output.push(&[newline, prompt]);
            }
        }
    }
}

/// Calls a method of the terminal.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    let result = match call.method {
        0 | 1 => write(kernel, index, &call),
        2 => match start_reading(kernel, index, &call) {
            Ok(()) => return,
            Err(raised) => Err(raised),
        },
        _ => Err(Raised::unimplemented()),
    };
    let reply = result.map_or_else(Reply::Raised, |()| Reply::Void);
    answer(kernel, index, call.ticket, reply);
}

fn write(kernel: &mut Kernel, index: ProcessIndex, call: &Call) -> Result<(), Raised> {
    let Kernel {
        processes,
        terminal,
        ..
    } = kernel;
    let Some(process) = processes.get(index.0).and_then(Option::as_ref) else {
        return Ok(());
    };
    params::with(&process.space, call, |message| {
        if call.method == 0 {
            terminal.output.push(&[request::terminal_data(message)?]);
        } else {
            let line = request::terminal_line(message)?;
            terminal.output.push(&[line, b"\r\n"]);
        }
        Ok(())
    })
}

fn start_reading(kernel: &mut Kernel, index: ProcessIndex, call: &Call) -> Result<(), Raised> {
    let Kernel {
        processes,
        terminal,
        ..
    } = kernel;
    let Some(process) = processes.get(index.0).and_then(Option::as_ref) else {
        return Ok(());
    };
    if terminal.reader.is_some() {
        return Err(Raised::overloaded("another call reads the terminal"));
    }
    let mut reader = params::with(&process.space, call, |message| {
        let wanted = request::line_wanted(message)?;
        let echo = match wanted.echo {
            WireEcho::Visible => LineEcho::Visible,
            WireEcho::Hidden => LineEcho::Hidden,
        };
        let mut reader = Reader {
            process: index,
            ticket: call.ticket,
            discipline: LineDiscipline::new(echo, wanted.allow_empty, wanted.bytes_max),
            prompt: [0; PROMPT_MAX],
            prompt_length: 0,
            status: None,
        };
        for (target, &source) in reader.prompt.iter_mut().zip(wanted.prompt) {
            *target = source;
            reader.prompt_length = reader.prompt_length.saturating_add(1);
        }
        Ok(reader)
    })?;
    reader.process = index;
    let prompt = reader.prompt.get(..reader.prompt_length).unwrap_or(&[]);
    terminal.output.push(&[prompt]);
    terminal.reader = Some(reader);
    Ok(())
}

/// Completes the reading call of `index`, whose line is there.
pub(crate) fn finish(kernel: &mut Kernel, index: ProcessIndex) {
    let Some(reader) = kernel.terminal.reader.take() else {
        return;
    };
    let status = reader.status.unwrap_or(LineStatus::Closed);
    let line = if status == LineStatus::Submitted {
        reader.discipline.line()
    } else {
        &[]
    };
    let message = SmallMessage::new(&[status as u64], &[Blob::Data(line)]);
    answer(
        kernel,
        index,
        reader.ticket,
        Reply::Message(message.bytes()),
    );
}
