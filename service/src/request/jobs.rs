//! The jobs that are under way (INV-JOBS): at most [`JOBS_PER_LANE`] a lane, each in a place of its
//! own that is free again only when its outcome was told.
//!
//! ```text
//!             claim            start                 end: outcome
//!  Free ─────────────▶ Wanted ───────▶ Running ────────────────────▶ Free
//!    ▲                   │                │ give up                    ▲
//!    └──── give up ──────┘                ▼          end: nobody's     │
//!                                      GivenUp ────────────────────────┘
//! ```
//!
//! What the caller lends for a job, it lends by place, so that "the place is free" says that it is
//! lent to nobody. A job that is given up keeps its place until then: a callee that never answers
//! costs its lane a place, and another lane nothing.

use ingress_ledger::{LANES, Lane, PerLane};

use crate::connection::table::Place;
use crate::ids::JobId;
use crate::request::job::Job;

/// Jobs that a lane may have under way.
pub const JOBS_PER_LANE: usize = 4;

/// Jobs in all.
pub const JOBS: usize = JOBS_PER_LANE * LANES;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Free,
    Wanted(Place, Job),
    Running(Place),
    GivenUp,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    generation: u16,
    progress: Progress,
}

/// Whose outcome it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The connection at this place waits for it.
    Request(Place),
    /// Its request has ended; the place is free again.
    Nobody,
    /// No such job is under way: it was told before, or never started.
    Unknown,
}

/// The lane that a job is done for; `None` for a place that no job has.
#[must_use]
pub fn lane_of(id: JobId) -> Option<Lane> {
    let lane = usize::from(id.place()).checked_div(JOBS_PER_LANE)?;
    Lane::ALL.into_iter().nth(lane)
}

/// All jobs.
#[derive(Debug)]
pub(crate) struct Jobs {
    entries: PerLane<[Entry; JOBS_PER_LANE]>,
}

impl Jobs {
    /// None under way.
    pub(crate) const fn new() -> Self {
        Self {
            entries: PerLane::all(
                [Entry {
                    generation: 0,
                    progress: Progress::Free,
                }; JOBS_PER_LANE],
            ),
        }
    }

    /// Takes a place for a job of a connection. `None`: the lane has as many as it may.
    pub(crate) fn claim(&mut self, lane: Lane, at: Place, job: Job) -> Option<JobId> {
        let first = lane.index().saturating_mul(JOBS_PER_LANE);
        let entries = self.entries[lane].iter_mut();
        let (place, entry) = (first..)
            .zip(entries)
            .find(|(_, entry)| entry.progress == Progress::Free)?;
        entry.generation = entry.generation.wrapping_add(1);
        entry.progress = Progress::Wanted(at, job);
        let place = u16::try_from(place).ok()?;
        Some(JobId::from_parts(place, entry.generation))
    }

    /// The caller starts a job; `None` if it is not wanted any more.
    pub(crate) fn start(&mut self, id: JobId) -> Option<Job> {
        let entry = self.entry(id)?;
        let Progress::Wanted(at, job) = entry.progress else {
            return None;
        };
        entry.progress = Progress::Running(at);
        Some(job)
    }

    /// The request of a job ends: one that runs keeps its place until its outcome comes.
    pub(crate) fn give_up(&mut self, id: JobId) {
        if let Some(entry) = self.entry(id) {
            entry.progress = match entry.progress {
                Progress::Wanted(..) | Progress::Free => Progress::Free,
                Progress::Running(_) | Progress::GivenUp => Progress::GivenUp,
            };
        }
    }

    /// An outcome is told: the place is free, and what was lent is the caller's again.
    pub(crate) fn end(&mut self, id: JobId) -> Owner {
        let Some(entry) = self.entry(id) else {
            return Owner::Unknown;
        };
        let owner = match entry.progress {
            Progress::Running(at) => Owner::Request(at),
            Progress::GivenUp => Owner::Nobody,
            Progress::Free | Progress::Wanted(..) => return Owner::Unknown,
        };
        entry.progress = Progress::Free;
        owner
    }

    /// Jobs that the caller has started and told no outcome of.
    pub(crate) fn running(&self, lane: Lane) -> usize {
        let is_lent =
            |entry: &&Entry| matches!(entry.progress, Progress::Running(_) | Progress::GivenUp);
        self.entries[lane].iter().filter(is_lent).count()
    }

    fn entry(&mut self, id: JobId) -> Option<&mut Entry> {
        let place = usize::from(id.place());
        let entry = self.entries[lane_of(id)?].get_mut(place.checked_rem(JOBS_PER_LANE)?)?;
        (entry.generation == id.generation()).then_some(entry)
    }
}
