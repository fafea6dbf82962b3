//! What has become possible, in the order that it shall be looked at.
//!
//! Keeps KERNEL-FAIR-COMPLETION: a process's ready objects wait in one list for
//! each transport, and are taken from the lists in turn, so that what a
//! protected transport has ready waits for at most one object of each other
//! transport, however many those have.
//!
//! The lists run through a fixed table of nodes: nothing is allocated, an
//! object is in one list at most, and leaves it in constant time.

use alloc::boxed::Box;
use alloc::vec;

/// An object's place in the table, chosen by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeIndex(pub u16);

/// One list: of one process, for one transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListIndex {
    /// Process slot.
    pub process: usize,
    /// Transport.
    pub transport: usize,
}

#[derive(Clone, Copy)]
struct Node {
    list: Option<u16>,
    previous: Option<u16>,
    next: Option<u16>,
}

#[derive(Clone, Copy)]
struct Ends {
    first: Option<u16>,
    last: Option<u16>,
}

/// All lists.
pub struct ReadyLists {
    nodes: Box<[Node]>,
    lists: Box<[Ends]>,
    turns: Box<[usize]>,
    transports: usize,
}

impl ReadyLists {
    /// Lists for so many objects, processes and transports.
    #[must_use]
    pub fn new(nodes: usize, processes: usize, transports: usize) -> Self {
        let empty = Ends {
            first: None,
            last: None,
        };
        let unlisted = Node {
            list: None,
            previous: None,
            next: None,
        };
        Self {
            nodes: vec![unlisted; nodes].into_boxed_slice(),
            lists: vec![empty; processes.saturating_mul(transports)].into_boxed_slice(),
            turns: vec![0; processes].into_boxed_slice(),
            transports,
        }
    }

    /// Appends `node` to `list`; nothing changes if it is in a list already.
    pub fn push(&mut self, list: ListIndex, node: NodeIndex) {
        let Some(list) = self.position(list) else {
            return;
        };
        let Some(last) = self.lists.get(usize::from(list)).map(|ends| ends.last) else {
            return;
        };
        let Some(entry) = self.nodes.get_mut(usize::from(node.0)) else {
            return;
        };
        if entry.list.is_some() {
            return;
        }
        *entry = Node {
            list: Some(list),
            previous: last,
            next: None,
        };
        match last.and_then(|last| self.nodes.get_mut(usize::from(last))) {
            Some(before) => before.next = Some(node.0),
            None => self.set_first(list, Some(node.0)),
        }
        self.set_last(list, Some(node.0));
    }

    /// Takes `node` out of whatever list it is in.
    pub fn remove(&mut self, node: NodeIndex) {
        let Some(entry) = self.nodes.get_mut(usize::from(node.0)) else {
            return;
        };
        let Some(list) = entry.list.take() else {
            return;
        };
        let (previous, next) = (entry.previous.take(), entry.next.take());
        match previous.and_then(|previous| self.nodes.get_mut(usize::from(previous))) {
            Some(before) => before.next = next,
            None => self.set_first(list, next),
        }
        match next.and_then(|next| self.nodes.get_mut(usize::from(next))) {
            Some(after) => after.previous = previous,
            None => self.set_last(list, previous),
        }
    }

    /// Takes the next ready object of `process`, transports in turn.
    pub fn pop(&mut self, process: usize) -> Option<NodeIndex> {
        let turn = self.turns.get(process).copied().unwrap_or(0);
        for step in 0..self.transports {
            let transport = turn.saturating_add(step).checked_rem(self.transports)?;
            let list = self.position(ListIndex { process, transport })?;
            let first = self
                .lists
                .get(usize::from(list))
                .and_then(|ends| ends.first);
            if let Some(first) = first {
                self.remove(NodeIndex(first));
                if let Some(slot) = self.turns.get_mut(process) {
                    *slot = transport.saturating_add(1);
                }
                return Some(NodeIndex(first));
            }
        }
        None
    }

