//! How much of the processor time that QEMU asked for the host gave it. On a shared machine
//! a guest can stand still for a second without any doing of its own.

use std::path::PathBuf;

/// What a process has had and waited for, summed over its threads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    run_ns: u64,
    wait_ns: u64,
}

impl Waited {
    /// Reads it from the host's scheduler statistics; all zero where there are none.
    pub(crate) fn of(process: u32) -> Self {
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

    /// The share of the asked-for time that was given since `before`, from 0.25 to 1: below
    /// that the machine is no measure of anything.
    pub(crate) fn share_since(self, before: Self) -> f64 {
        let run = self.run_ns.saturating_sub(before.run_ns) as f64;
        let wait = self.wait_ns.saturating_sub(before.wait_ns) as f64;
        if run + wait <= 0.0 {
            return 1.0;
        }
        (run / (run + wait)).clamp(0.25, 1.0)
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
}
