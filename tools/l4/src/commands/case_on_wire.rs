//! One case over one wire, by itself or on something that is broken on purpose.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use mkmanifest::say;

use crate::cases::{Case, Control, Need};
use crate::child;
use crate::commands::namespace::{self, Inside};
use crate::record::{Outcome, Record, Verdict};
use crate::session::{Bench, Session};
use crate::wire::Wire;

#[derive(Clone, Copy)]
pub(crate) struct CaseOnWire {
    pub(crate) case: &'static Case,
    pub(crate) wire: Wire,
}

impl CaseOnWire {
    /// A case over each of its wires on this host.
    pub(crate) fn of(case: &'static Case) -> Vec<Self> {
        let here = case.wires.here().into_iter();
        here.map(|wire| Self { case, wire }).collect()
    }

    /// Carries it through, in a namespace of its own if the wire wants one.
    pub(crate) fn run(self, bench: &Bench) -> Vec<Outcome> {
        if self.needs_namespace(bench) {
            return namespace::run(bench, self, Inside::Case);
        }
        vec![told(self.outcome(bench))]
    }

    /// Carries the case's negative controls through.
    pub(crate) fn run_controls(self, bench: &Bench) -> Vec<Outcome> {
        if self.needs_namespace(bench) {
            return namespace::run(bench, self, Inside::Controls);
        }
        let controls = self.case.controls.iter();
        controls
            .map(|control| told(self.control(bench, control)))
            .collect()
    }

    fn needs_namespace(self, bench: &Bench) -> bool {
        self.wire == Wire::Tap && !bench.inside_namespace && self.unmet().is_none()
    }

    /// What it needs and this host lacks.
    fn unmet(self) -> Option<String> {
        let missing = match self.case.need {
            Need::Nothing => None,
            Need::Programs(programs) => programs
                .iter()
                .find(|program| child::find(program).is_none()),
        };
        let missing = missing.map(|program| format!("needs {program}; `make setup` installs it"));
        missing.or_else(|| self.wire.unmet())
    }

    /// Its name in files.
    fn file_name(self) -> String {
        format!("{}-{}", self.case.name, self.wire.name())
    }

    /// The outcome of what did not come to a verdict of its own.
    pub(crate) fn no_verdict(self, verdict: Verdict) -> Outcome {
        Outcome {
            name: self.case.name.to_owned(),
            wire: self.wire,
            title: self.case.title.to_owned(),
            verdict,
            took: Duration::ZERO,
            record: Record::default(),
        }
    }

    fn outcome(self, bench: &Bench) -> Outcome {
        say!(
            "  {:<22} {:<6} {}",
            self.case.name,
            self.wire.name(),
            self.case.title
        );
        let started = Instant::now();
        if let Some(why) = self.unmet() {
            return self.no_verdict(Verdict::Skipped { why });
        }
        let folder = bench.out.join(self.file_name());
        let (verdict, record) = self.judged(bench, folder, None);
        Outcome {
            took: started.elapsed(),
            record,
            ..self.no_verdict(verdict)
        }
    }

    /// A control passes when exactly what it breaks is found out.
    fn control(self, bench: &Bench, control: &Control) -> Outcome {
        say!(
            "  {:<22} {:<6} control {}: {}",
            self.case.name,
            self.wire.name(),
            control.name,
            control.breaks
        );
        let started = Instant::now();
        let folder = bench.out.join("controls");
        let folder = folder.join(self.file_name()).join(control.name);
        let (verdict, record) = match self.unmet() {
            Some(why) => (Verdict::Skipped { why }, Record::default()),
            None => self.judged(bench, folder, Some(control)),
        };
        let found_out = record
            .checks
            .iter()
            .any(|check| !check.held && check.claim.contains(control.must_fail));
        let verdict = match verdict {
            Verdict::Skipped { why } => Verdict::Skipped { why },
            _ if found_out => Verdict::Passed,
            Verdict::Passed => Verdict::Failed {
                kind: "not-found-out".into(),
                why: format!("every check held although {}", control.breaks),
            },
            Verdict::Failed { kind, why } => Verdict::Failed {
                kind: "other-failure".into(),
                why: format!(
                    "the check with `{}` did not fail; instead, {kind}: {why}",
                    control.must_fail
                ),
            },
        };
        Outcome {
            name: format!("{}/{}", self.case.name, control.name),
            title: format!("found out: {}", control.breaks),
            took: started.elapsed(),
            record,
            ..self.no_verdict(verdict)
        }
    }

    fn judged(
        self,
        bench: &Bench,
        folder: PathBuf,
        control: Option<&Control>,
    ) -> (Verdict, Record) {
        let sabotage = control.map(|control| control.sabotage);
        let mut session = match Session::open(bench, folder, self.wire, sabotage) {
            Ok(session) => session,
            Err(failure) => return (Verdict::of(&failure), Record::default()),
        };
        let result = (self.case.run)(&mut session);
        let record = session.into_record();
        let broken: Vec<String> = record
            .checks
            .iter()
            .filter(|check| !check.held)
            .map(|check| format!("{} ({})", check.claim, check.detail))
            .collect();
        let verdict = match result {
            Err(failure) => Verdict::of(&failure),
            Ok(()) if record.checks.is_empty() => Verdict::Failed {
                kind: "no-checks".into(),
                why: "the case asserted nothing".into(),
            },
            Ok(()) if broken.is_empty() => Verdict::Passed,
            Ok(()) => Verdict::Failed {
                kind: "checks".into(),
                why: broken.join("\n    "),
            },
        };
        (verdict, record)
    }
}

fn told(outcome: Outcome) -> Outcome {
    let took = outcome.took.as_secs_f64();
    match &outcome.verdict {
        Verdict::Passed => {
            let checks = outcome.record.checks.len();
            say!("    ok   {took:6.1} s, {checks} checks");
        }
        Verdict::Skipped { why } => say!("    SKIP {why}"),
        Verdict::Failed { kind, why } => say!("    FAIL {took:6.1} s, {kind}: {why}"),
    }
    outcome
}
