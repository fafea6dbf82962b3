//! Latencies in a fixed histogram: at most 3 % off, whatever their number.

/// Steps per power of two.
const STEPS: usize = 32;
const STEP_BITS: u32 = 5;
const STEP_MASK: u64 = 31;
const POWERS: usize = 48;

/// Counted durations.
#[derive(Clone, Debug)]
pub struct Latencies {
    counts: [[u32; STEPS]; POWERS],
    count: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// Nothing measured.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            counts: [[0; STEPS]; POWERS],
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Adds one duration.
    pub fn add(&mut self, ns: u64) {
        let (power, step) = place(ns);
        if let Some(count) = self.counts.get_mut(power).and_then(|row| row.get_mut(step)) {
            *count = count.saturating_add(1);
        }
        self.count = self.count.saturating_add(1);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many were added.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The shortest, exact; zero if there is none.
    #[must_use]
    pub const fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// The longest, exact.
    #[must_use]
    pub const fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The duration that `per_mille` of all do not exceed, rounded up to its
    /// step, and to no more than the longest.
    #[must_use]
    pub fn quantile_ns(&self, per_mille: u32) -> u64 {
        let wanted = self
            .count
            .saturating_mul(u64::from(per_mille))
            .div_ceil(1_000)
            .max(1);
        let mut seen = 0_u64;
        for (power, row) in self.counts.iter().enumerate() {
            for (step, count) in row.iter().enumerate() {
                seen = seen.saturating_add(u64::from(*count));
                if seen >= wanted {
                    return upper_ns(power, step).min(self.max_ns);
                }
            }
        }
        self.max_ns
    }
}

/// Durations below 32 ns have a step each; above, each power of two has 32.
fn place(ns: u64) -> (usize, usize) {
    let power = ns
        .checked_ilog2()
        .unwrap_or(0)
        .saturating_sub(STEP_BITS - 1);
    let shift = power.saturating_sub(1);
    let step = ns.checked_shr(shift).unwrap_or(0) & STEP_MASK;
    let power = usize::try_from(power).unwrap_or(POWERS).min(POWERS - 1);
    (power, usize::try_from(step).unwrap_or(0))
}

fn upper_ns(power: usize, step: usize) -> u64 {
    let step = step as u64;
    match u32::try_from(power) {
        Ok(0) | Err(_) => step,
        Ok(power) => {
            let shift = power.saturating_sub(1);
            let first = (STEPS as u64).saturating_add(step);
            first
                .saturating_add(1)
                .checked_shl(shift)
                .unwrap_or(u64::MAX)
                .saturating_sub(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_is_zero() {
        let none = Latencies::new();
        assert_eq!(
            (none.min_ns(), none.max_ns(), none.quantile_ns(500)),
            (0, 0, 0)
        );
    }

    #[test]
    fn one_value_is_every_quantile() {
        for ns in [0, 1, 31, 32, 33, 1_000, 123_456_789, 60_000_000_000] {
            let mut one = Latencies::new();
            one.add(ns);
            for per_mille in [1, 500, 990, 1_000] {
                assert_eq!(one.quantile_ns(per_mille), ns);
            }
        }
    }

    #[test]
    fn quantiles_are_at_most_a_step_above_the_truth() {
        let mut all = Latencies::new();
        for ns in (1..=100_000_u64).map(|n| n * 1_000) {
            all.add(ns);
        }
        for (per_mille, truth) in [(500, 50_000_000), (900, 90_000_000), (990, 99_000_000)] {
            let measured = all.quantile_ns(per_mille);
            assert!(measured >= truth, "{measured} for {truth}");
            assert!(measured - truth <= truth / 32 + 1, "{measured} for {truth}");
        }
        assert_eq!(all.min_ns(), 1_000);
        assert_eq!(all.max_ns(), 100_000_000);
    }

    #[test]
    fn steps_cover_all_durations_without_a_hole() {
        let mut last = 0;
        for ns in 0..200_000_u64 {
            let (power, step) = place(ns);
            let upper = upper_ns(power, step);
            assert!(upper >= ns && upper >= last, "{ns}");
            last = upper;
        }
        for ns in (0..50).map(|bit| 1_u64 << bit) {
            let (power, step) = place(ns);
            assert!(upper_ns(power, step) >= ns, "{ns}");
        }
    }
}
