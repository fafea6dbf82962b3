//! The flow table: which socket a segment belongs to, found without looking at
//! any other socket.
//!
//! Invariants: NET-FLOW (a key is registered at most once; a lookup walks one
//! chain whose expected length is below one, whatever addresses peers choose).

use crate::siphash::{self, Key};
use alloc::vec::Vec;
use core::net::Ipv4Addr;

const NONE: u16 = u16::MAX;

/// One side of a transport: the card itself, or its inside loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PortIndex(pub(crate) u8);

/// A connection as seen from here: `local` is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowKey {
    pub(crate) port: PortIndex,
    pub(crate) local: Ipv4Addr,
    pub(crate) local_port: u16,
    pub(crate) remote: Ipv4Addr,
    pub(crate) remote_port: u16,
}

impl FlowKey {
    /// The key in two words, for hashing.
    pub(crate) fn words(self) -> [u64; 2] {
        let addresses = (u64::from(self.local.to_bits()) << 32) | u64::from(self.remote.to_bits());
        let ports = (u64::from(self.port.0) << 32)
            | (u64::from(self.local_port) << 16)
            | u64::from(self.remote_port);
        [addresses, ports]
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: Option<FlowKey>,
    next: u16,
}

/// A chained hash table over pool indexes, as many buckets as sockets or more.
#[derive(Debug)]
pub(crate) struct FlowTable {
    buckets: Vec<u16>,
    entries: Vec<Entry>,
    key: Key,
}

impl FlowTable {
    /// A table for pool indexes below `indexes`.
    pub(crate) fn new(indexes: u16, key: Key) -> Self {
        let buckets = usize::from(indexes).next_power_of_two().saturating_mul(2);
        Self {
            buckets: alloc::vec![NONE; buckets],
            entries: alloc::vec![Entry { key: None, next: NONE }; usize::from(indexes)],
            key,
        }
    }

    fn bucket(&self, key: FlowKey) -> usize {
        let mask = self.buckets.len().wrapping_sub(1);
        // Only the low bits are used, so cutting the hash loses nothing.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "masked to the table's size"
        )]
        let hash = siphash::hash(self.key, key.words()) as usize;
        hash & mask
    }

    fn entry(&self, index: u16) -> Option<Entry> {
        self.entries.get(usize::from(index)).copied()
    }

    /// The pool index registered for `key`.
    pub(crate) fn find(&self, key: FlowKey) -> Option<u16> {
        let mut at = *self.buckets.get(self.bucket(key))?;
        while let Some(entry) = self.entry(at) {
            if entry.key == Some(key) {
                return Some(at);
            }
            at = entry.next;
        }
        None
    }

    /// Registers `key` for `index`, which must not be registered, nor the key.
    pub(crate) fn insert(&mut self, key: FlowKey, index: u16) {
        debug_assert!(self.find(key).is_none(), "flow registered twice");
        let bucket = self.bucket(key);
        let Some(head) = self.buckets.get_mut(bucket) else {
            return;
        };
        let Some(entry) = self.entries.get_mut(usize::from(index)) else {
            return;
        };
        debug_assert!(entry.key.is_none(), "socket registered twice");
        *entry = Entry {
            key: Some(key),
            next: *head,
        };
        *head = index;
    }

    /// Forgets the key of `index`, if it has one.
    pub(crate) fn remove(&mut self, index: u16) {
        let Some(Entry {
            key: Some(key),
            next,
        }) = self.entry(index)
        else {
            return;
        };
        let bucket = self.bucket(key);
        let Some(head) = self.buckets.get_mut(bucket) else {
            return;
        };
        if *head == index {
            *head = next;
        } else {
            let mut at = *head;
            while let Some(entry) = self.entries.get_mut(usize::from(at)) {
                if entry.next == index {
                    entry.next = next;
                    break;
                }
                at = entry.next;
            }
        }
        if let Some(entry) = self.entries.get_mut(usize::from(index)) {
            *entry = Entry {
                key: None,
                next: NONE,
            };
        }
    }
}

/// The flow that tests of this crate speak of: a client's to the public port.
#[cfg(test)]
pub(crate) fn example_flow() -> FlowKey {
    FlowKey {
        port: PortIndex(1),
        local: Ipv4Addr::new(10, 0, 2, 15),
        local_port: 8080,
        remote: Ipv4Addr::new(10, 0, 2, 2),
        remote_port: 40_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(n: u16) -> FlowKey {
        FlowKey {
            port: PortIndex(0),
            local: Ipv4Addr::new(10, 0, 2, 15),
            local_port: 8080,
            remote: Ipv4Addr::new(10, 0, 2, 2),
            remote_port: n,
        }
    }

    proptest! {
        #[test]
        fn behaves_as_a_map(ops in proptest::collection::vec((0_u16..64, 0_u16..16), 0..400)) {
            let mut table = FlowTable::new(16, [7, 9]);
            let mut model = [None; 16];
            for (port, index) in ops {
                let slot = usize::from(index);
                if model[slot].is_some() {
                    table.remove(index);
                    model[slot] = None;
                } else if !model.contains(&Some(port)) {
                    table.insert(key(port), index);
                    model[slot] = Some(port);
                }
                for probe in 0..64 {
                    let expected = model.iter().position(|&p| p == Some(probe));
                    prop_assert_eq!(table.find(key(probe)).map(usize::from), expected);
                }
            }
        }
    }
}
