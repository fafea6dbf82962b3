//! What ends the process, each with its words and its exit code.

use core::fmt;

/// The service cannot go on: the kernel or its own memory is not as agreed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fatal {
    /// The ring page does not have the published layout.
    RingLayout,
    /// More calls than the ring has places for; a defect of the service.
    RingFull,
    /// The kernel refused to work on the ring.
    EnterRejected,
    /// The completion queue's indices make no sense.
    CompletionQueue,
    /// A completion answers nothing that was asked.
    UnknownCompletion,
    /// More completions were taken than can be kept; a defect of the service.
    Inbox,
    /// A connection without a record, or more to give back than there can be; a defect of the
    /// service.
    Records,
    /// The server asked for something on a socket that is not open, or without memory for it; a
    /// defect of the service.
    Sockets,
    /// The server started a job in a place that is lent, or without the capability for it; a defect
    /// of the service.
    Jobs,
    /// The memory of the process was asked for twice.
    StorageTaken,
}

impl Fatal {
    /// The reason in words.
    pub(super) const fn explain(self) -> &'static str {
        match self {
            Self::RingLayout => "the ring page has another layout",
            Self::RingFull => "a call was made with the ring full",
            Self::EnterRejected => "the kernel rejected the ring",
            Self::CompletionQueue => "the completion queue is corrupt",
            Self::UnknownCompletion => "a completion answers no call",
            Self::Inbox => "more completions were taken than can be kept",
            Self::Records => "the records of connections do not add up",
            Self::Sockets => "a call was made on a socket that is not open",
            Self::Jobs => "a job was started that cannot be",
            Self::StorageTaken => "the process was started twice",
        }
    }
}

impl fmt::Display for Fatal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.explain())
    }
}

/// Exit codes of the process; zero is an orderly end after a drain.
pub(super) mod exit {
    /// Drained and done.
    pub(in crate::capos) const DONE: i64 = 0;
    /// A [`super::Fatal`] while it ran.
    pub(in crate::capos) const FAULT: i64 = 70;
    /// The grants or the policy cannot be served with.
    pub(in crate::capos) const REFUSED: i64 = 78;
}
