//! Which handshake cookies have been used.
//!
//! Invariants: NET-COOKIE (a cookie opens one connection).

use crate::flow::FlowKey;
use crate::siphash::{self, Key};
use alloc::vec::Vec;

/// Cookies that have opened a connection. Each opens one: a segment that was on
/// its way when the connection was reset must not open it anew.
///
/// A fixed table; a cookie is forgotten once another falls into its place, which
/// by then is some thousand connections later.
#[derive(Debug)]
pub(crate) struct SpentCookies {
    marks: Vec<u64>,
    key: Key,
}

/// Places in the table of spent cookies, a power of two.
const SPENT_PLACES: usize = 4_096;

impl SpentCookies {
    /// An empty table.
    pub(crate) fn new(key: Key) -> Self {
        Self {
            marks: alloc::vec![0; SPENT_PLACES],
            key,
        }
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
        self.marks.get(place) == Some(&mark)
    }

    /// Notes that it has.
    pub(crate) fn insert(&mut self, flow: FlowKey, cookie: u32) {
        let (mark, place) = self.mark(flow, cookie);
        if let Some(slot) = self.marks.get_mut(place) {
            *slot = mark;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::example_flow as flow;

    #[test]
    fn spent_cookies_are_told_from_others() {
        let mut spent = SpentCookies::new([5, 6]);
        spent.insert(flow(), 1_000);
        assert!(spent.contains(flow(), 1_000));
        assert!(!spent.contains(flow(), 1_001));
        let other = FlowKey {
            remote_port: 40_001,
            ..flow()
        };
        assert!(!spent.contains(other, 1_000));
    }
}
