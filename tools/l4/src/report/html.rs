//! The run as one HTML page that needs nothing else: the matrix, then every case with its
//! checks, figures, charts, evidence and, where it failed, its console.

use crate::evidence::Evidence;
use crate::lane::Lane;
use crate::record::{Boot, Outcome, ProbeRow, Side, Verdict, Versions};
use crate::report::chart;
use crate::report::junit::escape;
use crate::report::probes;
use crate::session::Bench;

pub(crate) fn render(bench: &Bench, versions: &Versions, outcomes: &[Outcome]) -> String {
    let mut page = Page(String::new());
    page.add(format_args!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Ingress lanes: proof matrix</title><style>{}</style><main>",
        include_str!("style.css")
    ));
    page.add(format_args!(
        "<h1>Protected ingress lanes: proof matrix</h1>\
         <p class=\"lead\">Each case boots its own manifest in QEMU ({}), drives real \
         traffic, and compares what the clients saw with the service's evidence and the \
         kernel's own counts.</p>",
        bench.accel.name()
    ));
    page.summary(outcomes);
    page.matrix(outcomes);
    page.probes(outcomes);
    page.add(format_args!("<h2>Cases</h2>"));
    for outcome in outcomes {
        page.case(outcome);
    }
    page.add(format_args!("<h2>Versions</h2><table>"));
    for (name, version) in versions {
        page.row(&[name, version]);
    }
    page.add(format_args!("</table></main></html>\n"));
    page.0
}

struct Page(String);

/// The word and the class of a verdict.
fn verdict(outcome: &Outcome) -> (&'static str, &'static str) {
    match outcome.verdict {
        Verdict::Passed => ("passed", "good"),
        Verdict::Failed { .. } => ("failed", "bad"),
        Verdict::Skipped { .. } => ("skipped", "skip"),
    }
}

/// Whether what a column of the probes' table tells misses the goal.
fn missed(row: &ProbeRow, column: usize) -> bool {
    let over = |at: usize| {
        if row.side == Side::Public {
            return false;
        }
        let (ratios, goal) = (row.ratios(), ProbeRow::GOAL);
        ratios
            .get(at)
            .zip(goal.get(at))
            .is_some_and(|(is, goal)| is > goal)
    };
    match probes::TITLES.get(column) {
        Some(&"answered") => row.answered < row.asked,
        Some(&"gap ms") => row.gap_ms > 1e3,
        Some(&"p50 x") => over(0),
        Some(&"p90 x") => over(1),
        Some(&"p99 x") => over(2),
        _ => false,
    }
}

