//! Doubly linked lists through a table of connections: every operation O(1), no allocation, all zero
//! when empty.

use crate::ids::Link;

/// The two ends of one list.
#[derive(Debug, Clone, Copy)]
struct Ends {
    first: Link,
    last: Link,
}

/// One entry's neighbours, and the list that it is on.
#[derive(Debug, Clone, Copy)]
struct Entry {
    next: Link,
    previous: Link,
    list: Link,
}

/// `LISTS` lists over the same `N` entries; an entry is on one of them at most.
#[derive(Debug)]
pub(crate) struct Chains<const N: usize, const LISTS: usize> {
    entries: [Entry; N],
    ends: [Ends; LISTS],
}

impl<const N: usize, const LISTS: usize> Chains<N, LISTS> {
    /// Every list empty.
    pub(crate) const fn new() -> Self {
        Self {
            entries: [Entry {
                next: Link::NONE,
                previous: Link::NONE,
                list: Link::NONE,
            }; N],
            ends: [Ends {
                first: Link::NONE,
                last: Link::NONE,
            }; LISTS],
        }
    }

    /// The oldest entry of a list.
    pub(crate) fn first(&self, list: u16) -> Option<u16> {
        self.ends.get(usize::from(list))?.first.index()
    }

    /// The list that an entry is on.
    pub(crate) fn list_of(&self, entry: u16) -> Option<u16> {
        self.entries.get(usize::from(entry))?.list.index()
    }

    /// Puts an entry at the end of a list, taking it off the one that it is on.
    pub(crate) fn push(&mut self, list: u16, entry: u16) {
        self.remove(entry);
        let Some(ends) = self.ends.get_mut(usize::from(list)) else {
            return;
        };
        let Some(own) = self.entries.get_mut(usize::from(entry)) else {
            return;
        };
        let last = ends.last;
        *own = Entry {
            next: Link::NONE,
            previous: last,
            list: Link::to(list),
        };
        ends.last = Link::to(entry);
        match last
            .index()
            .and_then(|last| self.entries.get_mut(usize::from(last)))
        {
            Some(last) => last.next = Link::to(entry),
            None => ends.first = Link::to(entry),
        }
    }

    /// Takes an entry off the list that it is on, if it is on one.
    pub(crate) fn remove(&mut self, entry: u16) {
        let Some(own) = self.entries.get_mut(usize::from(entry)) else {
            return;
        };
        let Some(list) = own.list.index() else { return };
        let Entry { next, previous, .. } = *own;
        *own = Entry {
            next: Link::NONE,
            previous: Link::NONE,
            list: Link::NONE,
        };
        let Some(ends) = self.ends.get_mut(usize::from(list)) else {
            return;
        };
        match previous
            .index()
            .and_then(|previous| self.entries.get_mut(usize::from(previous)))
        {
            Some(previous) => previous.next = next,
            None => ends.first = next,
        }
        match next
            .index()
            .and_then(|next| self.entries.get_mut(usize::from(next)))
        {
            Some(next) => next.previous = previous,
            None => ends.last = previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(chains: &mut Chains<8, 2>, list: u16) -> Vec<u16> {
        let mut found = Vec::new();
        while let Some(entry) = chains.first(list) {
            chains.remove(entry);
            found.push(entry);
        }
        found
    }

    #[test]
    fn lists_keep_arrival_order_and_lose_any_entry() {
        let mut chains = Chains::<8, 2>::new();
        for entry in 0..8 {
            chains.push(0, entry);
        }
        for entry in [3, 0, 7, 3] {
            chains.remove(entry);
        }
        chains.push(1, 5);
        chains.push(0, 3);
        assert_eq!(chains.list_of(5), Some(1));
        assert_eq!(chains.list_of(0), None);
        assert_eq!(drain(&mut chains, 0), [1, 2, 4, 6, 3]);
        assert_eq!(drain(&mut chains, 1), [5]);
    }

    #[test]
    fn entries_outside_the_table_are_ignored() {
        let mut chains = Chains::<8, 2>::new();
        chains.push(0, 8);
        chains.push(2, 1);
        chains.remove(9);
        assert_eq!((chains.first(0), chains.first(2)), (None, None));
    }
}
