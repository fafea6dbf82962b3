//! A token bucket: at most a burst at once, and a fixed rate over time.

use crate::time::Instant;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Allows `rate` operations a second, saved up for at most one second.
#[derive(Debug)]
pub(crate) struct Bucket {
    tokens: u32,
    rate: u32,
    /// Instant up to which time has been turned into tokens.
    settled: Instant,
}

impl Bucket {
    /// A full bucket of `rate` tokens a second. A rate of 0 allows nothing.
    pub(crate) fn new(rate: u32) -> Self {
        Self {
            tokens: rate,
            rate,
            settled: Instant::default(),
        }
    }

    /// Takes one token; false if there is none.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        if self.rate == 0 {
            return false;
        }
        let nanos_per_token = NANOS_PER_SECOND
            .checked_div(u64::from(self.rate))
            .unwrap_or(NANOS_PER_SECOND)
            .max(1);
        let elapsed = now.nanos().saturating_sub(self.settled.nanos());
        let earned = elapsed.checked_div(nanos_per_token).unwrap_or(0);
        let room = u64::from(self.rate.saturating_sub(self.tokens));
        if earned >= room {
            self.tokens = self.rate;
            self.settled = self.settled.max(now);
        } else {
            self.tokens = self
                .tokens
                .saturating_add(u32::try_from(earned).unwrap_or(u32::MAX));
            let spent = earned.saturating_mul(nanos_per_token);
            self.settled = Instant::from_nanos(self.settled.nanos().saturating_add(spent));
        }
        match self.tokens.checked_sub(1) {
            Some(rest) => {
                self.tokens = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_then_rate() {
        let mut bucket = Bucket::new(10);
        let start = Instant::from_millis(1_000);
        assert_eq!((0..20).filter(|_| bucket.take(start)).count(), 10);
        // 100 ms earn exactly one.
        let later = Instant::from_millis(1_100);
        assert!(bucket.take(later));
        assert!(!bucket.take(later));
        // Odd steps lose nothing: 1 s in steps of 7 ms earns 10.
        let mut passed = 0;
        for step in 1..=143_u64 {
            passed += u32::from(bucket.take(Instant::from_millis(1_100 + step * 7)));
        }
        assert_eq!(passed, 10);
    }

    #[test]
    fn zero_rate_allows_nothing() {
        assert!(!Bucket::new(0).take(Instant::from_millis(5_000)));
    }
}
