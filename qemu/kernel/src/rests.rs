//! Cards that bring more than one turn can take rest for as long as that turn took, so that
//! the processes have at least as much of the processor as a flood has (keeps
//! KERNEL-FAIR-CARDS).
//!
//! ```text
//!   turn: budget used up in d ──► its cards are not received from for d ──► turn ...
//!                                 nobody wants the processor: the rest is over at once
//! ```
//! What arrives meanwhile waits in the card, and where that is full, before it. The other
//! cards, and what stays inside a transport, have their turns as ever.

use harness_net::{TRANSPORTS_MAX, TransportId, TransportSet};

/// The longest rest: one turn in which the machine stood still must not close a card.
const REST_NANOSECONDS_MAX: u64 = 20_000_000;

/// When each transport's card may be received from again.
#[derive(Debug, Default)]
pub struct Rests {
    until: [u64; TRANSPORTS_MAX],
}

impl Rests {
    /// The transports whose card rests at `now`.
    #[must_use]
    pub fn at(&self, now: u64) -> TransportSet {
        transports()
            .zip(self.until)
            .filter(|(_, until)| *until > now)
            .fold(TransportSet::EMPTY, |set, (transport, _)| {
                set.with(transport)
            })
    }

    /// After a turn from `begun` to `ended` that used up the budget of `exhausted`.
    pub fn after_turn(&mut self, exhausted: TransportSet, begun: u64, ended: u64) {
        let took = ended.saturating_sub(begun).min(REST_NANOSECONDS_MAX);
        for (transport, until) in transports().zip(&mut self.until) {
            if exhausted.contains(transport) {
                *until = ended.saturating_add(took);
            }
        }
    }

    /// When the next rest after `now` is over, if there is one.
    #[must_use]
    pub fn next_end(&self, now: u64) -> Option<u64> {
        self.until.into_iter().filter(|until| *until > now).min()
    }

    /// Ends every rest: the processor has nothing better to do.
    pub fn end(&mut self) {
        *self = Self::default();
    }
}

fn transports() -> impl Iterator<Item = TransportId> {
    (0..=u8::MAX).map(TransportId)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLIC: TransportId = TransportId(1);
    const PROVIDER: TransportId = TransportId(2);

    #[test]
    fn a_card_rests_as_long_as_its_turn_took_and_the_others_do_not() {
        let mut rests = Rests::default();
        rests.after_turn(TransportSet::EMPTY.with(PUBLIC), 1_000, 4_000);
        assert!(rests.at(6_999).contains(PUBLIC));
        assert!(!rests.at(6_999).contains(PROVIDER));
        assert_eq!(rests.next_end(4_000), Some(7_000));
        assert_eq!(rests.at(7_000), TransportSet::EMPTY);
        assert_eq!(rests.next_end(7_000), None);
    }

    #[test]
    fn a_machine_that_stood_still_closes_no_card_for_long() {
        let mut rests = Rests::default();
        rests.after_turn(TransportSet::EMPTY.with(PUBLIC), 0, u64::MAX / 2);
        let end = u64::MAX / 2 + REST_NANOSECONDS_MAX;
        assert_eq!(rests.next_end(u64::MAX / 2), Some(end));
    }

    #[test]
    fn an_idle_processor_ends_every_rest() {
        let mut rests = Rests::default();
        let both = TransportSet::EMPTY.with(PUBLIC).with(PROVIDER);
        rests.after_turn(both, 0, 10);
        rests.end();
        assert_eq!(rests.at(10), TransportSet::EMPTY);
    }
}
