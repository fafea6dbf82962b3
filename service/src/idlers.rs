//! Idlers: connections that hold a permit and ask for nothing, and so give way to newcomers
//! (INV-IDLERS).
//!
//! A newcomer is preferred to an idler of its own lane, never to a working connection:
//!
//! | connection | is |
//! |---|---|
//! | has sent a byte of a request, or is being answered | working: it never gives way |
//! | was answered, and waits for its next request | an idler at once |
//! | was accepted, and has sent nothing yet | an idler after [`SILENCE_GRACE`] |
//!
//! Whoever has been an idler for longest goes first, of either kind. So a client that connects in the
//! middle of a flood of silent connections has until every older one of its lane is gone to send its
//! first byte, and the grace at the least: a flood that turns a whole lane over faster than that is
//! refused by count and limit instead.
//!
//! Each kind of each lane has a list in order of age, so that finding the oldest costs the same
//! however many there are.

use ingress_ledger::{Instant, Lane, PermitRefusal, Span};

use crate::ids::ConnId;
use crate::record::Phase;
use crate::server::{Ending, Now, Server};
use crate::table::list_of;

/// How long a connection may be silent after its accept before it gives way.
///
/// The first bytes of a request follow the handshake without waiting for an answer, so that a client
/// is through within a fraction of this, whatever its distance.
pub(crate) const SILENCE_GRACE: Span = Span::from_millis(250);

/// Lists of idlers: those that were answered on each lane, then those that were silent.
pub(crate) const IDLER_LISTS: usize = 6;

const SILENT_LISTS: u16 = 3;

/// The list that a connection in `phase` is on. `None`: it is no idler.
pub(crate) const fn idler_list(phase: Phase, lane: Lane) -> Option<u16> {
    match phase {
        Phase::Idle => Some(list_of(lane)),
        Phase::Fresh => Some(list_of(lane).saturating_add(SILENT_LISTS)),
        Phase::Free
        | Phase::Head
        | Phase::Body
        | Phase::Waiting
        | Phase::Answering
        | Phase::Lingering
        | Phase::Closing => None,
    }
}

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Closes the oldest idler of a lane, if a permit is all that a newcomer lacks.
    pub(crate) fn make_room(&mut self, lane: Lane, now: Now) {
        if let Err(PermitRefusal::LaneFull(_) | PermitRefusal::TotalFull(_)) =
            self.state.permits.would_admit(lane, now)
        {
            self.close_oldest_idler(lane);
        }
    }

    /// Closes the oldest idler of a lane; whether there was one.
    pub(crate) fn close_oldest_idler(&mut self, lane: Lane) -> bool {
        let Some(conn) = self.oldest_idler(lane) else {
            return false;
        };
        let closed = &mut self.state.service[lane].idle_closed;
        *closed = closed.saturating_add(1);
        self.end(conn, Ending::Close);
        true
    }

    /// When a silent connection of the lane becomes an idler next, if none gives way now.
    pub(crate) fn next_idler_at(&self, lane: Lane) -> Option<Instant> {
        let (_, since) = self.first_of(Phase::Fresh, lane)?;
        Some(since.after(SILENCE_GRACE))
    }

    fn oldest_idler(&self, lane: Lane) -> Option<ConnId> {
        let answered = self.first_of(Phase::Idle, lane);
        let silent = self
            .first_of(Phase::Fresh, lane)
            .filter(|(_, since)| since.after(SILENCE_GRACE) <= self.state.clock);
        // Of two that are as old, the silent one has had less done for it.
        [silent, answered]
            .into_iter()
            .flatten()
            .min_by_key(|(_, since)| *since)
            .map(|(conn, _)| conn)
    }

    /// The oldest of the lane's connections in `phase`, and since when it has been there.
    fn first_of(&self, phase: Phase, lane: Lane) -> Option<(ConnId, Instant)> {
        let index = self.memory.idlers.first(idler_list(phase, lane)?)?;
        let conn = self.memory.id_of(index)?;
        Some((conn, self.memory.peek(conn)?.idle_since))
    }
}
