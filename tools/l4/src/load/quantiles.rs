//! Latencies, sorted once and read by rank.

use std::fmt;
use std::time::Duration;

/// Sorted latencies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantiles {
    sorted: Vec<Duration>,
}

impl Quantiles {
    pub(crate) fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        Self { sorted: samples }
    }

    pub(crate) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The sample at rank `percent` (nearest rank); zero without samples.
    pub(crate) fn percent(&self, percent: usize) -> Duration {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1) - 1;
        self.sorted.get(rank).copied().unwrap_or_default()
    }

    pub(crate) fn max(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }
}

/// Milliseconds with two digits.
pub(crate) fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}

impl fmt::Display for Quantiles {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "p50 {}, p90 {}, p99 {}, max {} in {}",
            milliseconds(self.percent(50)),
            milliseconds(self.percent(90)),
            milliseconds(self.percent(99)),
            milliseconds(self.max()),
            self.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_nearest_and_an_empty_set_is_zero() {
        let hundred = Quantiles::of((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(hundred.percent(50), Duration::from_millis(50));
        assert_eq!(hundred.percent(99), Duration::from_millis(99));
        assert_eq!(hundred.max(), Duration::from_millis(100));
        assert_eq!(Quantiles::default().percent(99), Duration::ZERO);
    }
}
