//! Dispatch: who is served next (keeps L7, and L9: an expired ticket is never served).

use super::IngressLedger;
use super::table::State;
use crate::counters::bump;
use crate::lane::Lane;
use crate::reservation::{IngressReservation, TicketId};
use crate::units::{Instant, Owner, Tickets};

/// A waiting reservation that dispatch decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chosen {
    /// The reservation's ticket.
    pub ticket: TicketId,
    /// The tag of the connection that it was admitted on.
    pub owner: Owner,
    /// Its lane.
    pub lane: Lane,
}

/// What dispatch decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selected {
    /// The reservation holds a slot now: serve it.
    Dispatched(Chosen),
    /// Its deadline passed while it waited: answer with
    /// [`DeadlineExceeded`](crate::IngressOverload::DeadlineExceeded) and cancel it.
    Expired(Chosen),
}

impl<const TICKETS: usize> IngressLedger<'_, TICKETS> {
    /// Decides about one waiting reservation, or `None` if there is nothing to decide.
    ///
    /// Call it until `None` after each release, and when [`IngressLedger::next_expiry`] has
    /// come. Expired heads go first, then lanes with a free reserve, then the general pool
    /// in fair turns. Work-conserving: `None` means that no ticket waits that any free slot
    /// may serve.
    pub fn select_next(&mut self, now: Instant) -> Option<Selected> {
        self.issuer.assert_unleaked();
        let now = self.observe(now);
        if let Some(chosen) = self.expired_head(now) {
            self.table.leave_queue(chosen.ticket, State::Expired);
            bump(&mut self.books[chosen.lane].counters.expired);
            return Some(Selected::Expired(chosen));
        }
        let reserved =
            |lane: &Lane| !self.table.is_queue_empty(*lane) && self.slots.has_free_reserve(*lane);
        let lane = match Lane::ALL.into_iter().find(reserved) {
            Some(lane) => lane,
            None if self.slots.general_used() < self.slots.general() => {
                self.arbiter.choose(|lane| self.competes(lane))?
            }
            None => return None,
        };
        let chosen = self.head(lane)?;
        self.table.leave_queue(chosen.ticket, State::Serving);
        match self.books[lane].waiting.checked_sub(1) {
            Some(waiting) => self.books[lane].waiting = waiting,
            None => self.fault("dispatched a ticket that was not counted"),
        }
        self.take_slot(lane);
        Some(Selected::Dispatched(chosen))
    }

    /// The earliest deadline at the head of a queue: when [`IngressLedger::select_next`] has
    /// something to decide even if nothing is released until then.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Instant> {
        Lane::ALL
            .into_iter()
            .filter_map(|lane| self.table.head(lane))
            .map(|(_, entry)| entry.deadline)
            .min()
    }

    /// Tickets of `lane` that wait for a slot.
    #[must_use]
    pub fn waiting(&self, lane: Lane) -> Tickets {
        Tickets::new(self.books[lane].waiting)
    }

    /// Whether the reservation holds a slot. False for a token of another ledger.
    #[must_use]
    pub fn holds_slot(&self, reservation: &IngressReservation<'_>) -> bool {
        reservation.seal.is_of(self.issuer, self.name)
            && self
                .table
                .entry(reservation.ticket)
                .is_some_and(|entry| entry.state == State::Serving)
    }

    /// The reservation's deadline. `None` for a token of another ledger.
    #[must_use]
    pub fn deadline(&self, reservation: &IngressReservation<'_>) -> Option<Instant> {
        if !reservation.seal.is_of(self.issuer, self.name) {
            return None;
        }
        self.table
            .entry(reservation.ticket)
            .map(|entry| entry.deadline)
    }

    fn head(&self, lane: Lane) -> Option<Chosen> {
        self.table.head(lane).map(|(ticket, entry)| Chosen {
            ticket,
            owner: entry.owner,
            lane,
        })
    }

    fn expired_head(&self, now: Instant) -> Option<Chosen> {
        Lane::ALL.into_iter().find_map(|lane| {
            let (_, entry) = self.table.head(lane)?;
            if entry.deadline <= now {
                self.head(lane)
            } else {
                None
            }
        })
    }
}
