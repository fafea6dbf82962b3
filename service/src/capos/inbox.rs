//! Completions that were taken from the ring and not told to the server yet: what belongs to a
//! protected lane in front (INV-ORDER).
//!
//! The ring is first in, first out, so whatever waits in it waits behind all that came before. It
//! is therefore emptied at every entry, and the order is made here.

use super::ring::Completion;

/// Completions that can wait in each queue: more than one entry can bring.
const PLACES: usize = 2 * capos_config::ring::CQ_ENTRIES as usize;

/// Whose a completion is, as far as its order goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    /// A protected lane's, or the service's own.
    First,
    /// The public lane's.
    Public,
}

/// The two queues.
pub(super) struct Inbox {
    first: Queue,
    public: Queue,
}

type Queue = heapless::Deque<Completion, PLACES>;

impl Inbox {
    /// Nothing waits.
    pub(super) const fn new() -> Self {
        Self {
            first: Queue::new(),
            public: Queue::new(),
        }
    }

    /// Whether one more can be taken, of either class.
    pub(super) fn has_room(&self) -> bool {
        !(self.first.is_full() || self.public.is_full())
    }

    /// Whether so many wait that the public lane's must be told before more are asked for.
    pub(super) fn is_pressed(&self) -> bool {
        self.public.len() >= PLACES / 2
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty() && self.public.is_empty()
    }

    /// Queues a completion; `None` without room.
    pub(super) fn push(&mut self, class: Class, completion: Completion) -> Option<()> {
        let queue = match class {
            Class::First => &mut self.first,
            Class::Public => &mut self.public,
        };
        queue.push_back(completion).ok()
    }

    /// The oldest completion of a class.
    pub(super) fn pop(&mut self, class: Class) -> Option<Completion> {
        match class {
            Class::First => self.first.pop_front(),
            Class::Public => self.public.pop_front(),
        }
    }
}
