//! Rates: token buckets in exact integer arithmetic (keeps L4: over any time t at most
//! `burst + rate * t` requests of a budgeted lane are admitted, and denials paid for).
//!
//! The level is kept in billionths of a token: each nanosecond adds `per_second` of them, a
//! request costs 10^9. The level is never divided, so nothing drifts; what does not fit is
//! clamped to a full bucket, which is what it would have been. When the next token comes is
//! worked out as the last one is taken, so that a refusal, of which a flood asks for any
//! number, costs one comparison.

use crate::units::{Instant, Span};

const TOKEN: u64 = 1_000_000_000;

/// A replenishable budget: `burst` at once, `per_second` in the long run. Both positive in
/// a validated profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateBudget {
    /// Tokens in a full bucket.
    pub burst: u32,
    /// Tokens refilled each second.
    pub per_second: u32,
}

/// How a lane's rate is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RatePolicy {
    /// By a token bucket.
    Budget(RateBudget),
    /// Not at all: the lane can be reached over loopback only, and its occupancy and
    /// deadlines are its bounds. Refused for a protected lane on any other transport.
    LoopbackExempt,
    /// Not at all: the public lane, whose bound is its share. Refused for a protected lane.
    Unmetered,
}

/// A bucket under some policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenBucket {
    policy: RatePolicy,
    /// Billionths of a token at `at`.
    level: u64,
    at: Instant,
    /// From `at` until there is a token; zero if there is one already.
    wait: Span,
}

impl TokenBucket {
    /// A bucket that asks nothing of anybody; for lanes that do not exist.
    pub(crate) const UNMETERED: TokenBucket = TokenBucket::new(RatePolicy::Unmetered);

    /// A full bucket.
    pub(crate) const fn new(policy: RatePolicy) -> Self {
        let level = match policy {
            RatePolicy::Budget(budget) => capacity(budget),
            RatePolicy::LoopbackExempt | RatePolicy::Unmetered => 0,
        };
        TokenBucket {
            policy,
            level,
            at: Instant::ZERO,
            wait: Span::ZERO,
        }
    }

    pub(crate) const fn policy(&self) -> RatePolicy {
        self.policy
    }

    /// Whether a token is there at `now`; else how long until one is. Nothing is taken yet.
    #[inline]
    pub(crate) fn check(&self, now: Instant) -> Result<(), Span> {
        let elapsed = now.since(self.at).as_nanos();
        match self.wait.as_nanos().saturating_sub(elapsed) {
            0 => Ok(()),
            left => Err(Span::from_nanos(left)),
        }
    }

    /// Takes the token that [`TokenBucket::check`] has just found at `now`.
    #[inline]
    pub(crate) fn take(&mut self, now: Instant) {
        debug_assert!(self.check(now).is_ok(), "took a token that is not there");
        let RatePolicy::Budget(budget) = self.policy else {
            return;
        };
        self.level = self.level_at(budget, now).saturating_sub(TOKEN);
        self.at = self.at.max(now);
        self.wait = match TOKEN.saturating_sub(self.level) {
            0 => Span::ZERO,
            missing => time_to(missing, budget.per_second),
        };
    }

    /// Billionths of a token at `now`.
    #[cfg(test)]
    pub(crate) fn tokens(&self, now: Instant) -> u64 {
        match self.policy {
            RatePolicy::Budget(budget) => self.level_at(budget, now),
            RatePolicy::LoopbackExempt | RatePolicy::Unmetered => 0,
        }
    }

    /// The level at `now`; a clock that steps back refills nothing.
    #[inline]
    fn level_at(&self, budget: RateBudget, now: Instant) -> u64 {
        let full = capacity(budget);
        now.since(self.at)
            .as_nanos()
            .checked_mul(u64::from(budget.per_second))
            .and_then(|refill| self.level.checked_add(refill))
            .map_or(full, |level| level.min(full))
    }
}

/// Billionths of a token in a full bucket; fits for every `burst`.
const fn capacity(budget: RateBudget) -> u64 {
    (budget.burst as u64).saturating_mul(TOKEN)
}

/// How long `missing` billionths of a token take to refill, rounded up.
#[cold]
const fn time_to(missing: u64, per_second: u32) -> Span {
    match per_second {
        0 => Span::from_nanos(u64::MAX),
        _ => Span::from_nanos(missing.div_ceil(per_second as u64)),
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test fails by panicking")]
mod tests {
    use super::{RateBudget, RatePolicy, TOKEN, TokenBucket};
    use crate::units::{Instant, Span};

    fn bucket(burst: u32, per_second: u32) -> TokenBucket {
        TokenBucket::new(RatePolicy::Budget(RateBudget { burst, per_second }))
    }

    fn take(bucket: &mut TokenBucket, now: Instant) {
        bucket.check(now).unwrap();
        bucket.take(now);
    }

    #[test]
    fn token_comes_exactly_when_it_was_said_to_come() {
        let mut bucket = bucket(2, 3);
        let start = Instant::from_nanos(5);
        take(&mut bucket, start);
        take(&mut bucket, start);
        let wait = bucket.check(start).unwrap_err();
        assert_eq!(wait, Span::from_nanos(333_333_334));
        let early = start.after(Span::from_nanos(333_333_333));
        assert_eq!(bucket.check(early), Err(Span::from_nanos(1)));
        take(&mut bucket, start.after(wait));
        // What it came late, a third of a nanosecond, is not lost: 3 x 333,333,334 - 10^9.
        assert_eq!(bucket.tokens(start.after(wait)), 2);
    }

    #[test]
    fn bucket_holds_no_more_than_its_burst() {
        let mut bucket = bucket(2, 1_000);
        let late = Instant::from_nanos(u64::MAX);
        assert_eq!(bucket.tokens(Instant::ZERO), 2 * TOKEN);
        assert_eq!(bucket.tokens(late), 2 * TOKEN);
        take(&mut bucket, late);
        take(&mut bucket, late);
        assert_eq!(bucket.check(late), Err(Span::from_millis(1)));
        assert_eq!(bucket.check(Instant::ZERO), Err(Span::from_millis(1)));
    }

    #[test]
    fn time_that_has_refilled_the_bucket_refills_it_once() {
        let mut bucket = bucket(2, 1);
        let late = Instant::from_nanos(10 * TOKEN);
        take(&mut bucket, late);
        take(&mut bucket, Instant::ZERO);
        assert_eq!(bucket.check(late), Err(Span::from_secs(1)));
    }

    #[test]
    fn looking_takes_nothing() {
        let bucket = bucket(1, 1);
        for _ in 0..9 {
            assert!(bucket.check(Instant::ZERO).is_ok());
        }
    }

    #[test]
    fn unmetered_and_exempt_lanes_are_never_dry() {
        for policy in [RatePolicy::Unmetered, RatePolicy::LoopbackExempt] {
            let mut bucket = TokenBucket::new(policy);
            for _ in 0..9 {
                take(&mut bucket, Instant::ZERO);
            }
            assert_eq!(bucket.policy(), policy);
        }
    }

    #[test]
    fn budget_without_refill_is_dry_until_the_clock_ends() {
        let mut bucket = bucket(1, 0);
        take(&mut bucket, Instant::ZERO);
        let last = Instant::from_nanos(u64::MAX - 1);
        assert_eq!(bucket.check(last), Err(Span::from_nanos(1)));
    }
}
