//! Who has something to report: one list per transport, served in turn, so
//! that one transport's events cannot delay another's by more than one.
//!
//! Invariants: NET-EVENT (an object stands in at most one list, once, and
//! leaves it when its connection ends: what takes its place is announced among
//! its own transport's).

use crate::config::{LISTENERS_MAX, TRANSPORTS_MAX};
use crate::ids::TransportId;
use crate::lists::{ListName, Lists};

/// What stands in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Socket(u16),
    Listener(u8),
}

/// The lists. Listeners are numbered behind the sockets.
#[derive(Debug)]
pub(crate) struct Ready {
    lists: Lists,
    sockets: u16,
    turn: usize,
}

impl Ready {
    /// Empty lists for `sockets` sockets and every listener.
    pub(crate) fn new(sockets: u16) -> Self {
        let listeners = u16::try_from(LISTENERS_MAX).unwrap_or(u16::MAX);
        Self {
            lists: Lists::new(
                sockets.saturating_add(listeners),
                u16::try_from(TRANSPORTS_MAX).unwrap_or(u16::MAX),
            ),
            sockets,
            turn: 0,
        }
    }

    fn index(&self, source: Source) -> u16 {
        match source {
            Source::Socket(index) => index,
            Source::Listener(index) => self.sockets.saturating_add(u16::from(index)),
        }
    }

    /// Puts `source` last in its transport's list, unless it is in one.
    pub(crate) fn push(&mut self, transport: TransportId, source: Source) {
        let index = self.index(source);
        if self.lists.list_of(index).is_none() {
            self.lists.append(ListName(u16::from(transport.0)), index);
        }
    }

    /// Takes `source` out of whatever list it is in.
    pub(crate) fn remove(&mut self, source: Source) {
        self.lists.unlink(self.index(source));
    }

    /// Takes the first of the next transport in turn that has any.
    pub(crate) fn pop(&mut self) -> Option<(TransportId, Source)> {
        // Every poll asks until there is none.
        if self.lists.are_empty() {
            return None;
        }
        for _ in 0..TRANSPORTS_MAX {
            let at = u8::try_from(self.turn).ok()?;
            let next = self.turn.wrapping_add(1);
            self.turn = if next >= TRANSPORTS_MAX { 0 } else { next };
            if let Some(index) = self.lists.pop_first(ListName(u16::from(at))) {
                let source = match index.checked_sub(self.sockets) {
                    Some(listener) => Source::Listener(u8::try_from(listener).ok()?),
                    None => Source::Socket(index),
                };
                return Some((TransportId(at), source));
            }
        }
        None
    }

    /// Members that were taken out of lists that counted none; always zero.
    pub(crate) fn faults(&self) -> u64 {
        self.lists.faults()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn transports_take_turns() {
        let mut ready = Ready::new(10);
        for index in 0..5 {
            ready.push(TransportId(0), Source::Socket(index));
            ready.push(TransportId(1), Source::Socket(index)); // in a list already
        }
        ready.push(TransportId(1), Source::Socket(9));
        ready.push(TransportId(1), Source::Listener(3));
        let order: Vec<_> = core::iter::from_fn(|| ready.pop())
            .map(|(t, _)| t.0)
            .collect();
        assert_eq!(order, [0, 1, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn who_is_gone_is_announced_anew_elsewhere() {
        let mut ready = Ready::new(10);
        ready.push(TransportId(0), Source::Socket(4));
        ready.push(TransportId(0), Source::Listener(4));
        ready.remove(Source::Socket(4));
        ready.push(TransportId(2), Source::Socket(4));
        let order: Vec<_> = core::iter::from_fn(|| ready.pop()).collect();
        let expected = [
            (TransportId(0), Source::Listener(4)),
            (TransportId(2), Source::Socket(4)),
        ];
        assert_eq!(order, expected);
    }
}
