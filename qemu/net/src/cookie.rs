//! Handshakes without state: everything needed to complete one is in the
//! sequence number of our SYN|ACK, which only a peer that received it can
//! acknowledge.
//!
//! Invariants: NET-COOKIE (a half-open connection occupies no memory, so a
//! flood of requests displaces nobody; an acknowledgement is believed only if
//! its number is the keyed hash of its own flow, its initial sequence number,
//! a period at most two old, and a segment-size class, and only once).
//!
//! ```text
//!  31                              3   2    1  0
//! ┌─────────────────────────────────┬─────┬──────┐
//! │ 29 bits of keyed hash           │epoch│ size │
//! └─────────────────────────────────┴─────┴──────┘
//! ```

use crate::flow::FlowKey;
use crate::siphash::{self, Key};
use crate::time::Instant;

/// A cookie is valid in the period it was made in and in the next: 16 to 32 s.
const PERIOD_SHIFT: u32 = 34;

/// Segment sizes that a cookie can remember; a peer's is rounded down.
const SEGMENT_SIZES: [u16; 4] = [536, 1_220, 1_400, 1_460];

/// Makes and checks handshake cookies.
#[derive(Debug)]
pub(crate) struct CookieJar {
    key: Key,
}

fn period(now: Instant) -> u64 {
    now.nanos() >> PERIOD_SHIFT
}

impl CookieJar {
    /// A jar whose cookies no other key opens.
    pub(crate) fn new(key: Key) -> Self {
        Self { key }
    }

    fn cookie(&self, flow: FlowKey, their_isn: u32, period: u64, size_class: u32) -> u32 {
        let [addresses, ports] = flow.words();
        let context = (u64::from(their_isn) << 2) | u64::from(size_class);
        let hash = siphash::hash(self.key, [addresses, ports, context, period]);
        let parity = u32::from(period & 1 == 1);
        let [.., a, b, c, d] = hash.to_le_bytes();
        (u32::from_le_bytes([a, b, c, d]) & !7) | (parity << 2) | size_class
    }

    /// The initial sequence number with which to answer a request.
    pub(crate) fn bake(&self, flow: FlowKey, their_isn: u32, segment: u16, now: Instant) -> u32 {
        let classes = (0_u32..).zip(SEGMENT_SIZES);
        let class = classes
            .take_while(|&(_, size)| size <= segment)
            .last()
            .map_or(0, |(class, _)| class);
        self.cookie(flow, their_isn, period(now), class)
    }

    /// The peer's segment size, if `cookie` was baked for this flow lately.
    pub(crate) fn check(
        &self,
        flow: FlowKey,
        their_isn: u32,
        cookie: u32,
        now: Instant,
    ) -> Option<u16> {
        let current = period(now);
        let parity = u64::from((cookie >> 2) & 1);
        let baked = if current & 1 == parity {
            current
        } else {
            current.checked_sub(1)?
        };
        let class = cookie & 3;
        let genuine = cfg!(feature = "broken-any-cookie")
            || self.cookie(flow, their_isn, baked, class) == cookie;
        let size = SEGMENT_SIZES.get(usize::try_from(class).ok()?).copied()?;
        genuine.then_some(size)
    }
}

