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
    pub(crate) fn start(process: u32) -> Self {
        let begun = Instant::now();
        Self(Background::start(move |stop| {
            let mut shares = Shares::default();
            while !stop.is_told() {
                shares.read(begun.elapsed(), Waited::of(process));
                std::thread::sleep(PACE);
            }
            shares.read(begun.elapsed(), Waited::of(process));
            shares
        }))
    }

    pub(crate) fn finish(self) -> Shares {
        self.0.finish()
    }
}

/// What was known at one time: what the process had been given, and for how long the host had
/// stood still as a whole, which no statistics of its own tell but the reader notices.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    at: Duration,
    waited: Waited,
    stood: Duration,
}

/// What a process was given over time.
#[derive(Debug, Default)]
pub(crate) struct Shares(Vec<Reading>);

impl Shares {
    fn read(&mut self, at: Duration, waited: Waited) {
        let last = self.0.last().copied().unwrap_or_default();
        let late = at.saturating_sub(last.at).saturating_sub(PACE);
        let stood = if late > PACE { late } else { Duration::ZERO };
        self.0.push(Reading {
            at,
            waited,
            stood: last.stood + stood,
        });
    }

    /// The share of the asked-for time that was given over the whole time, from 0 to 1.
    pub(crate) fn overall(&self) -> f64 {
        match (self.0.first(), self.0.last()) {
            (Some(first), Some(last)) => last.waited.share_since(first.waited),
            _ => 1.0,
        }
    }

    /// What the host gave, at least, of any time of this length: the process may have been
    /// kept from going on for all that it waited in that part in which it waited most.
    pub(crate) fn given_of(&self, length: Duration) -> Duration {
        let mut ends = self.0.iter().peekable();
        let mut most = Duration::ZERO;
        for begin in &self.0 {
            // The first reading past the end of the part, or the last of all.
            while ends
                .peek()
                .is_some_and(|end| end.at.saturating_sub(begin.at) < length)
            {
                ends.next();
            }
            let end = ends.peek().copied().or(self.0.last());
            let Some(end) = end else { break };
            let wait_ns = end.waited.wait_ns.saturating_sub(begin.waited.wait_ns);
            let stood = end.stood.saturating_sub(begin.stood);
            most = most.max(Duration::from_nanos(wait_ns) + stood);
        }
        length.saturating_sub(most)
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
    fn a_standstill_is_kept_from_a_part_as_long_as_itself() {
        let ms = Duration::from_millis;
        let mut shares = Shares::default();
        assert_eq!(shares.given_of(ms(100)), ms(100));
        let mut wait_ns = 0;
        for turn in 0..50 {
            // For a tenth of a second another process runs.
            let waits = (20..25).contains(&turn);
            wait_ns += if waits { 20_000_000 } else { 0 };
            let run_ns = turn * 20_000_000 - wait_ns;
            shares.read(ms(20 * turn), Waited { run_ns, wait_ns });
        }
        assert_eq!(shares.given_of(ms(100)), ms(0));
        assert_eq!(shares.given_of(ms(300)), ms(200));
        assert!((shares.overall() - 0.9).abs() < 0.01);
        // Then the host itself stands still for a second.
        let waited = shares.0.last().unwrap().waited;
        shares.read(ms(2_000), waited);
        assert_eq!(shares.given_of(ms(1_500)), ms(1_500 - 1_000 - 100));
        shares.read(ms(2_020), waited);
        assert_eq!(shares.given_of(ms(0)), ms(0), "where nothing was answered");
    }
}
