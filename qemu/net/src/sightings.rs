//! When the latest handshakes were answered: a hint, so that a connection knows
//! from its first segment on how far away its peer is.
//!
//! Half-open connections hold nothing all the same (NET-COOKIE): the table is of
//! one size, each place belongs to whoever was answered last, and a connection
//! whose place was taken measures its own first round trip later.

use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

const PLACES: usize = 256;

/// The answer with this initial number, and when it was sent; not if it was sent
/// twice, since it is not known then which one was acknowledged (Karn).
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    isn: u32,
    sent: Option<Instant>,
}

/// One transport's table. Initial numbers are keyed hashes, so that nobody can aim
/// at another's place.
#[derive(Debug)]
pub(crate) struct Sightings(Vec<Place>);

impl Sightings {
    pub(crate) fn new() -> Self {
        Self(alloc::vec![Place::default(); PLACES])
    }

    fn place(&mut self, isn: u32) -> Option<&mut Place> {
        let at = usize::try_from(isn).unwrap_or(0) % PLACES;
        self.0.get_mut(at)
    }

    /// An answer was sent.
    pub(crate) fn note(&mut self, isn: u32, now: Instant) {
        if let Some(place) = self.place(isn) {
            let sent = (place.isn != isn).then_some(now);
            *place = Place { isn, sent };
        }
    }

    /// The round trip of an answer that is acknowledged `now`, if it is known.
    pub(crate) fn take(&mut self, isn: u32, now: Instant) -> Option<Duration> {
        let place = self.place(isn).filter(|place| place.isn == isn)?;
        place.sent.take().map(|sent| now.since(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_timed_once_and_only_if_it_was_sent_once() {
        let mut sightings = Sightings::new();
        let at = Instant::from_millis;
        sightings.note(7, at(1));
        sightings.note(8, at(2));
        assert_eq!(sightings.take(7, at(5)), Some(Duration::from_millis(4)));
        assert_eq!(sightings.take(7, at(6)), None);
        sightings.note(8, at(3));
        assert_eq!(sightings.take(8, at(5)), None, "which answer was it?");
        sightings.note(9, at(1));
        sightings.note(9 + 256, at(2));
        assert_eq!(sightings.take(9, at(5)), None, "its place was taken");
    }
}