/// The seed with which a fresh smoltcp interface gives its first connection the
/// initial sequence number `isn`.
///
/// The generator is sPCG32: `s ← s·M + A`, output the low 32 bits of
/// `s >> (29 − (s >> 61))`. An interface draws once for its IPv4 identification
/// (again while that is zero), then once per passive connection. Choosing the
/// top three bits zero makes the output bits 29 to 60, and both steps invert.
pub(crate) fn seed_for(isn: u32) -> u64 {
    const M: u64 = 0xbb2e_fcec_3c39_611d;
    const A: u64 = 0x7590_ef39;
    const M_INVERSE: u64 = inverse(M);
    let mut low = 0_u64;
    loop {
        let second = (u64::from(isn) << 29) | low;
        let first = second.wrapping_sub(A).wrapping_mul(M_INVERSE);
        let shift = 29_u64.wrapping_sub(first >> 61);
        // The draw for the identification: folded to 16 bits, it must not be 0.
        let drawn = first >> shift;
        if (drawn ^ (drawn >> 16)) & 0xffff != 0 {
            return first.wrapping_sub(A).wrapping_mul(M_INVERSE);
        }
        low = low.wrapping_add(1);
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step
/// doubles the correct low bits, from three.
const fn inverse(odd: u64) -> u64 {
    let mut guess = odd;
    let mut step = 0_i32;
    while step < 5 {
        guess = guess.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(guess)));
        step = step.wrapping_add(1_i32);
    }
    guess
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{PortIndex, example_flow as flow};

    #[test]
    fn valid_for_its_own_period_and_the_next() {
        let jar = CookieJar::new([1, 2]);
        for start in [0_u64, 17_000, 33_000, 70_000] {
            let baked = jar.bake(flow(), 99, 1_460, Instant::from_millis(start));
            for later in [0, 8_000, 16_000] {
                let now = Instant::from_millis(start + later);
                assert_eq!(jar.check(flow(), 99, baked, now), Some(1_460));
            }
            let late = Instant::from_millis(start + 35_000);
            assert_eq!(jar.check(flow(), 99, baked, late), None, "expired");
        }
    }

    #[test]
    fn rounds_the_segment_size_down() {
        let jar = CookieJar::new([1, 2]);
        let now = Instant::from_millis(5);
        for (given, kept) in [
            (0, 536),
            (536, 536),
            (1_219, 536),
            (1_400, 1_400),
            (9_000, 1_460),
        ] {
            let baked = jar.bake(flow(), 7, given, now);
            assert_eq!(jar.check(flow(), 7, baked, now), Some(kept));
        }
    }

    #[test]
    fn belongs_to_one_flow_one_request_and_one_key() {
        let jar = CookieJar::new([1, 2]);
        let now = Instant::from_millis(5);
        let baked = jar.bake(flow(), 7, 1_460, now);
        let other_port = FlowKey {
            remote_port: 40_001,
            ..flow()
        };
        let other_side = FlowKey {
            port: PortIndex(2),
            ..flow()
        };
        assert_eq!(jar.check(other_port, 7, baked, now), None);
        assert_eq!(jar.check(other_side, 7, baked, now), None);
        assert_eq!(jar.check(flow(), 8, baked, now), None);
        assert_eq!(CookieJar::new([1, 3]).check(flow(), 7, baked, now), None);
        for bit in 0..32 {
            assert_eq!(jar.check(flow(), 7, baked ^ (1 << bit), now), None);
        }
    }

    /// Draws as smoltcp 0.14 does; the handshake tests check it against smoltcp.
    fn draw(state: &mut u64) -> u32 {
        *state = state
            .wrapping_mul(0xbb2e_fcec_3c39_611d)
            .wrapping_add(0x7590_ef39);
        let shift = 29_u64.wrapping_sub(*state >> 61);
        #[expect(clippy::cast_possible_truncation, reason = "as the generator does")]
        let drawn = (*state >> shift) as u32;
        drawn
    }

    #[test]
    fn seeds_draw_the_wanted_number_second() {
        for isn in [0, 1, 0x8000_0000, u32::MAX, 0x1234_5678] {
            let mut state = seed_for(isn);
            let identification = draw(&mut state);
            assert_ne!((identification ^ (identification >> 16)) & 0xffff, 0);
            assert_eq!(draw(&mut state), isn);
        }
    }

    #[test]
    fn forgeries_succeed_no_more_often_than_chance() {
        let jar = CookieJar::new([3, 4]);
        let now = Instant::from_millis(40_000);
        let forged = (0..200_000_u32)
            .filter(|&n| {
                jar.check(flow(), 1, n.wrapping_mul(2_654_435_761), now)
                    .is_some()
            })
            .count();
        assert!(forged <= 1, "{forged} of 200,000 guesses");
    }
}
