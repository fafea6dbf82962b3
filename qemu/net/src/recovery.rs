//! When what was sent is sent again. smoltcp knows how, and its own timer never
//! waits less than a second; this one measures in nanoseconds and waits as Linux
//! does (docs/decisions/0016). Pure arithmetic: `resend.rs` acts on it.
//!
//! ```text
//!  data sent ──► probe at 2 round trips ──► timeout ──► timeout x 2 ──► …
//!     ▲   │ a repeated acknowledgement: at a quarter of a round trip
//!     └───┴ acknowledged: all starts over
//! ```
//!
//! Invariants: NET-RESEND (while data is unacknowledged there is a moment at which
//! it is sent again, and while none is there is none; each flight is sent again
//! early once, and then at intervals that double).

use crate::segment::Segment;
use crate::time::Instant;

const MILLISECOND_NS: u64 = 1_000_000;

/// Least time beyond the mean round trip: what Linux waits (RFC 6298, 2.4, says a
/// second, of a time when clocks ticked twice a second).
const MARGIN_MIN_NS: u64 = 200 * MILLISECOND_NS;

/// The longest that a peer keeps an acknowledgement of one segment back (RFC 8985,
/// 7.2): until then nothing is known to be lost.
const DELAYED_ACKNOWLEDGEMENT_NS: u64 = 200 * MILLISECOND_NS;

/// What a probe allows the peer for answering.
const PROBE_MARGIN_NS: u64 = 10 * MILLISECOND_NS;

/// Least patience with segments that overtake each other.
const REORDERING_MIN_NS: u64 = MILLISECOND_NS;

/// The mean round trip before one was measured.
const ROUND_TRIP_GUESS_NS: u64 = 100 * MILLISECOND_NS;

/// Most time between two attempts; silence ends a connection long before.
const TIMEOUT_MAX_NS: u64 = 60_000 * MILLISECOND_NS;

/// From this many repeated acknowledgements on smoltcp acts itself (RFC 5681, 3.2).
const REPEATS_OF_FAST_RETRANSMIT: u8 = 3;

/// Mean round trip and its variation (RFC 6298, 2.3).
#[derive(Debug, Clone, Copy)]
struct RoundTrip {
    mean_ns: u64,
    variation_ns: u64,
}

/// Whether a flight may be sent again before its timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Early {
    #[default]
    Allowed,
    /// It was, and no round trip has been measured since (Karn): a peer farther away
    /// than it seems would be sent everything twice for ever.
    Spent,
}

/// What one connection has sent and not seen acknowledged.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Recovery {
    /// First number that the peer has not acknowledged.
    acknowledged: u32,
    /// First number that was not sent yet.
    sent: u32,
    /// What must be acknowledged before repeats mean a loss again (RFC 6582, 3.2):
    /// what was sent twice makes the peer repeat itself.
    recovery_point: u32,
    round_trip: Option<RoundTrip>,
    /// Whose acknowledgement will measure a round trip, and when it was sent.
    timed: Option<(u32, Instant)>,
    due: Option<Instant>,
    early: Early,
    doublings: u8,
    repeats: u8,
    /// The window that the peer named last, unscaled.
    window: u16,
    /// The longest segment, which tells one in flight from several.
    segment_bytes: u32,
}

/// Whether number `left` comes after `right`, in sequence space.
fn is_after(left: u32, right: u32) -> bool {
    right.wrapping_sub(left).cast_signed() < 0
}

impl Recovery {
    /// Of a connection whose peer has just acknowledged everything below
    /// `acknowledged`, which is all.
    pub(crate) fn new(acknowledged: u32, window: u16) -> Self {
        Self {
            acknowledged,
            sent: acknowledged,
            recovery_point: acknowledged.wrapping_sub(1),
            window,
            ..Self::default()
        }
    }

    /// Whether anything is unacknowledged.
    pub(crate) fn in_flight(&self) -> bool {
        self.sent != self.acknowledged
    }

    /// When to send again what is unacknowledged.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// A segment was sent at `now`, for the first time or again.
    pub(crate) fn on_sent(&mut self, now: Instant, segment: &Segment) {
        let length = segment.length();
        if length == 0 {
            return;
        }
        let end = segment.end();
        if is_after(end, self.sent) {
            self.sent = end;
            self.segment_bytes = self.segment_bytes.max(length);
            self.timed = self.timed.or(Some((end, now)));
            self.arm(now);
        } else {
            self.timed = None;
        }
    }

