//! The run as a JUnit file, for build servers.

use crate::record::{Outcome, Verdict};

/// Escapes text for XML; control characters that XML forbids become `?`.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(character),
            _ if character.is_control() => out.push('?'),
            _ => out.push(character),
        }
    }
    out
}

pub(crate) fn render(outcomes: &[Outcome]) -> String {
    let failures = outcomes
        .iter()
        .filter(|one| matches!(one.verdict, Verdict::Failed { .. }))
        .count();
    let skipped = outcomes.iter().filter(|one| one.skipped()).count();
    let seconds: f64 = outcomes.iter().map(|one| one.took.as_secs_f64()).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{seconds:.3}\"",
        outcomes.len()
    );
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!(
        "<testsuites {counts}>\n<testsuite name=\"l4\" {counts}>"
    ));
    for outcome in outcomes {
        line(format!(
            "<testcase classname=\"l4.{}\" name=\"{}\" time=\"{:.3}\">",
            outcome.wire.name(),
            escape(&outcome.name),
            outcome.took.as_secs_f64()
        ));
        match &outcome.verdict {
            Verdict::Passed => {}
            Verdict::Skipped { why } => {
                line(format!("<skipped message=\"{}\"/>", escape(why)));
            }
            Verdict::Failed { kind, why } => line(format!(
                "<failure type=\"{}\" message=\"{}\">{}</failure>",
                escape(kind),
                escape(why.lines().next().unwrap_or_default()),
                escape(why)
            )),
        }
        line(format!(
            "<system-out>{}</system-out>",
            escape(&checks(outcome))
        ));
        line("</testcase>".into());
    }
    line("</testsuite>\n</testsuites>".into());
    out
}

fn checks(outcome: &Outcome) -> String {
    let mut text = String::new();
    for check in &outcome.record.checks {
        let mark = if check.held { "ok" } else { "FAILED" };
        text += &format!("{mark} {} ({})\n", check.claim, check.detail);
    }
    for figure in &outcome.record.figures {
        text += &format!("{}: {}\n", figure.name, figure.value);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::Record;
    use crate::wire::Wire;

    #[test]
    fn failures_are_counted_and_text_is_escaped() {
        let outcome = Outcome {
            name: "a<b".into(),
            wire: Wire::Tap,
            title: "title".into(),
            verdict: Verdict::Failed {
                kind: "checks".into(),
                why: "1 < 2 & \u{1b}".into(),
            },
            took: Duration::from_millis(1500),
            record: Record::default(),
        };
        let xml = render(&[outcome]);
        assert!(xml.contains("tests=\"1\" failures=\"1\" skipped=\"0\" time=\"1.500\""));
        assert!(xml.contains("classname=\"l4.tap\" name=\"a&lt;b\""));
        assert!(xml.contains("1 &lt; 2 &amp; ?"));
    }
}
