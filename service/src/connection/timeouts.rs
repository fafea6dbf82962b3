//! Deadlines that have passed: what that means depends on the phase (INV-DEADLINES).
//!
//! | phase | what happens |
//! |---|---|
//! | head, body | 408, then the connection lingers and is closed |
//! | idle | closed quietly |
//! | waiting for a slot | 503 `deadline_exceeded`, by the ledger's own word |
//! | answering | aborted: the peer does not read |
//! | lingering | closed |

use crate::connection::record::Phase;
use crate::http::fault::Fault;
use crate::ids::ConnId;
use crate::server::{Ending, Now, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// The connection's deadline has passed: what that means depends on the phase.
    pub(crate) fn time_out(&mut self, conn: ConnId, now: Now) {
        let phase = self.phase(conn);
        if !matches!(
            phase,
            Phase::Free | Phase::Idle | Phase::Lingering | Phase::Closing
        ) {
            self.count_time_out(conn);
        }
        match phase {
            Phase::Fresh | Phase::Head => self.answer_fault(conn, Fault::HeadTimeout, now),
            Phase::Body if self.has_output(conn) => self.end(conn, Ending::Abort),
            Phase::Body => self.answer_fault(conn, Fault::BodyTimeout, now),
            Phase::Idle | Phase::Lingering => self.end(conn, Ending::Close),
            Phase::Waiting | Phase::Answering => self.end(conn, Ending::Abort),
            Phase::Free | Phase::Closing => {}
        }
    }

    /// Counts a connection or request that a deadline ends.
    pub(crate) fn count_time_out(&mut self, conn: ConnId) {
        let lane = self.lane(conn);
        let count = &mut self.state.service[lane].timed_out;
        *count = count.saturating_add(1);
        self.state.note_activity();
    }

    fn has_output(&self, conn: ConnId) -> bool {
        self.memory
            .peek(conn)
            .is_some_and(|record| !record.output.is_empty())
    }
}