    /// The peer has acknowledged everything below `number`, which is news.
    pub(crate) fn on_acknowledged(&mut self, now: Instant, number: u32, window: u16) {
        self.acknowledged = number;
        self.window = window;
        self.repeats = 0;
        if is_after(number, self.sent) {
            self.sent = number;
        }
        if let Some((end, sent)) = self.timed
            && !is_after(end, number)
        {
            self.timed = None;
            self.sample(now.nanos_since(sent));
        }
        if self.in_flight() {
            self.arm(now);
        } else {
            self.due = None;
        }
    }

    /// A segment came that acknowledges nothing new.
    pub(crate) fn on_nothing_new(&mut self, now: Instant, segment: &Segment) {
        let is_repeat = segment.length() == 0
            && segment.acknowledges() == Some(self.acknowledged)
            && segment.window == self.window;
        self.window = segment.window;
        if !is_repeat || !self.in_flight() || !is_after(self.acknowledged, self.recovery_point) {
            return;
        }
        self.repeats = self.repeats.saturating_add(1);
        if self.repeats >= REPEATS_OF_FAST_RETRANSMIT {
            self.recovery_point = self.sent;
            self.arm(now);
        } else if self.early == Early::Allowed {
            let soon = now.after_nanos((self.mean_ns() >> 2).max(REORDERING_MIN_NS));
            self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
        }
    }

    /// What is unacknowledged is sent again at `now`.
    pub(crate) fn on_due(&mut self, now: Instant) {
        self.recovery_point = self.sent;
        self.timed = None;
        self.repeats = 0;
        if self.early == Early::Allowed {
            self.early = Early::Spent;
        } else {
            self.doublings = self.doublings.saturating_add(1);
        }
        self.due = self.in_flight().then(|| now.after_nanos(self.timeout_ns()));
    }

    fn arm(&mut self, now: Instant) {
        let timeout = self.timeout_ns();
        let wait = match self.early {
            Early::Allowed if self.round_trip.is_some() => timeout.min(self.probe_time_ns()),
            Early::Allowed | Early::Spent => timeout,
        };
        self.due = Some(now.after_nanos(wait));
    }

    fn mean_ns(&self) -> u64 {
        self.round_trip
            .map_or(ROUND_TRIP_GUESS_NS, |trip| trip.mean_ns)
    }

    /// RFC 6298, 2.3 and 5.5.
    fn timeout_ns(&self) -> u64 {
        let variation = self.round_trip.map_or(0, |trip| trip.variation_ns);
        let margin = variation.saturating_mul(4).max(MARGIN_MIN_NS);
        let doubled = 1_u64
            .checked_shl(u32::from(self.doublings))
            .unwrap_or(u64::MAX);
        self.mean_ns()
            .saturating_add(margin)
            .saturating_mul(doubled)
            .min(TIMEOUT_MAX_NS)
    }

    /// RFC 8985, 7.2.
    fn probe_time_ns(&self) -> u64 {
        let one_segment = self.sent.wrapping_sub(self.acknowledged) <= self.segment_bytes;
        let margin = if one_segment {
            DELAYED_ACKNOWLEDGEMENT_NS
        } else {
            PROBE_MARGIN_NS
        };
        self.mean_ns().saturating_mul(2).saturating_add(margin)
    }

    /// A round trip was measured (RFC 6298, 2.2 and 2.3, whose weights are an eighth and
    /// a quarter: shifts, for this is done once an acknowledgement).
    pub(crate) fn sample(&mut self, measured_ns: u64) {
        let measured = measured_ns.min(TIMEOUT_MAX_NS);
        self.round_trip = Some(match self.round_trip {
            None => RoundTrip {
                mean_ns: measured,
                variation_ns: measured >> 1,
            },
            Some(before) => RoundTrip {
                mean_ns: weighted(before.mean_ns, measured, 3),
                variation_ns: weighted(before.variation_ns, before.mean_ns.abs_diff(measured), 2),
            },
        });
        self.early = Early::Allowed;
        self.doublings = 0;
    }
}

