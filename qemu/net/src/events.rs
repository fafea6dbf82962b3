//! Who has something to report: one queue per transport, served in turn, so
//! that one transport's events cannot delay another's by more than one.
//!
//! Invariants: NET-EVENT (an object stands in at most one queue, once; the
//! queues never grow).

use crate::ids::TransportId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// What stands in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Socket(u16),
    Listener(u8),
}

/// The queues.
#[derive(Debug)]
pub(crate) struct Ready {
    queues: Vec<VecDeque<Source>>,
    capacity: usize,
    turn: usize,
}

impl Ready {
    /// No queues yet; each will hold `capacity` entries.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            queues: Vec::new(),
            capacity,
            turn: 0,
        }
    }

    /// Adds the next transport's queue.
    pub(crate) fn add_transport(&mut self) {
        self.queues.push(VecDeque::with_capacity(self.capacity));
    }

    /// Puts `source` last. The caller knows that it stands in no queue.
    pub(crate) fn push(&mut self, transport: TransportId, source: Source) {
        if let Some(queue) = self.queues.get_mut(usize::from(transport.0)) {
            queue.push_back(source);
        }
    }

    /// Takes the first of the next transport in turn that has any.
    pub(crate) fn pop(&mut self) -> Option<(TransportId, Source)> {
        let count = self.queues.len();
        for _ in 0..count {
            let at = self.turn;
            let next = at.wrapping_add(1);
            self.turn = if next >= count { 0 } else { next };
            if let Some(source) = self.queues.get_mut(at).and_then(VecDeque::pop_front) {
                return Some((TransportId(u8::try_from(at).ok()?), source));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transports_take_turns() {
        let mut ready = Ready::new(8);
        ready.add_transport();
        ready.add_transport();
        for index in 0..5 {
            ready.push(TransportId(0), Source::Socket(index));
        }
        ready.push(TransportId(1), Source::Socket(9));
        let order: Vec<_> = core::iter::from_fn(|| ready.pop())
            .map(|(t, _)| t.0)
            .collect();
        assert_eq!(order, [0, 1, 0, 0, 0, 0]);
    }
}
