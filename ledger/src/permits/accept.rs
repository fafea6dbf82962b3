//! Accept failures: which of them would spin, and how long to leave a listener alone then
//! (keeps P4: one lane's exhaustion neither spins nor slows another lane's accepts).

use core::fmt;

use crate::counters::bump;
use crate::lane::{Lane, PerLane};
use crate::units::{Instant, Span};

/// What a failed accept did to its backlog entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AcceptFailure {
    /// The entry is still there, for instance because memory or descriptors ran out: the
    /// next accept would fail at once, and so on.
    Spins,
    /// The entry is gone, for instance because its peer had left or was not allowed: the
    /// next accept makes progress, and a delay would let such peers slow the others.
    Consumed,
}

/// How long a listener is left alone: some time after each failure that spins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BackoffLimits {
    first: Span,
    longest: Span,
}

impl BackoffLimits {
    /// From ten milliseconds to one second.
    pub const DEFAULT: BackoffLimits = BackoffLimits {
        first: Span::from_millis(10),
        longest: Span::from_secs(1),
    };

    /// `first` after the first failure that spins, twice the last after each that follows,
    /// `longest` at most.
    ///
    /// # Errors
    /// [`BackoffError`] for limits under which a failing accept would spin or not be doubled.
    pub const fn new(first: Span, longest: Span) -> Result<Self, BackoffError> {
        if first.as_nanos() == 0 {
            return Err(BackoffError::ZeroFirst);
        }
        if longest.as_nanos() < first.as_nanos() {
            return Err(BackoffError::LongestBelowFirst);
        }
        Ok(BackoffLimits { first, longest })
    }
}

/// Why limits of a backoff were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackoffError {
    /// No delay, doubled, is no delay: the accept would spin.
    ZeroFirst,
    /// The longest delay is shorter than the first.
    LongestBelowFirst,
}

impl BackoffError {
    /// What is wrong and how to mend it.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            BackoffError::ZeroFirst => "a failing accept would spin; give it a first delay",
            BackoffError::LongestBelowFirst => {
                "the longest delay is shorter than the first; raise it"
            }
        }
    }
}

impl fmt::Display for BackoffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.explain())
    }
}

impl core::error::Error for BackoffError {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct LaneBackoff {
    delay: Span,
    until: Option<Instant>,
    spun: u64,
    consumed: u64,
}

/// Each lane's backoff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptBackoff {
    limits: BackoffLimits,
    lanes: PerLane<LaneBackoff>,
}

impl AcceptBackoff {
    /// No lane backs off.
    #[must_use]
    pub const fn new(limits: BackoffLimits) -> Self {
        const IDLE: LaneBackoff = LaneBackoff {
            delay: Span::ZERO,
            until: None,
            spun: 0,
            consumed: 0,
        };
        AcceptBackoff {
            limits,
            lanes: PerLane::all(IDLE),
        }
    }

    /// Notes a failed accept. `Some` is when to accept on that lane again; `None`: at once.
    pub fn failed(&mut self, lane: Lane, failure: AcceptFailure, now: Instant) -> Option<Instant> {
        let BackoffLimits { first, longest } = self.limits;
        let backoff = &mut self.lanes[lane];
        match failure {
            AcceptFailure::Spins => {
                bump(&mut backoff.spun);
                let doubled = Span::from_nanos(backoff.delay.as_nanos().saturating_mul(2));
                backoff.delay = doubled.max(first).min(longest);
                backoff.until = Some(now.after(backoff.delay));
            }
            AcceptFailure::Consumed => {
                bump(&mut backoff.consumed);
                backoff.delay = Span::ZERO;
                backoff.until = None;
            }
        }
        backoff.until
    }

    /// Notes an accept that worked: the lane's next failure starts from the first delay.
    pub fn accepted(&mut self, lane: Lane) {
        self.lanes[lane].delay = Span::ZERO;
        self.lanes[lane].until = None;
    }

    /// Whether the lane may accept at `now`.
    #[must_use]
    pub fn may_accept(&self, lane: Lane, now: Instant) -> bool {
        self.lanes[lane].until.is_none_or(|until| until <= now)
    }

    /// When the lane may accept again. `None` if it may already.
    #[must_use]
    pub fn resumes(&self, lane: Lane) -> Option<Instant> {
        self.lanes[lane].until
    }

    /// Accepts of the lane that failed and would have spun.
    #[must_use]
    pub fn spun(&self, lane: Lane) -> u64 {
        self.lanes[lane].spun
    }

    /// Accepts of the lane that failed and consumed their backlog entry.
    #[must_use]
    pub fn consumed(&self, lane: Lane) -> u64 {
        self.lanes[lane].consumed
    }
}