/// `mean`, with a new value that counts one part in 2^`shift`. Both are a minute at
/// most.
fn weighted(mean: u64, value: u64, shift: u32) -> u64 {
    let others = (mean << shift).saturating_sub(mean);
    others.saturating_add(value) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Flags;
    use alloc::vec::Vec;

    const RTT: u64 = 20 * MILLISECOND_NS;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn data(sequence: u32, text_bytes: u16) -> Segment {
        Segment {
            flags: Flags::ACK,
            sequence,
            acknowledgement: 0,
            window: 100,
            text_bytes,
        }
    }

    fn repeat(acknowledgement: u32) -> Segment {
        Segment {
            acknowledgement,
            ..data(0, 0)
        }
    }

    /// Three segments of 1,000 bytes from number 0 on, at millisecond 0.
    fn flight(round_trip: Option<u64>) -> Recovery {
        let mut recovery = Recovery::new(u32::MAX - 499, 100);
        if let Some(round_trip) = round_trip {
            recovery.sample(round_trip);
        }
        for sequence in [u32::MAX - 499, 500, 1_500] {
            recovery.on_sent(at(0), &data(sequence, 1_000));
        }
        recovery
    }

    #[test]
    fn a_tail_is_probed_once_and_then_waits_longer_and_longer() {
        let mut recovery = flight(Some(RTT));
        let mut times = Vec::new();
        for _ in 0..5 {
            let due = recovery.due().unwrap();
            times.push(due.nanos() / 1_000_000);
            recovery.on_due(due);
        }
        // 2 x 20 + 10; then 20 + 200, twice and four times that.
        assert_eq!(times, [50, 270, 710, 1_590, 3_350]);
    }

    #[test]
    fn one_segment_may_be_acknowledged_late() {
        let mut recovery = flight(Some(RTT));
        recovery.on_acknowledged(at(20), 1_500, 100);
        assert_eq!(
            recovery.due(),
            Some(at(20 + 220)),
            "the timeout is sooner than 240"
        );
        recovery.on_acknowledged(at(40), 2_500, 100);
        assert_eq!(recovery.due(), None);
        assert!(!recovery.in_flight());
    }

    #[test]
    fn an_unknown_distance_is_not_probed() {
        assert_eq!(flight(None).due(), Some(at(300)));
    }

    #[test]
    fn one_repeat_is_enough_after_some_patience() {
        let mut recovery = flight(Some(RTT));
        recovery.on_nothing_new(at(20), &repeat(u32::MAX - 499));
        assert_eq!(recovery.due(), Some(at(25)));
        recovery.on_due(at(25));
        // What was sent twice is answered twice: no reason to send it a third time.
        let again = recovery.due();
        recovery.on_nothing_new(at(26), &repeat(u32::MAX - 499));
        assert_eq!(recovery.due(), again);
    }

    #[test]
    fn windows_and_data_are_no_repeats() {
        let mut recovery = flight(Some(RTT));
        let due = recovery.due();
        let number = u32::MAX - 499;
        let wider = Segment {
            window: 101,
            ..repeat(number)
        };
        recovery.on_nothing_new(at(1), &wider);
        let text_bytes = 5;
        recovery.on_nothing_new(
            at(1),
            &Segment {
                text_bytes,
                ..wider
            },
        );
        recovery.on_nothing_new(at(1), &repeat(number.wrapping_sub(1)));
        assert_eq!(recovery.due(), due);
    }

    #[test]
    fn a_peer_farther_away_than_it_seemed_is_found_out() {
        let mut recovery = Recovery::new(0, 100);
        recovery.sample(RTT);
        let far = 900 * MILLISECOND_NS;
        let mut now = at(0);
        let mut spurious = Vec::new();
        for first in (0..16_u32).map(|flight| flight.wrapping_mul(2_000)) {
            let second = first.wrapping_add(1_000);
            recovery.on_sent(now, &data(first, 1_000));
            recovery.on_sent(now, &data(second, 1_000));
            let answered = now.after_nanos(far);
            let mut times = 0_u32;
            while let Some(due) = recovery.due().filter(|&due| due < answered) {
                recovery.on_due(due);
                recovery.on_sent(due, &data(first, 1_000));
                times = times.wrapping_add(1);
            }
            spurious.push(times);
            now = answered;
            recovery.on_acknowledged(now, second.wrapping_add(1_000), 100);
        }
        assert_eq!(spurious[12..], [0; 4], "{spurious:?}");
        assert!(spurious.iter().sum::<u32>() <= 10, "{spurious:?}");
    }
}
