//! What libFuzzer's log says about one run.

/// Figures of a run; zero where the log does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Edges that the kept corpus reaches.
    pub(crate) edges_at_first: u64,
    /// Edges reached in the end.
    pub(crate) edges: u64,
    /// Inputs that were run.
    pub(crate) inputs: u64,
}

impl Outcome {
    /// Reads a log. The line of every event holds the number of inputs so far and the edges.
    pub(crate) fn of(log: &str) -> Self {
        let mut outcome = Self::default();
        for line in log.lines() {
            if let Some(inputs) = line.strip_prefix("stat::number_of_executed_units:") {
                outcome.inputs = number(inputs);
            }
            let Some((before, after)) = line.split_once(" cov: ") else {
                continue;
            };
            outcome.edges = number(after);
            outcome.inputs = number(before.trim_start_matches('#'));
            if before.contains("INITED") {
                outcome.edges_at_first = outcome.edges;
            }
        }
        outcome
    }
}

/// What panicked, in its own words.
pub(crate) fn panic_of(log: &str) -> Option<String> {
    let start = log.find("panicked at ")?;
    let mut lines = log.get(start..)?.lines();
    Some(format!("{} {}", lines.next()?, lines.next()?))
}

/// The decimal number at the start of `text`, after spaces.
fn number(text: &str) -> u64 {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    let digits = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_of_a_whole_run_is_read() {
        let log = "INFO: seed corpus: files: 3\n\
                   #4\tINITED cov: 120 ft: 200 corp: 3/40b exec/s: 0 rss: 40Mb\n\
                   #900\tNEW    cov: 131 ft: 240 corp: 4/60b lim: 4 exec/s: 0 rss: 40Mb L: 4/4\n\
                   #5000\tDONE   cov: 131 ft: 240 corp: 4/60b exec/s: 100 rss: 40Mb\n\
                   stat::number_of_executed_units: 5001\n\
                   stat::peak_rss_mb: 41\n";
        let expected = Outcome {
            edges_at_first: 120,
            edges: 131,
            inputs: 5001,
        };
        assert_eq!(Outcome::of(log), expected);
        assert_eq!(panic_of(log), None);
    }

    #[test]
    fn a_panic_is_told_with_its_place() {
        let log = "#4\tINITED cov: 7 ft: 8\n\
                   thread '<unnamed>' (9) panicked at ledger/src/rate.rs:3:9:\n\
                   a token too many\nstack backtrace:\n";
        let told = panic_of(log).unwrap();
        assert_eq!(told, "panicked at ledger/src/rate.rs:3:9: a token too many");
        assert_eq!(Outcome::of(log).inputs, 4);
    }
}
