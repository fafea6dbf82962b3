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
                let entry = Entry { due, index };
                self.heap.push(entry);
                self.rise(at, entry);
            }
            (at, Some(due)) => self.replace(usize::from(at), Entry { due, index }),
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
        let gone = self.heap.get(at).copied();
        let (Some(gone), Some(last)) = (gone, self.heap.pop()) else {
            return;
        };
        if at < self.heap.len() {
            self.replace(at, last);
        }
        if let Some(position) = self.positions.get_mut(usize::from(gone.index)) {
            *position = NOWHERE;
        }
    }

    /// Puts `entry` where another one was, and from there to where it belongs.
    fn replace(&mut self, at: usize, entry: Entry) {
        let Some(before) = self.heap.get(at) else {
            return;
        };
        if entry.due < before.due {
            self.rise(at, entry);
        } else {
            self.sink(at, entry);
        }
    }

    fn put(&mut self, at: usize, entry: Entry) {
        if let Some(place) = self.heap.get_mut(at)
            && let Some(position) = self.positions.get_mut(usize::from(entry.index))
        {
            *place = entry;
            *position = u16::try_from(at).unwrap_or(NOWHERE);
        }
    }

    /// Moves later ones down from above a hole at `at`, until `entry` may fill it.
    fn rise(&mut self, mut at: usize, entry: Entry) {
        while let Some(parent) = at.checked_sub(1).map(|below| below >> 1)
            && let Some(&above) = self.heap.get(parent)
            && entry.due < above.due
        {
            self.put(at, above);
            at = parent;
        }
        self.put(at, entry);
    }

    /// Moves earlier ones up from below a hole at `at`, until `entry` may fill it.
    fn sink(&mut self, mut at: usize, entry: Entry) {
        loop {
            let left = at.saturating_mul(2).saturating_add(1);
            let right = left.saturating_add(1);
            let Some(&(mut least)) = self.heap.get(left) else {
                break;
            };
            let mut place = left;
            if let Some(&other) = self.heap.get(right)
                && other.due < least.due
            {
                (least, place) = (other, right);
            }
            if entry.due <= least.due {
                break;
            }
            self.put(at, least);
            at = place;
        }
        self.put(at, entry);
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
