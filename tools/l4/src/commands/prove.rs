//! `l4 prove`: runs cases one after another, tells how each goes, and writes the reports.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};

use crate::artefacts::Artefacts;
use crate::cases::{self, Case, Control, Need, Suite};
use crate::child;
use crate::commands::namespace::{self, Inside};
use crate::failure::Failure;
use crate::machine::registry;
use crate::record::{Outcome, Record, Verdict};
use crate::report;
use crate::session::{Bench, Session};

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
    /// Runs the chosen cases.
    pub(crate) fn execute(&self, artefacts: Artefacts) -> ExitCode {
        match self.run(artefacts) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(failure) => {
                eprintln!("l4: {failure}");
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
        std::fs::create_dir_all(&self.out)
            .map_err(|error| Failure::host(self.out.display().to_string(), error))?;
        let _lock = self.lock()?;
        let accel = super::settle_accel(&artefacts, &self.out)?;
        let bench = Bench {
            artefacts,
            accel,
            out: self.out.clone(),
        };
        println!("l4: cases: {}, under {}", chosen.len(), accel.name());
        let mut outcomes = Vec::new();
        for case in chosen {
            if self.needs_namespace(case) {
                let inside = if self.negative_controls {
                    Inside::Controls
                } else {
                    Inside::Case
                };
                outcomes.extend(namespace::run(&bench, case, inside));
            } else if self.negative_controls {
                for control in case.controls {
                    outcomes.push(told(run_control(&bench, case, control)));
                }
            } else {
                outcomes.push(told(run_case(&bench, case)));
            }
        }
        if self.inside_namespace {
            namespace::leave_outcomes(&bench, &outcomes)?;
            return Ok(true);
        }
        report::write(&bench, &outcomes)?;
        Ok(report::table::print(&outcomes))
    }

    /// Keeps other runs out of the folder; the harness inside a namespace shares its outer
    /// one's.
    fn lock(&self) -> Result<Option<File>, Failure> {
        if self.inside_namespace {
            return Ok(None);
        }
        let path = self.out.join(".lock");
        let doing = || path.display().to_string();
        let lock = File::create(&path).map_err(|error| Failure::host(doing(), error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Err(Failure::host(
                doing(),
                "another run writes here; `make run-l4 OUT=FOLDER` takes another folder",
            )),
            Err(TryLockError::Error(error)) => Err(Failure::host(doing(), error)),
        }
    }

    /// Whether a case has to be run by another harness, inside a namespace.
    fn needs_namespace(&self, case: &Case) -> bool {
        !self.inside_namespace && matches!(case.need, Need::Root(_)) && unmet(case.need).is_none()
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

fn run_case(bench: &Bench, case: &Case) -> Outcome {
    println!("  {:<22} {}", case.name, case.title);
    let started = Instant::now();
    let (verdict, record) = match unmet(case.need) {
        Some(why) => (Verdict::Skipped { why }, Record::default()),
        None => {
            let folder = bench.out.join(case.name);
            judged(Session::open(bench, folder, None, step), case)
        }
    };
    Outcome {
        name: case.name.to_owned(),
        title: case.title.to_owned(),
        verdict,
        took: started.elapsed(),
        record,
    }
}

/// A control passes when exactly what it breaks is found out.
fn run_control(bench: &Bench, case: &Case, control: &Control) -> Outcome {
    println!(
        "  {:<22} control {}: {}",
        case.name, control.name, control.breaks
    );
    let started = Instant::now();
    let folder = bench
        .out
        .join("controls")
        .join(case.name)
        .join(control.name);
    let (verdict, record) = match unmet(case.need) {
        Some(why) => (Verdict::Skipped { why }, Record::default()),
        None => judged(
            Session::open(bench, folder, Some(control.sabotage), step),
            case,
        ),
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
        name: format!("{}/{}", case.name, control.name),
        title: format!("found out: {}", control.breaks),
        verdict,
        took: started.elapsed(),
        record,
    }
}

fn judged(session: Result<Session<'_>, Failure>, case: &Case) -> (Verdict, Record) {
    let ended = |failure: &Failure| Verdict::Failed {
        kind: failure.kind().to_owned(),
        why: failure.to_string(),
    };
    let mut session = match session {
        Ok(session) => session,
        Err(failure) => return (ended(&failure), Record::default()),
    };
    let result = (case.run)(&mut session);
    let record = session.into_record();
    let broken: Vec<String> = record
        .checks
        .iter()
        .filter(|check| !check.held)
        .map(|check| format!("{} ({})", check.claim, check.detail))
        .collect();
    let verdict = match result {
        Err(failure) => ended(&failure),
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

/// What a case needs and this host lacks.
fn unmet(need: Need) -> Option<String> {
    let (programs, root) = match need {
        Need::Nothing => return None,
        Need::Programs(programs) => (programs, false),
        Need::Root(programs) => (programs, true),
    };
    if root && !is_root() {
        return Some("needs root, for a network namespace of its own".into());
    }
    let missing = programs
        .iter()
        .find(|program| child::find(program).is_none());
    missing.map(|program| format!("needs {program}; `make setup` installs it"))
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    user.and_then(|ids| ids.split_whitespace().nth(1)) == Some("0")
}

fn step(what: &str) {
    println!("      . {what}");
}

fn told(outcome: Outcome) -> Outcome {
    let took = outcome.took.as_secs_f64();
    match &outcome.verdict {
        Verdict::Passed => {
            let checks = outcome.record.checks.len();
            println!("    ok   {took:6.1} s, {checks} checks");
        }
        Verdict::Skipped { why } => println!("    SKIP {why}"),
        Verdict::Failed { kind, why } => println!("    FAIL {took:6.1} s, {kind}: {why}"),
    }
    outcome
}