    /// Whether `process` has anything ready.
    #[must_use]
    pub fn any(&self, process: usize) -> bool {
        let start = process.saturating_mul(self.transports);
        self.lists
            .iter()
            .skip(start)
            .take(self.transports)
            .any(|ends| ends.first.is_some())
    }

    fn position(&self, list: ListIndex) -> Option<u16> {
        if list.transport >= self.transports {
            return None;
        }
        let position = list
            .process
            .checked_mul(self.transports)?
            .checked_add(list.transport)?;
        u16::try_from(position).ok()
    }

    fn set_first(&mut self, list: u16, node: Option<u16>) {
        if let Some(ends) = self.lists.get_mut(usize::from(list)) {
            ends.first = node;
        }
    }

    fn set_last(&mut self, list: u16, node: Option<u16>) {
        if let Some(ends) = self.lists.get_mut(usize::from(list)) {
            ends.last = node;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(process: usize, transport: usize) -> ListIndex {
        ListIndex { process, transport }
    }

    fn drain(lists: &mut ReadyLists, process: usize) -> Vec<u16> {
        core::iter::from_fn(|| lists.pop(process).map(|node| node.0)).collect()
    }

    #[test]
    fn takes_transports_in_turn() {
        let mut lists = ReadyLists::new(100, 2, 3);
        for node in 0..20 {
            lists.push(list(1, 1), NodeIndex(node));
        }
        for node in 20..23 {
            lists.push(list(1, 2), NodeIndex(node));
        }
        lists.push(list(1, 0), NodeIndex(30));
        let order = drain(&mut lists, 1);
        assert_eq!(order.get(..7), Some(&[30, 0, 20, 1, 21, 2, 22][..]));
        assert_eq!(order.len(), 24);
        assert!(!lists.any(1));
    }

    #[test]
    fn a_newcomer_waits_for_one_of_each_other_transport() {
        let mut lists = ReadyLists::new(1_000, 1, 3);
        for node in 0..900 {
            lists.push(list(0, usize::from(node % 2)), NodeIndex(node));
        }
        for _ in 0..11 {
            lists.pop(0);
        }
        lists.push(list(0, 2), NodeIndex(999));
        let next: Vec<u16> = (0..3).filter_map(|_| lists.pop(0)).map(|n| n.0).collect();
        assert!(next.contains(&999));
    }

    #[test]
    fn keeps_processes_apart_and_pushes_once() {
        let mut lists = ReadyLists::new(10, 2, 2);
        lists.push(list(0, 0), NodeIndex(1));
        lists.push(list(0, 0), NodeIndex(1));
        lists.push(list(1, 0), NodeIndex(1));
        lists.push(list(1, 1), NodeIndex(2));
        assert_eq!(drain(&mut lists, 1), [2]);
        assert_eq!(drain(&mut lists, 0), [1]);
    }

    #[test]
    fn removes_from_front_middle_and_back() {
        for gone in 0..4_u16 {
            let mut lists = ReadyLists::new(10, 1, 1);
            for node in 0..4 {
                lists.push(list(0, 0), NodeIndex(node));
            }
            lists.remove(NodeIndex(gone));
            lists.remove(NodeIndex(gone));
            lists.push(list(0, 0), NodeIndex(9));
            let mut expected: Vec<u16> = (0..4).filter(|&node| node != gone).collect();
            expected.push(9);
            assert_eq!(drain(&mut lists, 0), expected);
        }
    }

    #[test]
    fn ignores_what_does_not_exist() {
        let mut lists = ReadyLists::new(2, 1, 1);
        lists.push(list(0, 1), NodeIndex(0));
        lists.push(list(5, 0), NodeIndex(0));
        lists.push(list(0, 0), NodeIndex(7));
        lists.remove(NodeIndex(7));
        assert_eq!(lists.pop(0), None);
        assert_eq!(lists.pop(9), None);
    }
}
