//! What a request can wait for outside, and what may become of it.

use ingress_ledger::{Instant, Span};

use crate::state::WallClock;

/// What a handler wants done before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// The wall clock read.
    ReadWallClock,
}

impl Job {
    /// How long its request waits for it. Past that the handler answers without, and the outcome,
    /// when it comes, is nobody's.
    pub(crate) const fn patience(self) -> Span {
        match self {
            // A clock is read at once or not at all.
            Self::ReadWallClock => Span::from_secs(1),
        }
    }
}

/// What became of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The wall clock says this.
    WallClock(WallClock),
    /// It was tried, and whoever does it says no.
    Failed,
    /// It took longer than its request waits.
    TooLate,
    /// As many jobs of the lane are under way as may be: it was not tried.
    Busy,
}

/// When a job that starts now is given up, at the latest when its request is.
pub(crate) fn deadline(
    job: Job,
    request: Option<Instant>,
    now: Option<Instant>,
) -> Option<Instant> {
    let own = now?.after(job.patience());
    Some(request.map_or(own, |request| request.min(own)))
}
