//! The table on the terminal. Its last line is `N passed, N failed` alone (with the skipped
//! ones counted too, if there are any).

use mkmanifest::say;

use crate::record::{Outcome, Verdict};
use crate::report::probes;

/// Prints it; tells whether nothing failed and something passed.
pub(crate) fn print(outcomes: &[Outcome]) -> bool {
    say!("");
    let width = outcomes.iter().map(|one| one.name.len()).max().unwrap_or(4);
    say!("  {:<width$}  wire    result   checks  seconds", "case");
    for outcome in outcomes {
        let result = match outcome.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed { .. } => "FAILED",
            Verdict::Skipped { .. } => "skipped",
        };
        say!(
            "  {:<width$}  {:<6}  {result:<7} {:>7}  {:>7.1}",
            outcome.name,
            outcome.wire.name(),
            outcome.record.checks.len(),
            outcome.took.as_secs_f64()
        );
        for figure in &outcome.record.figures {
            say!("  {:<width$}    {}: {}", "", figure.name, figure.value);
        }
    }
    mkmanifest::print_bytes(probes::text(outcomes).as_bytes());
    let (line, good) = summary(outcomes);
    say!("\n{line}");
    good
}

fn summary(outcomes: &[Outcome]) -> (String, bool) {
    let passed = outcomes.iter().filter(|one| one.passed()).count();
    let skipped = outcomes.iter().filter(|one| one.skipped()).count();
    let failed = outcomes.len() - passed - skipped;
    let mut line = format!("{passed} passed, {failed} failed");
    if skipped > 0 {
        line.push_str(&format!(", {skipped} skipped"));
    }
    (line, failed == 0 && passed > 0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::Record;
    use crate::wire::Wire;

    fn outcome(verdict: Verdict) -> Outcome {
        Outcome {
            name: "case".into(),
            wire: Wire::User,
            title: "title".into(),
            verdict,
            took: Duration::ZERO,
            record: Record::default(),
        }
    }

    #[test]
    fn the_summary_counts_and_a_run_of_nothing_is_no_success() {
        let failed = || Verdict::Failed {
            kind: "hang".into(),
            why: "no line".into(),
        };
        let both = [outcome(Verdict::Passed), outcome(failed())];
        assert_eq!(summary(&both), ("1 passed, 1 failed".into(), false));
        let skipped = Verdict::Skipped { why: "root".into() };
        let some = [outcome(Verdict::Passed), outcome(skipped)];
        assert_eq!(
            summary(&some),
            ("1 passed, 0 failed, 1 skipped".into(), true)
        );
        assert!(!summary(&[]).1);
    }
}
