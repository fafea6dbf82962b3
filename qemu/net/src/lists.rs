//! Doubly linked lists over pool indexes, without allocation.
//!
//! Invariants: NET-LIST (an index is in at most one list; the lists share one
//! pair of links per index, and unlinking checks which list it is in).

use alloc::vec::Vec;

/// "No index"; pools are smaller.
const NONE: u16 = u16::MAX;

/// Which list an index is in. The number is the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListName(pub(crate) u16);

#[derive(Debug, Clone, Copy)]
struct Links {
    previous: u16,
    next: u16,
    list: Option<ListName>,
}

/// One list's ends. Its members are linked in the shared [`Lists`].
#[derive(Debug, Clone, Copy)]
struct Ends {
    first: u16,
    last: u16,
    len: u16,
}

/// All lists over one pool.
#[derive(Debug)]
pub(crate) struct Lists {
    links: Vec<Links>,
    ends: Vec<Ends>,
    /// Of all lists together.
    members: u16,
    faults: u64,
}

impl Lists {
    /// `lists` empty lists over indexes below `indexes`.
    pub(crate) fn new(indexes: u16, lists: u16) -> Self {
        let unlinked = Links {
            previous: NONE,
            next: NONE,
            list: None,
        };
        let empty = Ends {
            first: NONE,
            last: NONE,
            len: 0,
        };
        Self {
            links: alloc::vec![unlinked; usize::from(indexes)],
            ends: alloc::vec![empty; usize::from(lists)],
            members: 0,
            faults: 0,
        }
    }

    fn ends(&mut self, list: ListName) -> Option<&mut Ends> {
        self.ends.get_mut(usize::from(list.0))
    }

    fn link(&mut self, index: u16) -> Option<&mut Links> {
        self.links.get_mut(usize::from(index))
    }

    /// Moves `index` to the end of `list`, out of whichever list it was in.
    pub(crate) fn append(&mut self, list: ListName, index: u16) {
        self.unlink(index);
        let Some(ends) = self.ends(list) else { return };
        let last = ends.last;
        ends.last = index;
        ends.len = ends.len.saturating_add(1);
        if last == NONE {
            ends.first = index;
        } else if let Some(links) = self.link(last) {
            links.next = index;
        }
        if let Some(links) = self.link(index) {
            *links = Links {
                previous: last,
                next: NONE,
                list: Some(list),
            };
            self.members = self.members.saturating_add(1);
        }
    }

    /// Takes `index` out of the list that it is in, if any.
    pub(crate) fn unlink(&mut self, index: u16) {
        let Some(links) = self.link(index) else {
            return;
        };
        let Links {
            previous,
            next,
            list: Some(list),
        } = *links
        else {
            return;
        };
        *links = Links {
            previous: NONE,
            next: NONE,
            list: None,
        };
        if let Some(before) = self.link(previous) {
            before.next = next;
        }
        if let Some(after) = self.link(next) {
            after.previous = previous;
        }
        if let Some(ends) = self.ends(list) {
            if ends.first == index {
                ends.first = next;
            }
            if ends.last == index {
                ends.last = previous;
            }
            let is_counted = take_one(&mut ends.len);
            if !(take_one(&mut self.members) && is_counted) {
                self.faults = self.faults.saturating_add(1);
            }
        }
    }

    /// The oldest member.
    pub(crate) fn first(&self, list: ListName) -> Option<u16> {
        let ends = self.ends.get(usize::from(list.0))?;
        (ends.first != NONE).then_some(ends.first)
    }

    /// Takes the oldest member out.
    pub(crate) fn pop_first(&mut self, list: ListName) -> Option<u16> {
        let first = self.first(list)?;
        self.unlink(first);
        Some(first)
    }

    /// Takes the newest member out.
    pub(crate) fn pop_last(&mut self, list: ListName) -> Option<u16> {
        let last = self.ends.get(usize::from(list.0))?.last;
        self.link(last)?;
        self.unlink(last);
        Some(last)
    }

    /// How many members.
    pub(crate) fn len(&self, list: ListName) -> u16 {
        self.ends
            .get(usize::from(list.0))
            .map_or(0, |ends| ends.len)
    }

    /// Whether no list has a member.
    pub(crate) fn are_empty(&self) -> bool {
        self.members == 0
    }

    /// Members that were taken out of lists that counted none; always zero.
    pub(crate) fn faults(&self) -> u64 {
        self.faults
    }

    /// Which list `index` is in.
    pub(crate) fn list_of(&self, index: u16) -> Option<ListName> {
        self.links.get(usize::from(index)).and_then(|l| l.list)
    }
}

/// Takes one off a gauge; false, and without effect, if it counts none, which no peer and no
/// process can bring about. Fails a debug build.
#[must_use]
pub(crate) fn take_one(gauge: &mut u16) -> bool {
    let left = gauge.checked_sub(1);
    debug_assert!(left.is_some(), "more were taken than were counted");
    if let Some(left) = left {
        *gauge = left;
    }
    left.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_as_queues(ops in proptest::collection::vec((0_u16..3, 0_u16..8, 0_u8..4), 0..200)) {
            let mut lists = Lists::new(8, 3);
            let mut model = [VecDeque::new(), VecDeque::new(), VecDeque::new()];
            for (list, index, op) in ops {
                match op {
                    0 => {
                        for queue in &mut model { queue.retain(|&i| i != index); }
                        model[usize::from(list)].push_back(index);
                        lists.append(ListName(list), index);
                    }
                    1 => {
                        for queue in &mut model { queue.retain(|&i| i != index); }
                        lists.unlink(index);
                    }
                    2 => prop_assert_eq!(lists.pop_last(ListName(list)), model[usize::from(list)].pop_back()),
                    _ => prop_assert_eq!(lists.pop_first(ListName(list)), model[usize::from(list)].pop_front()),
                }
                for (name, queue) in (0..).zip(&model) {
                    prop_assert_eq!(usize::from(lists.len(ListName(name))), queue.len());
                    prop_assert_eq!(lists.first(ListName(name)), queue.front().copied());
                }
                prop_assert_eq!(lists.are_empty(), model.iter().all(VecDeque::is_empty));
            }
        }
    }
}
