//! Deadlines that have passed: what that means depends on the stage (INV-DEADLINES).
//!
//! | stage | what happens |
//! |---|---|
//! | head, body | 408, then the connection lingers and is closed |
//! | nothing sent yet, idle, lingering | closed quietly: browsers open connections ahead of need |
//! | waiting for a slot | 503 `deadline_exceeded`, by the ledger's own word |
//! | waiting for a job | the handler goes on without it |
//! | answering, in a session with something to send | aborted: the peer does not read |

use crate::connection::record::{Doing, Reason, Stage};
use crate::connection::table::Place;
use crate::http::fault::Fault;
use crate::request::job::Outcome;
use crate::server::{Now, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// The connection's deadline has passed.
    pub(crate) fn time_out(&mut self, at: Place, now: Now) {
        let doing = match &self.memory[at].stage {
            Stage::Free | Stage::Closing { .. } => return,
            Stage::Refused { .. } => return self.end(at, Reason::TimedOut),
            Stage::Open { doing, .. } => doing,
        };
        match doing {
            Doing::Head => {
                self.count_time_out(at);
                self.tell_fault(at, Fault::HeadTimeout, now);
            }
            Doing::Body { interim, .. } if interim.is_empty() => {
                self.count_time_out(at);
                self.tell_fault(at, Fault::BodyTimeout, now);
            }
            Doing::Fresh | Doing::Idle | Doing::Lingering { .. } => self.end(at, Reason::Silent),
            Doing::Working { job, .. } => {
                let job = *job;
                self.state.jobs.give_up(job);
                self.resume(at, Outcome::TooLate, now);
            }
            Doing::Body { .. }
            | Doing::Waiting { .. }
            | Doing::Serving { .. }
            | Doing::Telling { .. }
            | Doing::Session { .. } => self.end(at, Reason::TimedOut),
        }
    }

    /// Counts a connection or request that a deadline ends, and that is told so.
    pub(crate) fn count_time_out(&mut self, at: Place) {
        let lane = self.memory[at].lane();
        let count = &mut self.state.service[lane].timed_out;
        *count = count.saturating_add(1);
        self.state.note_activity();
    }
}
