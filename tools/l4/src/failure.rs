//! Why a case could not pass, each reason in its own words (invariant H3: a hang, a panic,
//! a wrong exit code, a missing line and a missing tool never read alike).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::exit_code::MachineExit;

/// A reason that ends a case at once.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The emulator is not installed, or not where it was said to be.
    EmulatorMissing { program: String, cause: String },
    /// The emulator ran and refused its command line.
    EmulatorRefused { status: MachineExit, stderr: String },
    /// A port of the host's that it was to forward is another program's.
    PortTaken { cause: String },
    /// The harness was to go to a lane that cannot be reached from the host.
    Unreachable { lane: &'static str },
    /// A line did not come in time, and the machine still runs.
    Hang {
        awaited: String,
        waited: Duration,
        last: Vec<String>,
    },
    /// The kernel panicked.
    Panic { line: String, awaited: String },
    /// The machine ended while a line was still awaited.
    EndedEarly {
        awaited: String,
        exit: MachineExit,
        last: Vec<String>,
    },
    /// The machine ended in another way than expected.
    WrongExit {
        expected: MachineExit,
        got: MachineExit,
        last: Vec<String>,
    },
    /// The machine did not end when it was asked to.
    NoExit { waited: Duration, last: Vec<String> },
    /// The machine ended as expected, but never printed this.
    MissingLine { what: String, last: Vec<String> },
    /// A file that the harness needs has not been built.
    ArtefactMissing {
        what: &'static str,
        path: PathBuf,
        make_target: &'static str,
    },
    /// A boot manifest did not compile.
    Manifest { name: String, cause: String },
    /// The in-guest client did not answer, or answered with an error.
    Probe { command: String, cause: String },
    /// A program that the case drives (curl, wrk, HAProxy) is not installed or failed.
    Tool { program: String, cause: String },
    /// The harness's own file or socket failed.
    Host { doing: String, cause: String },
}

impl Failure {
    /// One word for the kind, as the reports name it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::EmulatorMissing { .. } => "emulator-missing",
            Self::EmulatorRefused { .. } => "emulator-refused",
            Self::PortTaken { .. } => "port-taken",
            Self::Unreachable { .. } => "unreachable",
            Self::Hang { .. } => "hang",
            Self::Panic { .. } => "panic",
            Self::EndedEarly { .. } => "ended-early",
            Self::WrongExit { .. } => "wrong-exit",
            Self::NoExit { .. } => "no-exit",
            Self::MissingLine { .. } => "missing-line",
            Self::ArtefactMissing { .. } => "artefact-missing",
            Self::Manifest { .. } => "manifest",
            Self::Probe { .. } => "probe",
            Self::Tool { .. } => "tool",
            Self::Host { .. } => "host",
        }
    }

    /// Wraps an error of the harness's own doing.
    pub(crate) fn host(doing: impl Into<String>, cause: impl fmt::Display) -> Self {
        Self::Host {
            doing: doing.into(),
            cause: cause.to_string(),
        }
    }
}

/// Writes the console's last lines, indented, or says that there were none.
fn tail(out: &mut fmt::Formatter<'_>, last: &[String]) -> fmt::Result {
    if last.is_empty() {
        return write!(out, "\n    the console stayed empty");
    }
    write!(out, "\n    the console's last lines:")?;
    last.iter()
        .try_for_each(|line| write!(out, "\n    | {line}"))
}

impl Failure {
    /// What the guest did or did not do, with what its console said last.
    fn of_the_guest(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hang {
                awaited,
                waited,
                last,
            } => {
                write!(
                    out,
                    "hang: no {awaited} within {:.1} s, and the machine still runs",
                    waited.as_secs_f64()
                )?;
                tail(out, last)
            }
            Self::Panic { line, awaited } => {
                write!(out, "kernel panic while waiting for {awaited}: {line}")
            }
            Self::EndedEarly {
                awaited,
                exit,
                last,
            } => {
                write!(out, "the machine ended before {awaited}: {exit}")?;
                tail(out, last)
            }
            Self::WrongExit {
                expected,
                got,
                last,
            } => {
                write!(out, "wrong exit: expected {expected}, got {got}")?;
                tail(out, last)
            }
            Self::NoExit { waited, last } => {
                write!(
                    out,
                    "the machine was told to end and still runs after {:.1} s",
                    waited.as_secs_f64()
                )?;
                tail(out, last)
            }
            Self::MissingLine { what, last } => {
                write!(out, "missing line: the console never showed {what}")?;
                tail(out, last)
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmulatorMissing { program, cause } => write!(
                out,
                "{program} cannot be started ({cause}); `make setup` installs it"
            ),
            Self::PortTaken { cause } => write!(
                out,
                "a host port is taken by another program; choose others, as in `make run \
                 ARGS=\"--public-port 9080 --provider-port 9081\"` ({cause})"
            ),
            Self::EmulatorRefused { status, stderr } => {
                write!(out, "the emulator refused to start: {status}: {stderr}")
            }
            Self::Unreachable { lane } => {
                write!(out, "the host has no way to the {lane} lane over this wire")
            }
            Self::Hang { .. }
            | Self::Panic { .. }
            | Self::EndedEarly { .. }
            | Self::WrongExit { .. }
            | Self::NoExit { .. }
            | Self::MissingLine { .. } => self.of_the_guest(out),
            Self::ArtefactMissing {
                what,
                path,
                make_target,
            } => write!(
                out,
                "{what} is missing at {}; `make {make_target}` builds it",
                path.display()
            ),
            Self::Manifest { name, cause } => write!(out, "manifest {name}: {cause}"),
            Self::Probe { command, cause } => {
                write!(out, "the in-guest client on `{command}`: {cause}")
            }
            Self::Tool { program, cause } => write!(out, "{program}: {cause}"),
            Self::Host { doing, cause } => write!(out, "{doing}: {cause}"),
        }
    }
}
