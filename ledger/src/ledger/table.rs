//! The ticket table: every admitted request, and one queue a lane through them.
//!
//! ```text
//!            admit                 dispatch               release
//!   Free ------------> Waiting --------------> Serving -----------> Free
//!     |                   |  expire                                   ^
//!     |                   +---------> Expired ------------------------+
//!     +---- admit with a slot ------> Serving            release
//! ```
//! Queues are doubly linked through the entries, so that every operation is O(1): a ring a lane
//! would be simpler, but a client that leaves frees its ticket from the middle, and a flood of
//! such clients would make a search of every departure. Entries
//! past `fresh` were never used and are not linked into the free list: an empty table is a
//! constant and needs no set-up.

use crate::lane::{Lane, PerLane};
use crate::reservation::TicketId;
use crate::units::{Instant, Owner};

const NONE: u32 = u32::MAX;

/// What an entry's reservation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Nobody's.
    Free,
    /// In its lane's queue.
    Waiting,
    /// Out of the queue, too late to be served, not yet released.
    Expired,
    /// Holds a slot.
    Serving,
}

/// One admitted request.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) footprint: u64,
    pub(super) deadline: Instant,
    pub(super) owner: Owner,
    pub(super) lane: Lane,
    pub(super) state: State,
    generation: u32,
    previous: u32,
    next: u32,
}

impl Entry {
    const FREE: Entry = Entry {
        footprint: 0,
        deadline: Instant::ZERO,
        owner: Owner(0),
        lane: Lane::Anonymous,
        state: State::Free,
        generation: 0,
        previous: NONE,
        next: NONE,
    };
}

/// What a new entry holds.
#[derive(Clone, Copy)]
pub(super) struct NewTicket {
    pub(super) footprint: u64,
    pub(super) deadline: Instant,
    pub(super) owner: Owner,
    pub(super) lane: Lane,
}

/// What a freed entry had been charged, and what it was doing.
pub(super) struct Charged {
    pub(super) footprint: u64,
    pub(super) lane: Lane,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(super) struct TicketTable<const TICKETS: usize> {
    entries: [Entry; TICKETS],
    queues: PerLane<Queue>,
    free: u32,
    fresh: u32,
}

impl<const TICKETS: usize> TicketTable<TICKETS> {
    pub(super) const EMPTY: Self = TicketTable {
        entries: [const { Entry::FREE }; TICKETS],
        queues: PerLane::all(Queue {
            head: NONE,
            tail: NONE,
        }),
        free: NONE,
        fresh: 0,
    };

    /// Takes a free entry. `None` if there is none.
    #[inline]
    pub(super) fn insert(&mut self, new: NewTicket, state: State) -> Option<TicketId> {
        let recycled = self.free != NONE;
        let index = if recycled { self.free } else { self.fresh };
        let entry = self.entries.get_mut(index as usize)?;
        if recycled {
            self.free = entry.next;
        } else {
            self.fresh = self.fresh.wrapping_add(1);
        }
        let NewTicket {
            footprint,
            deadline,
            owner,
            lane,
        } = new;
        let generation = entry.generation.wrapping_add(1);
        *entry = Entry {
            footprint,
            deadline,
            owner,
            lane,
            state,
            generation,
            previous: NONE,
            next: NONE,
        };
        if state == State::Waiting {
            self.push_back(lane, index);
        }
        Some(TicketId { index, generation })
    }

    /// The entry that `ticket` names, if it still does.
    #[inline]
    pub(super) fn entry(&self, ticket: TicketId) -> Option<&Entry> {
        self.entries
            .get(ticket.index as usize)
            .filter(|entry| entry.generation == ticket.generation && entry.state != State::Free)
    }

    #[inline]
    pub(super) fn head(&self, lane: Lane) -> Option<(TicketId, &Entry)> {
        let index = self.queues[lane].head;
        let entry = self.entries.get(index as usize)?;
        Some((
            TicketId {
                index,
                generation: entry.generation,
            },
            entry,
        ))
    }

    /// Whether no ticket of the lane waits.
    #[inline]
    pub(super) fn is_queue_empty(&self, lane: Lane) -> bool {
        self.queues[lane].head == NONE
    }

    /// Takes a waiting ticket out of its queue, into another state.
    #[inline]
    pub(super) fn leave_queue(&mut self, ticket: TicketId, state: State) {
        if self
            .entry(ticket)
            .is_some_and(|entry| entry.state == State::Waiting)
        {
            self.unlink(ticket.index);
            if let Some(entry) = self.entries.get_mut(ticket.index as usize) {
                entry.state = state;
            }
        }
    }

