//! The ways in which the machine ends, by name: the harness kernel writes one value to
//! the `isa-debug-exit` device and QEMU exits with `value << 1 | 1` (invariant H2).

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How QEMU ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineExit {
    /// The kernel reported success (QEMU status 33).
    Success,
    /// The service ended with a non-zero code (QEMU status 35).
    ServiceFailure,
    /// The kernel refused the boot package (QEMU status 37).
    BootRefused,
    /// The kernel panicked (QEMU status 39).
    Panic,
    /// The machine reset by itself, as after a triple fault (QEMU status 0).
    Reset,
    /// QEMU itself ended with this status, without a word of the guest's.
    Emulator(i32),
    /// QEMU was ended by this signal.
    Signal(i32),
}

impl MachineExit {
    /// Reads QEMU's exit status.
    pub(crate) fn from_status(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(0), _) => Self::Reset,
            (Some(33), _) => Self::Success,
            (Some(35), _) => Self::ServiceFailure,
            (Some(37), _) => Self::BootRefused,
            (Some(39), _) => Self::Panic,
            (Some(other), _) => Self::Emulator(other),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Emulator(-1),
        }
    }
}

impl fmt::Display for MachineExit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => write!(out, "success (QEMU status 33)"),
            Self::ServiceFailure => write!(out, "service failure (QEMU status 35)"),
            Self::BootRefused => write!(out, "boot refused (QEMU status 37)"),
            Self::Panic => write!(out, "kernel panic (QEMU status 39)"),
            Self::Reset => write!(
                out,
                "a reset by itself, as after a triple fault (QEMU status 0)"
            ),
            Self::Emulator(code) => {
                write!(out, "QEMU's own status {code}, which no guest exit gives")
            }
            Self::Signal(signal) => write!(out, "signal {signal}"),
        }
    }
}
