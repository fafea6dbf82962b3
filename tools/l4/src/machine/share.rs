//! How much of the processor time that QEMU asked for the host gave it. On a shared machine
//! a guest can stand still for a second without any doing of its own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::load::background::Background;

/// How often the host's statistics are read.
const PACE: Duration = Duration::from_millis(20);

/// What a process has had and waited for, summed over its threads.
#[derive(Clone, Copy, Debug, Default)]
struct Waited {
    run_ns: u64,
    wait_ns: u64,
}

impl Waited {
    /// Reads it from the host's scheduler statistics; all zero where there are none.
    fn of(process: u32) -> Self {
        let tasks = PathBuf::from(format!("/proc/{process}/task"));
        let mut sum = Self::default();
        for task in std::fs::read_dir(tasks).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            let one = Self::parse(&text).unwrap_or_default();
            sum.run_ns += one.run_ns;
            sum.wait_ns += one.wait_ns;
        }
        sum
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        Some(Self {
            run_ns: words.next()?.parse().ok()?,
            wait_ns: words.next()?.parse().ok()?,
        })
    }

    /// The share of the asked-for time that was given since `before`, from 0 to 1.
    fn share_since(self, before: Self) -> f64 {
        let run = self.run_ns.saturating_sub(before.run_ns) as f64;
        let wait = self.wait_ns.saturating_sub(before.wait_ns) as f64;
        if run + wait <= 0.0 {
            return 1.0;
        }
        run / (run + wait)
    }
}

/// Reads a process's statistics for as long as it lasts.
pub(crate) struct Watch(Background<Shares>);

impl Watch {
    /// Starts reading.
    pub(crate) fn start(process: u32) -> Self {
        let begun = Instant::now();
        Self(Background::start(move |stop| {
            let mut readings = Vec::new();
            while !stop.is_told() {
                readings.push((begun.elapsed(), Waited::of(process)));
                std::thread::sleep(PACE);
            }
            readings.push((begun.elapsed(), Waited::of(process)));
            Shares(readings)
        }))
    }

    /// Stops reading and tells what was read.
    pub(crate) fn finish(self) -> Shares {
        self.0.finish()
    }
}

/// What a process was given over time.
#[derive(Debug, Default)]
pub(crate) struct Shares(Vec<(Duration, Waited)>);

impl Shares {
    /// The share over the whole time, from 0 to 1.
    pub(crate) fn overall(&self) -> f64 {
        self.least_over(Duration::MAX)
    }

    /// The share over that part of this length in which it was least, from 0 to 1.
    pub(crate) fn least_over(&self, length: Duration) -> f64 {
        let mut ends = self.0.iter();
        let mut end = ends.next();
        let mut least: Option<f64> = None;
        for (begun, before) in &self.0 {
            while end.is_some_and(|(at, _)| at.saturating_sub(*begun) < length) {
                end = ends.next();
            }
            let Some((_, after)) = end else { break };
            let share = after.share_since(*before);
            least = Some(least.map_or(share, |least| least.min(share)));
        }
        least.unwrap_or_else(|| match (self.0.first(), self.0.last()) {
            (Some((_, before)), Some((_, after))) => after.share_since(*before),
            _ => 1.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_what_was_given_of_what_was_asked_for() {
        let before = Waited::parse("100 50 3\n").unwrap();
        let after = Waited::parse("400 150 9\n").unwrap();
        assert!((after.share_since(before) - 0.75).abs() < 1e-9);
        assert!((before.share_since(before) - 1.0).abs() < 1e-9);
        assert!(Waited::parse("").is_none());
    }

    #[test]
    fn a_standstill_counts_in_a_part_as_long_as_itself() {
        let at = |ms: u64, run_ns: u64, wait_ns: u64| {
            (Duration::from_millis(ms), Waited { run_ns, wait_ns })
        };
        let shares = Shares(vec![
            at(0, 0, 0),
            at(100, 100, 0),
            at(200, 100, 100),
            at(400, 300, 100),
        ]);
        assert!((shares.overall() - 0.75).abs() < 1e-9);
        assert!(shares.least_over(Duration::from_millis(100)) < 1e-9);
        assert!((shares.least_over(Duration::from_millis(150)) - 0.5).abs() < 1e-9);
        assert!((Shares::default().overall() - 1.0).abs() < 1e-9);
    }
}
