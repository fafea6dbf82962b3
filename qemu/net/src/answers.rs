//! The latest answers to connection requests, for two conveniences: a connection
//! knows from its first segment on how far away its peer is, and an answer that
//! was lost is sent once more before the peer asks again, a second later.
//!
//! Half-open connections hold nothing all the same (NET-COOKIE): both tables are
//! of one size and belong to whoever came last. In a flood an entry lives too
//! short a time to be sent again, so that a flood is answered once a request.

use crate::classify::Arrival;
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::ids::TransportId;
use crate::replies;
use crate::stack::NetStack;
use crate::time::Instant;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

/// Answers that one transport remembers.
const PLACES: usize = 128;

/// When an answer that was not acknowledged is sent again. A peer farther away
/// acknowledges both, and nothing else comes of it.
const PATIENCE: Duration = Duration::from_millis(250);

/// Answers that one poll sends again, for each transport.
const REPEATS_PER_POLL: usize = 8;

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Fate {
    /// Sent once, then.
    SentOnce(Instant),
    /// Sent more than once: an acknowledgement does not say which (Karn).
    SentAgain,
    /// Acknowledged.
    #[default]
    Done,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    isn: u32,
    fate: Fate,
}

/// An answer as it is to be sent again.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    due: Instant,
    isn: u32,
    request: Arrival,
}

/// One transport's tables. Initial numbers are keyed hashes: nobody can aim at
/// another's place.
#[derive(Debug)]
pub(crate) struct Answers {
    places: Vec<Place>,
    waiting: VecDeque<Waiting>,
}

impl Answers {
    pub(crate) fn new() -> Self {
        Self {
            places: alloc::vec![Place::default(); PLACES],
            waiting: VecDeque::with_capacity(PLACES),
        }
    }

    fn place(&mut self, isn: u32) -> Option<&mut Place> {
        let at = usize::try_from(isn).unwrap_or(0) % PLACES;
        self.places.get_mut(at)
    }

    /// `request` was answered with the number `isn`.
    fn note(&mut self, request: Arrival, isn: u32, now: Instant) {
        if let Some(place) = self.place(isn) {
            let is_new = place.isn != isn || place.fate == Fate::Done;
            let fate = if is_new {
                Fate::SentOnce(now)
            } else {
                Fate::SentAgain
            };
            *place = Place { isn, fate };
        }
        if self.waiting.len() >= PLACES {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Waiting {
            due: now.after(PATIENCE),
            isn,
            request,
        });
    }

    /// An answer is acknowledged `now`: its round trip in nanoseconds, if that is known.
    fn acknowledged(&mut self, isn: u32, now: Instant) -> Option<u64> {
        let place = self.place(isn).filter(|place| place.isn == isn)?;
        match core::mem::take(&mut place.fate) {
            Fate::SentOnce(sent) => Some(now.nanos_since(sent)),
            Fate::SentAgain | Fate::Done => None,
        }
    }

    fn is_open(&self, isn: u32) -> bool {
        let at = usize::try_from(isn).unwrap_or(0) % PLACES;
        self.places
            .get(at)
            .is_some_and(|place| place.isn == isn && place.fate != Fate::Done)
    }

    /// The next answer to send again at `now`, and when the one after it is.
    fn next_repeat(&mut self, now: Instant) -> Result<(Arrival, u32), Option<Instant>> {
        while let Some(&first) = self.waiting.front() {
            let is_open = self.is_open(first.isn);
            if is_open && first.due > now {
                return Err(Some(first.due));
            }
            self.waiting.pop_front();
            if is_open {
                if let Some(place) = self.place(first.isn) {
                    place.fate = Fate::SentAgain;
                }
                return Ok((first.request, first.isn));
            }
        }
        Err(None)
    }
}

impl<D: FrameDevice> NetStack<D> {
    /// Sends the answer to a connection request; false without room for it.
    pub(crate) fn send_answer(&mut self, port: PortIndex, request: &Arrival, isn: u32) -> bool {
        let window = u16::try_from(self.config.rx_bytes).unwrap_or(u16::MAX);
        let Some(at) = self.ports.get_mut(usize::from(port.0)) else {
            return false;
        };
        let receiver = at.receiver;
        let length = replies::answer_len(receiver.medium);
        let has_room = at.link.can_transmit();
        if has_room {
            at.link.transmit(length, &mut self.scratch, |frame| {
                replies::write_answer(frame, &receiver, request, isn, window);
            });
            self.count(port, |counters| &mut counters.frames_sent);
        } else {
            self.count(port, |counters| &mut counters.frames_unsent);
        }
        has_room
    }

