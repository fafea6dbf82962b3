//! One deadline per socket, in an indexed binary heap: setting, moving and
//! clearing cost O(log n), the earliest is at the top, nothing is allocated.
//!
//! Invariants: NET-TIMER (an index is in the heap at most once, and its
//! recorded position is where it stands).

use crate::time::Instant;
use alloc::vec::Vec;

const NOWHERE: u16 = u16::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    due: Instant,
    index: u16,
}

/// The deadlines of one pool.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: Vec<Entry>,
    positions: Vec<u16>,
}

impl Timers {
    /// No deadlines yet, for indexes below `indexes`.
    pub(crate) fn new(indexes: u16) -> Self {
        Self {
            heap: Vec::with_capacity(usize::from(indexes)),
            positions: alloc::vec![NOWHERE; usize::from(indexes)],
        }
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.heap.first().map(|entry| entry.due)
    }

    /// Sets, moves or (with `None`) clears the deadline of `index`.
    pub(crate) fn set(&mut self, index: u16, due: Option<Instant>) {
        let Some(&position) = self.positions.get(usize::from(index)) else {
            return;
        };
        match (position, due) {
            (NOWHERE, None) => {}
            (NOWHERE, Some(due)) => {
                let at = self.heap.len();
                self.heap.push(Entry { due, index });
                self.record(at);
                self.rise(at);
            }
            (at, Some(due)) => {
                let at = usize::from(at);
                let Some(entry) = self.heap.get_mut(at) else {
                    return;
                };
                let before = core::mem::replace(&mut entry.due, due);
                if due < before {
                    self.rise(at);
                } else {
                    self.sink(at);
                }
            }
            (at, None) => self.take(usize::from(at)),
        }
    }

    /// Takes out an index whose deadline is at or before `now`, earliest first.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<u16> {
        let first = *self.heap.first()?;
        if first.due > now {
            return None;
        }
        self.take(0);
        Some(first.index)
    }

    fn take(&mut self, at: usize) {
        let Some(last) = self.heap.len().checked_sub(1) else {
            return;
        };
        self.heap.swap(at, last);
        if let Some(entry) = self.heap.pop()
            && let Some(position) = self.positions.get_mut(usize::from(entry.index))
        {
            *position = NOWHERE;
        }
        if at < last {
            self.record(at);
            self.rise(at);
            self.sink(at);
        }
    }

    fn record(&mut self, at: usize) {
        if let Some(entry) = self.heap.get(at)
            && let Some(position) = self.positions.get_mut(usize::from(entry.index))
        {
            *position = u16::try_from(at).unwrap_or(NOWHERE);
        }
    }

    fn due(&self, at: usize) -> Option<Instant> {
        self.heap.get(at).map(|entry| entry.due)
    }

    fn swap(&mut self, left: usize, right: usize) {
        self.heap.swap(left, right);
        self.record(left);
        self.record(right);
    }

    fn rise(&mut self, mut at: usize) {
        while let Some(parent) = at.checked_sub(1).map(|below| below >> 1) {
            if self.due(parent) <= self.due(at) {
                return;
            }
            self.swap(parent, at);
            at = parent;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let left = at.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let Some(mut least) = self.due(left).map(|_| left) else {
                return;
            };
            if self
                .due(right)
                .is_some_and(|due| Some(due) < self.due(left))
            {
                least = right;
            }
            if self.due(at) <= self.due(least) {
                return;
            }
            self.swap(at, least);
            at = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_as_a_map_with_minimum(ops in proptest::collection::vec((0_u16..12, proptest::option::of(0_u64..50)), 0..300)) {
            let mut timers = Timers::new(12);
            let mut model = [None; 12];
            for (index, due) in ops {
                timers.set(index, due.map(Instant::from_nanos));
                model[usize::from(index)] = due;
                prop_assert_eq!(timers.next().map(Instant::nanos), model.iter().flatten().min().copied());
            }
            let mut last = 0;
            while let Some(index) = timers.pop_due(Instant::from_nanos(49)) {
                let due = model[usize::from(index)].take().unwrap();
                prop_assert!(due >= last);
                last = due;
            }
            prop_assert!(model.iter().all(Option::is_none));
        }
    }
}