impl Page {
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.push_str(&text.to_string());
    }

    fn row(&mut self, cells: &[&str]) {
        self.add(format_args!("<tr>"));
        for cell in cells {
            self.add(format_args!("<td>{}</td>", escape(cell)));
        }
        self.add(format_args!("</tr>"));
    }

    fn summary(&mut self, outcomes: &[Outcome]) {
        let count = |word| outcomes.iter().filter(|one| verdict(one).0 == word).count();
        let checks: usize = outcomes.iter().map(|one| one.record.checks.len()).sum();
        let seconds: f64 = outcomes.iter().map(|one| one.took.as_secs_f64()).sum();
        self.add(format_args!(
            "<div class=\"sum\"><div class=\"good\"><b>{}</b>passed</div>\
             <div class=\"bad\"><b>{}</b>failed</div><div class=\"skip\"><b>{}</b>skipped</div>\
             <div><b>{checks}</b>checks</div><div><b>{seconds:.0} s</b>in all</div></div>",
            count("passed"),
            count("failed"),
            count("skipped")
        ));
    }

    fn matrix(&mut self, outcomes: &[Outcome]) {
        self.add(format_args!(
            "<table><thead><tr><th>Case</th><th>Wire</th><th>What it shows</th><th>Result</th>\
             <th class=\"n\">Checks</th><th class=\"n\">Seconds</th></tr></thead>"
        ));
        for outcome in outcomes {
            let (word, class) = verdict(outcome);
            let (name, id) = (escape(&outcome.name), escape(&outcome.id()));
            self.add(format_args!(
                "<tr><td><a href=\"#{id}\">{name}</a></td><td>{}</td><td>{}</td>\
                 <td class=\"{class}\">{word}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{:.1}</td></tr>",
                outcome.wire.name(),
                escape(&outcome.title),
                outcome.record.checks.len(),
                outcome.took.as_secs_f64()
            ));
        }
        self.add(format_args!("</table>"));
    }

    /// The probe's latencies; a multiple of idle past the goal is marked.
    fn probes(&mut self, outcomes: &[Outcome]) {
        if probes::rows(outcomes).next().is_none() {
            return;
        }
        let [p50, p90, p99] = ProbeRow::GOAL;
        self.add(format_args!(
            "<h2>The provider's probe under each load</h2><p class=\"dim\">The goal: every \
             probe answered, p50, p90 and p99 within {p50}, {p90} and {p99} times an idle \
             guest's, no gap of a second. Outside is on the host, inside by the guest's own \
             clock, public is the loaded lane's own health; <i>gap</i> is the longest time without an answer, <i>x</i> times an idle \
             guest's, <i>host %</i> what the host gave the emulator of the processor time that \
             it asked for.</p><div class=\"wide\"><table class=\"probes\"><thead><tr>\
             <th>Load</th>"
        ));
        for title in probes::TITLES {
            self.add(format_args!("<th class=\"n\">{title}</th>"));
        }
        self.add(format_args!("</tr></thead>"));
        let mut last = "";
        for (case, row) in probes::rows(outcomes) {
            if case != last {
                self.add(format_args!(
                    "<tr><th colspan=\"{}\">{}</th></tr>",
                    probes::TITLES.len() + 1,
                    escape(case)
                ));
                last = case;
            }
            let load = match row.side {
                Side::Outside => escape(&row.load),
                Side::Inside | Side::Public => String::new(),
            };
            self.add(format_args!("<tr><td>{load}</td>"));
            for (column, cell) in probes::cells(row).iter().enumerate() {
                let class = if missed(row, column) { "n bad" } else { "n" };
                self.add(format_args!("<td class=\"{class}\">{}</td>", escape(cell)));
            }
            self.add(format_args!("</tr>"));
        }
        self.add(format_args!("</table></div>"));
    }

    fn case(&mut self, outcome: &Outcome) {
        let (word, class) = verdict(outcome);
        let (name, id) = (escape(&outcome.name), escape(&outcome.id()));
        self.add(format_args!(
            "<section class=\"case\" id=\"{id}\"><h3>{name} over {} <span class=\"{class}\">\
             {word}</span></h3><div class=\"dim\">{}</div>",
            outcome.wire.name(),
            escape(&outcome.title)
        ));
        match &outcome.verdict {
            Verdict::Passed => {}
            Verdict::Failed { why, .. } => {
                self.add(format_args!("<p class=\"why\">{}</p>", escape(why)));
            }
            Verdict::Skipped { why } => {
                self.add(format_args!("<p class=\"skip\">{}</p>", escape(why)));
            }
        }
        if !outcome.record.figures.is_empty() {
            self.add(format_args!("<table>"));
            for figure in &outcome.record.figures {
                self.row(&[&figure.name, &figure.value]);
            }
            self.add(format_args!("</table>"));
        }
        for chart in &outcome.record.charts {
            let svg = chart::render(chart);
            self.add(format_args!("{svg}"));
        }
        self.checks(outcome);
        for boot in &outcome.record.boots {
            self.boot(boot, !outcome.passed());
        }
        self.add(format_args!("</section>"));
    }

    fn checks(&mut self, outcome: &Outcome) {
        let checks = &outcome.record.checks;
        if checks.is_empty() {
            return;
        }
        let open = if outcome.passed() { "" } else { " open" };
        self.add(format_args!(
            "<details{open}><summary>{} checks</summary><table>",
            checks.len()
        ));
        for check in checks {
            let (mark, class) = if check.held {
                ("\u{2713}", "good")
            } else {
                ("\u{2717}", "bad")
            };
            self.add(format_args!(
                "<tr><td class=\"{class}\">{mark}</td><td>{}</td><td class=\"dim\">{}</td></tr>",
                escape(&check.claim),
                escape(&check.detail)
            ));
        }
        self.add(format_args!("</table></details>"));
    }

    fn boot(&mut self, boot: &Boot, open: bool) {
        let ready = boot
            .ready_seconds
            .map(|seconds| format!(", ready after {seconds:.3} s"));
        self.add(format_args!(
            "<details><summary>machine on {}{}, {}</summary>",
            escape(&boot.manifest),
            ready.unwrap_or_default(),
            escape(boot.exit.as_deref().unwrap_or("ended by the harness"))
        ));
        if let Some(evidence) = &boot.evidence {
            self.lanes(evidence);
        }
        for listener in &boot.listeners {
            self.add(format_args!(
                "<div class=\"dim\">kernel: {} port {}: {} accepted, {} refused by the backlog</div>",
                escape(&listener.transport),
                listener.port,
                listener.accepted,
                listener.backlog_refused
            ));
        }
        self.add(format_args!(
            "<div class=\"dim\">boot package: {} KiB; kernel memory: {}</div>",
            boot.package_bytes >> 10,
            escape(boot.memory.as_deref().unwrap_or("not told"))
        ));
        self.add(format_args!(
            "<div class=\"dim\">console: {}</div>",
            escape(&boot.serial_log.display().to_string())
        ));
        if open && !boot.tail.is_empty() {
            self.add(format_args!("<pre>{}</pre>", escape(&boot.tail.join("\n"))));
        }
        self.add(format_args!("</details>"));
    }

    /// The per-lane counters of an evidence line, a column a lane; zero rows are left out.
    fn lanes(&mut self, evidence: &Evidence) {
        let mut counters: Vec<&str> = evidence
            .values()
            .keys()
            .filter_map(|key| key.strip_suffix("_anonymous"))
            .collect();
        counters.sort_unstable();
        self.add(format_args!("<table><thead><tr><th>evidence</th>"));
        for lane in Lane::ALL {
            self.add(format_args!("<th class=\"n\">{}</th>", lane.key()));
        }
        self.add(format_args!("</tr></thead>"));
        for counter in counters {
            let of = |lane| evidence.lane(counter, lane).unwrap_or_default();
            let values = Lane::ALL.map(of);
            if values.iter().all(|value| *value == 0) {
                continue;
            }
            self.add(format_args!("<tr><td>{}</td>", escape(counter)));
            for value in values {
                self.add(format_args!("<td class=\"n\">{value}</td>"));
            }
            self.add(format_args!("</tr>"));
        }
        self.add(format_args!("</table>"));
    }
}
