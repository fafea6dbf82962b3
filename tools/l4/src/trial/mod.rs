//! One booted guest on trial: the session that keeps the record, the guest, and what its
//! clients saw. Whatever loads or judges a guest takes this one thing.

mod counts;
mod settle;

use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::Tally;
use crate::lane::Lane;
use crate::probe::Reply;
use crate::session::Session;

pub(crate) use counts::{ClientCounts, Counting};

/// A booted guest on trial. Its parts are public, so that a case can load the guest while it
/// writes into the record.
pub(crate) struct Trial<'session, 'bench> {
    pub(crate) session: &'session mut Session<'bench>,
    pub(crate) guest: Guest,
    /// What its clients saw; the ledger's counts are compared with them at the end.
    pub(crate) clients: ClientCounts,
}

impl<'session, 'bench> Trial<'session, 'bench> {
    /// A guest that nobody has spoken with, whose clients read every answer.
    pub(crate) fn of(session: &'session mut Session<'bench>, guest: Guest) -> Self {
        Self {
            session,
            guest,
            clients: ClientCounts::default(),
        }
    }

    /// Its clients may leave answers unread: they have seen at most what was sent.
    pub(crate) fn at_most(mut self) -> Self {
        self.clients.counting = Counting::AtMost;
        self
    }

    /// Counts what other clients of a lane saw.
    pub(crate) fn count(&mut self, lane: Lane, seen: &Tally) {
        self.clients.lane(lane).add(seen);
    }

    /// Has the client inside the guest do something on a lane, and counts what it saw.
    pub(crate) fn ask(&mut self, lane: Lane, command: &str) -> Result<Reply, Failure> {
        let reply = self.guest.tell(command)?;
        self.count(lane, &reply.tally());
        Ok(reply)
    }
}