    /// Frees the entry that `ticket` names and hands out what it was charged.
    #[inline]
    pub(super) fn remove(&mut self, ticket: TicketId) -> Option<Charged> {
        let entry = self.entry(ticket)?;
        let charged = Charged {
            footprint: entry.footprint,
            lane: entry.lane,
            state: entry.state,
        };
        if charged.state == State::Waiting {
            self.unlink(ticket.index);
        }
        let free = self.free;
        let entry = self.entries.get_mut(ticket.index as usize)?;
        entry.state = State::Free;
        entry.next = free;
        self.free = ticket.index;
        Some(charged)
    }

    #[inline]
    fn push_back(&mut self, lane: Lane, index: u32) {
        let tail = core::mem::replace(&mut self.queues[lane].tail, index);
        match self.entries.get_mut(tail as usize) {
            Some(last) => last.next = index,
            None => self.queues[lane].head = index,
        }
        if let Some(entry) = self.entries.get_mut(index as usize) {
            entry.previous = tail;
        }
    }

    #[inline]
    fn unlink(&mut self, index: u32) {
        let Some(entry) = self.entries.get_mut(index as usize) else {
            return;
        };
        let lane = entry.lane;
        let previous = core::mem::replace(&mut entry.previous, NONE);
        let next = core::mem::replace(&mut entry.next, NONE);
        match self.entries.get_mut(previous as usize) {
            Some(entry) => entry.next = next,
            None => self.queues[lane].head = next,
        }
        match self.entries.get_mut(next as usize) {
            Some(entry) => entry.previous = previous,
            None => self.queues[lane].tail = previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NewTicket, State, TicketTable};
    use crate::lane::Lane;
    use crate::reservation::TicketId;
    use crate::units::{Instant, Owner};
    use std::vec::Vec;

    fn new(owner: u32, lane: Lane) -> NewTicket {
        NewTicket {
            footprint: 1,
            deadline: Instant::MAX,
            owner: Owner(owner),
            lane,
        }
    }

    fn queue<const N: usize>(table: &TicketTable<N>, lane: Lane) -> Vec<u32> {
        let mut copy = table.clone();
        let mut owners = Vec::new();
        while let Some((ticket, entry)) = copy.head(lane) {
            owners.push(entry.owner.0);
            copy.leave_queue(ticket, State::Expired);
        }
        assert!(copy.is_queue_empty(lane));
        owners
    }

    #[test]
    fn tickets_leave_from_head_middle_and_tail() {
        for gone in 0..4_u32 {
            let mut table = TicketTable::<8>::EMPTY;
            let tickets: Vec<TicketId> = (0..4)
                .map(|owner| {
                    table
                        .insert(new(owner, Lane::Anonymous), State::Waiting)
                        .unwrap()
                })
                .collect();
            table
                .insert(new(9, Lane::LocalHealth), State::Waiting)
                .unwrap();
            let removed = table.remove(tickets[gone as usize]).unwrap();
            assert_eq!(removed.state, State::Waiting);
            let left: Vec<u32> = (0..4).filter(|owner| *owner != gone).collect();
            assert_eq!(queue(&table, Lane::Anonymous), left);
            table
                .insert(new(7, Lane::Anonymous), State::Waiting)
                .unwrap();
            assert_eq!(queue(&table, Lane::Anonymous).last(), Some(&7));
            assert_eq!(queue(&table, Lane::LocalHealth), [9]);
        }
    }

    #[test]
    fn ticket_of_a_freed_place_names_nothing() {
        let mut table = TicketTable::<1>::EMPTY;
        let first = table
            .insert(new(1, Lane::Anonymous), State::Serving)
            .unwrap();
        assert!(
            table
                .insert(new(2, Lane::Anonymous), State::Serving)
                .is_none()
        );
        assert!(table.remove(first).is_some());
        assert!(table.entry(first).is_none());
        assert!(table.remove(first).is_none());
        let second = table
            .insert(new(3, Lane::Anonymous), State::Waiting)
            .unwrap();
        assert_eq!(first.index, second.index);
        assert!(table.entry(first).is_none());
        table.leave_queue(first, State::Serving);
        assert_eq!(table.entry(second).unwrap().state, State::Waiting);
        assert_eq!(queue(&table, Lane::Anonymous), [3]);
    }

    #[test]
    fn leaving_the_queue_twice_changes_nothing() {
        let mut table = TicketTable::<2>::EMPTY;
        let ticket = table
            .insert(new(1, Lane::Anonymous), State::Waiting)
            .unwrap();
        table.leave_queue(ticket, State::Expired);
        table.leave_queue(ticket, State::Serving);
        assert_eq!(table.entry(ticket).unwrap().state, State::Expired);
    }
}
