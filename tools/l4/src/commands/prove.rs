//! `l4 prove`: runs cases one after another, tells how each goes, and writes the reports
//! (invariant H6: a build server's run does not pass on what was skipped).

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};

use mkmanifest::{complain, say};

use crate::artefacts::Artefacts;
use crate::cases::{self, Case, Suite};
use crate::commands::case_on_wire::CaseOnWire;
use crate::commands::namespace;
use crate::failure::Failure;
use crate::machine::registry;
use crate::record::{Outcome, Verdict};
use crate::report;
use crate::session::Bench;
use crate::wire::Wire;

/// Arguments of `l4 prove`.
#[derive(Args)]
pub(crate) struct Prove {
    /// Runs only these cases.
    #[arg(long = "case")]
    cases: Vec<String>,
    /// Which cases run when none is named.
    #[arg(long, value_enum, default_value_t = Which::Matrix)]
    suite: Which,
    /// Runs the negative controls of the cases instead of the cases.
    #[arg(long)]
    negative_controls: bool,
    /// How long each load of `lane-order` lasts, in seconds.
    #[arg(long, default_value_t = 20)]
    load_seconds: u64,
    /// Set by the harness on itself, inside the network namespace that it made.
    #[arg(long, hide = true)]
    inside_namespace: bool,
    /// Where the reports, logs and packages go.
    #[arg(long, default_value = "target/l4")]
    out: PathBuf,
}

/// A choice of suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// What every change must pass.
    Matrix,
    /// The longer attacks.
    Attack,
    /// Both.
    All,
}

impl Prove {
    pub(crate) fn execute(&self, artefacts: Artefacts) -> ExitCode {
        match self.run(artefacts) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(failure) => {
                complain!("l4: {failure}");
                ExitCode::FAILURE
            }
        }
    }

    fn run(&self, artefacts: Artefacts) -> Result<bool, Failure> {
        artefacts.check()?;
        ctrlc::set_handler(|| {
            registry::end_all();
            std::process::exit(130);
        })
        .map_err(|error| Failure::host("handling Ctrl-C", error))?;
        let chosen = self.chosen()?;
        // Inside a namespace the folder is the outer harness's, which holds its lock.
        let _lock = (!self.inside_namespace)
            .then(|| super::lock(&self.out, "`make run-l4 OUT=FOLDER`"))
            .transpose()?;
        let accel = super::settle_accel(&artefacts, &self.out)?;
        let bench = Bench {
            artefacts,
            accel,
            out: self.out.clone(),
            load_time: Duration::from_secs(self.load_seconds),
            inside_namespace: self.inside_namespace,
        };
        let runs: Vec<CaseOnWire> = chosen
            .into_iter()
            .flat_map(|case| self.runs(case))
            .collect();
        if !self.inside_namespace {
            say!("l4: runs: {}, under {}", runs.len(), accel.name());
        }
        let mut outcomes = Vec::new();
        for case_on_wire in runs {
            outcomes.extend(if self.negative_controls {
                case_on_wire.run_controls(&bench)
            } else {
                case_on_wire.run(&bench)
            });
        }
        if self.inside_namespace {
            namespace::leave_outcomes(&bench, &outcomes)?;
            return Ok(true);
        }
        if is_ci() {
            outcomes.iter_mut().for_each(fail_if_skipped);
        }
        report::write(&bench, &outcomes)?;
        Ok(report::table::print(&outcomes))
    }

    /// A case's runs; its controls are carried through over the first of its wires.
    fn runs(&self, case: &'static Case) -> Vec<CaseOnWire> {
        let mut runs = CaseOnWire::of(case);
        if self.inside_namespace {
            runs.retain(|case_on_wire| case_on_wire.wire == Wire::Tap);
        }
        if self.negative_controls {
            runs.truncate(1);
        }
        runs
    }

    fn chosen(&self) -> Result<Vec<&'static Case>, Failure> {
        if self.cases.is_empty() {
            let wanted = |case: &&&'static Case| match self.suite {
                Which::All => case.suite != Suite::OnDemand,
                Which::Matrix => case.suite == Suite::Matrix,
                Which::Attack => case.suite == Suite::Attack,
            };
            return Ok(cases::ALL.iter().filter(wanted).copied().collect());
        }
        let find = |name: &String| {
            let found = cases::ALL.iter().find(|case| case.name == name);
            found.copied().ok_or_else(|| {
                Failure::host("choosing cases", format!("no case `{name}`; see `l4 list`"))
            })
        };
        self.cases.iter().map(find).collect()
    }
}

/// Whether this is a build server's run, which must not pass on what it did not do.
fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true")
}

fn fail_if_skipped(outcome: &mut Outcome) {
    if let Verdict::Skipped { why } = &outcome.verdict {
        outcome.verdict = Verdict::Failed {
            kind: "skipped".into(),
            why: why.clone(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_server_does_not_pass_on_what_was_skipped() {
        let case_on_wire = CaseOnWire {
            case: cases::ALL[0],
            wire: Wire::User,
        };
        let mut skipped = case_on_wire.no_verdict(Verdict::Skipped { why: "root".into() });
        fail_if_skipped(&mut skipped);
        assert!(!skipped.skipped() && !skipped.passed());
        let mut passed = case_on_wire.no_verdict(Verdict::Passed);
        fail_if_skipped(&mut passed);
        assert!(passed.passed());
    }
}
