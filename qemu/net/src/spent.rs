//! Which handshake cookies have been used.
//!
//! Invariants: NET-COOKIE (a cookie opens one connection, and no other port's
//! handshakes make it forgotten).

use crate::config::TRANSPORTS_MAX;
use crate::flow::FlowKey;
use crate::siphash::{self, Key};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Cookies that have opened a connection. Each opens one: a segment that was on
/// its way when the connection was reset must not open it anew.
///
/// A fixed table for each port, so that what one card brings makes nothing of
/// another's forgotten; a cookie is forgotten once another of its port falls into
/// its place, some thousand connections later.
#[derive(Debug)]
pub(crate) struct SpentCookies {
    marks: Vec<Box<[u64]>>,
    key: Key,
}

/// Places in a port's table of spent cookies, a power of two.
const SPENT_PLACES: usize = 2_048;

impl SpentCookies {
    /// No ports yet.
    pub(crate) fn new(key: Key) -> Self {
        Self {
            marks: Vec::with_capacity(TRANSPORTS_MAX.saturating_mul(2)),
            key,
        }
    }

    /// Adds the table of the next port.
    pub(crate) fn add_port(&mut self) {
        self.marks
            .push(alloc::vec![0; SPENT_PLACES].into_boxed_slice());
    }

    fn mark(&self, flow: FlowKey, cookie: u32) -> (u64, usize) {
        let [addresses, ports] = flow.words();
        let hash = siphash::hash(self.key, [addresses, ports, u64::from(cookie)]);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "masked to the table's size"
        )]
        let place = hash as usize & SPENT_PLACES.wrapping_sub(1);
        (hash | 1, place)
    }

    /// Whether the cookie has opened a connection lately.
    pub(crate) fn contains(&self, flow: FlowKey, cookie: u32) -> bool {
        let (mark, place) = self.mark(flow, cookie);
        let table = self.marks.get(usize::from(flow.port.0));
        table.is_some_and(|table| table.get(place) == Some(&mark))
    }
    /// Notes that it has.
    pub(crate) fn insert(&mut self, flow: FlowKey, cookie: u32) {
        let (mark, place) = self.mark(flow, cookie);
        let table = self.marks.get_mut(usize::from(flow.port.0));
        if let Some(slot) = table.and_then(|table| table.get_mut(place)) {
            *slot = mark;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{PortIndex, example_flow as flow};

    fn spent() -> SpentCookies {
        let mut spent = SpentCookies::new([5, 6]);
        (0..3).for_each(|_| spent.add_port());
        spent
    }

    #[test]
    fn spent_cookies_are_told_from_others() {
        let mut spent = spent();
        spent.insert(flow(), 1_000);
        assert!(spent.contains(flow(), 1_000));
        assert!(!spent.contains(flow(), 1_001));
        let other = FlowKey {
            remote_port: 40_001,
            ..flow()
        };
        assert!(!spent.contains(other, 1_000));
    }

    #[test]
    fn what_one_port_brings_makes_nothing_of_another_forgotten() {
        let mut spent = spent();
        spent.insert(flow(), 1_000);
        let public = FlowKey {
            port: PortIndex(2),
            ..flow()
        };
        for cookie in 0..100_000 {
            spent.insert(public, cookie);
        }
        assert!(spent.contains(flow(), 1_000));
    }
}
