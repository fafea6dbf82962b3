//! Phase deadlines: how long a connection may stay silent in each phase, as plain data
//! (keeps P3: no phase before a connection's purpose is known is untimed, except where
//! silence is that purpose).

use core::fmt;

use crate::units::{Instant, Span};

/// How long a phase may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhaseDeadline {
    /// So long from the phase's start.
    Within(Span),
    /// As long as the peer likes: silence is this phase's purpose.
    Exempt,
}

impl PhaseDeadline {
    /// When a phase that started at `start` must be over. `None` if it is exempt.
    #[must_use]
    pub const fn from(self, start: Instant) -> Option<Instant> {
        match self {
            PhaseDeadline::Within(span) => Some(start.after(span)),
            PhaseDeadline::Exempt => None,
        }
    }
}

/// A phase was given no time at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ZeroPhaseDeadline;

impl fmt::Display for ZeroPhaseDeadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a phase without time ends every connection; give it some")
    }
}

impl core::error::Error for ZeroPhaseDeadline {}

/// What a session's peer said in its hello that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionMode {
    /// Drives one window; names its subject at once.
    Window,
    /// Watches; subscribes at once.
    Observer,
    /// Keeps a line open and idles on it between operations.
    Ops,
}

/// A phase of a session before the connection has named its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionPhase {
    /// Until the version preface has come.
    Preface,
    /// Until the hello has come; covers the round trip of the preface's answer.
    Hello,
    /// Until a peer of this mode has named its subject. Other operations before that do not
    /// end the phase.
    FirstOperation(SessionMode),
}

/// The deadlines of a session's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionPhases {
    /// Of [`SessionPhase::Preface`].
    pub preface: Span,
    /// Of [`SessionPhase::Hello`].
    pub hello: Span,
    /// Of [`SessionPhase::FirstOperation`] for the modes whose silence there means a stall.
    pub first_operation: Span,
}

impl SessionPhases {
    /// Two seconds, five seconds, thirty seconds.
    pub const DEFAULT: SessionPhases = SessionPhases {
        preface: Span::from_secs(2),
        hello: Span::from_secs(5),
        first_operation: Span::from_secs(30),
    };

    /// Checks that every phase has some time.
    ///
    /// # Errors
    /// [`ZeroPhaseDeadline`] if one has none.
    pub fn validate(self) -> Result<Self, ZeroPhaseDeadline> {
        if [self.preface, self.hello, self.first_operation].contains(&Span::ZERO) {
            return Err(ZeroPhaseDeadline);
        }
        Ok(self)
    }

    /// The deadline of one phase. An [`SessionMode::Ops`] peer is exempt past its hello: it
    /// idles by design, and what bounds it is the count of connections.
    #[must_use]
    pub const fn deadline(&self, phase: SessionPhase) -> PhaseDeadline {
        match phase {
            SessionPhase::Preface => PhaseDeadline::Within(self.preface),
            SessionPhase::Hello => PhaseDeadline::Within(self.hello),
            SessionPhase::FirstOperation(SessionMode::Ops) => PhaseDeadline::Exempt,
            SessionPhase::FirstOperation(SessionMode::Window | SessionMode::Observer) => {
                PhaseDeadline::Within(self.first_operation)
            }
        }
    }
}

impl Default for SessionPhases {
    fn default() -> Self {
        SessionPhases::DEFAULT
    }
}
