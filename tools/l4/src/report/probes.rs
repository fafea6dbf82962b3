//! The provider's probe under every load of a run, in one table: success, latency, the
//! longest gap, and how many times an idle guest's latency that is; where it was asked, the
//! public lane's own health beside it.

use crate::record::{Outcome, ProbeRow, Side};

pub(crate) const TITLES: [&str; 11] = [
    "probe", "answered", "p50 ms", "p90 ms", "p99 ms", "max ms", "gap ms", "p50 x", "p90 x",
    "p99 x", "host %",
];

/// Every row of a run, under the case that it belongs to.
pub(crate) fn rows(outcomes: &[Outcome]) -> impl Iterator<Item = (&str, &ProbeRow)> {
    outcomes.iter().flat_map(|outcome| {
        let rows = outcome.record.probes.iter();
        rows.map(|row| (outcome.name.as_str(), row))
    })
}

/// The cells of a row, in the columns' order.
pub(crate) fn cells(row: &ProbeRow) -> [String; 11] {
    let side = match row.side {
        Side::Outside => "outside",
        Side::Inside => "inside",
        Side::Public => "public",
    };
    let [p50, p90, p99] = row.loaded_ms.map(|ms| format!("{ms:.2}"));
    let [r50, r90, r99] = row.ratios().map(|ratio| format!("{ratio:.1}"));
    [
        side.to_owned(),
        format!("{}/{}", row.answered, row.asked),
        p50,
        p90,
        p99,
        format!("{:.2}", row.max_ms),
        format!("{:.0}", row.gap_ms),
        r50,
        r90,
        r99,
        format!("{:.0}", row.host_share * 100.0),
    ]
}

/// The table as text; nothing when a run has no such row.
pub(crate) fn text(outcomes: &[Outcome]) -> String {
    let mut out = String::new();
    let mut last = ("", "");
    for (case, row) in rows(outcomes) {
        if last.0 != case {
            out.push_str(&format!(
                "\n  {case}: the provider's probe, and times an idle guest's\n"
            ));
            out.push_str(&line("", &TITLES.map(str::to_owned)));
        }
        let load = if last == (case, &row.load) {
            ""
        } else {
            &row.load
        };
        out.push_str(&line(load, &cells(row)));
        last = (case, &row.load);
    }
    out
}

fn line(load: &str, cells: &[String; 11]) -> String {
    let mut out = format!("  {load:<40}");
    for cell in cells {
        out.push_str(&format!(" {cell:>8}"));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::{Record, Verdict};
    use crate::wire::Wire;

    #[test]
    fn both_sides_of_a_load_stand_below_each_other() {
        let row = |side| ProbeRow {
            load: "flood".into(),
            side,
            asked: 10,
            answered: 9,
            loaded_ms: [2.0, 4.0, 8.0],
            idle_ms: [1.0, 1.0, 0.0],
            max_ms: 9.0,
            gap_ms: 50.0,
            host_share: 0.5,
        };
        let outcome = Outcome {
            name: "case".into(),
            wire: Wire::User,
            title: "title".into(),
            verdict: Verdict::Passed,
            took: Duration::ZERO,
            record: Record {
                probes: vec![row(Side::Outside), row(Side::Inside)],
                ..Record::default()
            },
        };
        let text = text(&[outcome]);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[3][..6],
            ["flood", "outside", "9/10", "2.00", "4.00", "8.00"]
        );
        assert_eq!(lines[4][..2], ["inside", "9/10"]);
        assert!(super::text(&[]).is_empty());
    }
}