    /// Remembers that `request` was answered with the initial number `isn`.
    pub(crate) fn note_answer(&mut self, port: PortIndex, request: &Arrival, isn: u32) {
        let now = self.now;
        if let Some(answers) = self.answers_of(self.transport_of(port)) {
            answers.note(*request, isn, now);
        }
    }

    /// Whether the answer `isn` was sent lately, and not acknowledged.
    pub(crate) fn is_answered_lately(&self, port: PortIndex, isn: u32) -> bool {
        let transport = self.transport_of(port);
        self.transports
            .get(usize::from(transport.0))
            .is_some_and(|transport| transport.answers.is_open(isn))
    }

    /// The handshake of a connection took a round trip: perhaps its length is known.
    pub(crate) fn time_handshake(&mut self, port: PortIndex, index: u16, isn: u32) {
        let now = self.now;
        let round_trip = self
            .answers_of(self.transport_of(port))
            .and_then(|answers| answers.acknowledged(isn, now));
        let recovery = self
            .pool
            .slot_mut(index)
            .and_then(|slot| slot.recovery.as_mut());
        if let (Some(round_trip), Some(recovery)) = (round_trip, recovery) {
            recovery.sample(round_trip);
        }
    }

    /// Sends again the answers that were not acknowledged in time, a bounded
    /// number; when the next of them will be due.
    pub(crate) fn repeat_answers(&mut self) -> Option<Instant> {
        let now = self.now;
        let mut next: Option<Instant> = None;
        let count = u8::try_from(self.transports.len()).unwrap_or(u8::MAX);
        for transport in (0..count).map(TransportId) {
            for _ in 0..REPEATS_PER_POLL {
                let Some(answers) = self.answers_of(transport) else {
                    break;
                };
                match answers.next_repeat(now) {
                    Ok((request, isn)) => {
                        self.send_answer(request.key.port, &request, isn);
                    }
                    Err(due) => {
                        next = next.into_iter().chain(due).min();
                        break;
                    }
                }
            }
        }
        next
    }

    fn answers_of(&mut self, transport: TransportId) -> Option<&mut Answers> {
        let transport = self.transports.get_mut(usize::from(transport.0))?;
        Some(&mut transport.answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowKey;
    use crate::segment::{Flags, Segment};
    use core::net::Ipv4Addr;
    use smoltcp::wire::EthernetAddress;

    fn request() -> Arrival {
        let key = FlowKey {
            port: PortIndex(0),
            local: Ipv4Addr::LOCALHOST,
            local_port: 1,
            remote: Ipv4Addr::LOCALHOST,
            remote_port: 2,
        };
        let segment = Segment {
            flags: Flags::SYN,
            sequence: 1,
            acknowledgement: 0,
            window: 0,
            text_bytes: 0,
        };
        Arrival {
            key,
            segment,
            sender: EthernetAddress([0; 6]),
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn repeat(answers: &mut Answers, millis: u64) -> Result<u32, Option<Instant>> {
        answers.next_repeat(at(millis)).map(|(_, isn)| isn)
    }

    #[test]
    fn an_answer_is_timed_once_and_only_if_it_was_sent_once() {
        let mut answers = Answers::new();
        for (isn, millis) in [(7, 1), (8, 2), (8, 3), (9, 1), (9 + 128, 2)] {
            answers.note(request(), isn, at(millis));
        }
        let four = 4_000_000;
        assert_eq!(answers.acknowledged(7, at(5)), Some(four));
        assert_eq!(answers.acknowledged(7, at(6)), None);
        assert_eq!(
            answers.acknowledged(8, at(5)),
            None,
            "which of them was it?"
        );
        assert_eq!(answers.acknowledged(9, at(5)), None, "its place was taken");
    }

    #[test]
    fn what_is_not_acknowledged_is_sent_again_once() {
        let mut answers = Answers::new();
        for isn in [7, 8, 9] {
            answers.note(request(), isn, at(0));
        }
        answers.acknowledged(8, at(1));
        assert_eq!(repeat(&mut answers, 1), Err(Some(at(250))));
        assert_eq!(repeat(&mut answers, 250), Ok(7));
        assert_eq!(repeat(&mut answers, 250), Ok(9));
        assert_eq!(repeat(&mut answers, 9_000), Err(None));
        assert_eq!(
            answers.acknowledged(7, at(251)),
            None,
            "which of them was it?"
        );
    }

    #[test]
    fn a_flood_is_not_answered_twice() {
        let mut answers = Answers::new();
        let mut repeats = 0;
        for isn in 0..10_000_u32 {
            let now = u64::from(isn) / 10;
            repeats += usize::from(repeat(&mut answers, now).is_ok());
            answers.note(request(), isn.wrapping_mul(2_654_435_761), at(now));
        }
        assert_eq!(repeats, 0);
    }
}
