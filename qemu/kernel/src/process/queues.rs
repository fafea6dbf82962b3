//! A process's queues, kernel side.
//!
//! The page is shared with a process that may write anything to it. The kernel
//! keeps its own two indices, reads the other two, and copies each entry once
//! before it looks at it.

use capos_config::ring::{
    CQ_ENTRIES, CapCqe, CapSqe, cq_pending_or_recovery_head, sq_pending_or_recovery_head,
};

use ingress_schema::PROCESSES_MAX;

use crate::call::ticket::Ticket;
use crate::entry_budget::EntryBudget;
use crate::user_space::Queues;

/// The process wrote indices that no use of the queues leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// Calls of one process that may be under way: more than two a connection of all
/// that it can hold. They are what the kernel remembers of it besides its
/// objects, the answers of those that were closed included.
const CALLS_MAX: u32 = 4_096;

// They fit the heap beside what the boot takes of it, for every process.
const _: () = assert!(CALLS_MAX as usize * size_of::<Ticket>() * PROCESSES_MAX <= 1 << 20);

/// What comes next of a process's submissions.
#[derive(Clone, Copy)]
pub enum Next {
    /// One that was taken.
    Submission(CapSqe),
    /// There is none, or it waits for the process to take completions or for
    /// calls to end.
    Nothing,
    /// The next entry takes it: this one has done enough.
    Later,
}

/// The kernel's own indices of one process's queues.
#[derive(Default)]
pub(super) struct Progress {
    submissions_taken: u32,
    completions_posted: u32,
    /// Submissions that were taken and have no completion yet.
    pending: u32,
}

impl Progress {
    /// The next submission, if there is one, there is room for its completion,
    /// and `budget` is left for it. Corrupt indices drop what was submitted, as
    /// the published rule says.
    pub(super) fn take(
        &mut self,
        page: &impl Queues,
        budget: &mut EntryBudget,
    ) -> Result<Next, Corrupt> {
        if !self.has_room(page) || self.pending >= CALLS_MAX {
            return Ok(Next::Nothing);
        }
        let taken = &mut self.submissions_taken;
        match sq_pending_or_recovery_head(*taken, page.submission_tail()) {
            Ok(0) => Ok(Next::Nothing),
            Ok(_) => {
                let submission = page.submission(*taken);
                if !budget.take(&submission) {
                    return Ok(Next::Later);
                }
                *taken = taken.wrapping_add(1);
                page.set_submission_head(*taken);
                self.pending = self.pending.saturating_add(1);
                Ok(Next::Submission(submission))
            }
            Err(recovery) => {
                *taken = recovery;
                page.set_submission_head(recovery);
                Err(Corrupt)
            }
        }
    }

    /// Completions that the process has not taken yet.
    pub(super) fn completions(&self, page: &impl Queues) -> Result<u32, Corrupt> {
        cq_pending_or_recovery_head(page.completion_head(), self.completions_posted)
            .map_err(|_| Corrupt)
    }

    /// Whether another completion can be posted; never into a corrupt queue.
    pub(super) fn has_room(&self, page: &impl Queues) -> bool {
        self.completions(page)
            .is_ok_and(|waiting| waiting < CQ_ENTRIES)
    }

    /// Posts a completion; the caller has checked for room.
    pub(super) fn post(&mut self, page: &impl Queues, completion: CapCqe) {
        let posted = &mut self.completions_posted;
        page.set_completion(*posted, completion);
        *posted = posted.wrapping_add(1);
        page.set_completion_tail(*posted);
        self.pending = self.pending.saturating_sub(1);
    }

    /// Submissions that were taken and have no completion yet.
    pub(super) const fn pending(&self) -> u32 {
        self.pending
    }
}
