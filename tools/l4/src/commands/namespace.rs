//! Cases that need a network of their own: the harness starts itself again inside a fresh
//! network namespace, which vanishes with it, and takes over what that one recorded.

use std::path::PathBuf;

use crate::child;
use crate::commands::case_on_wire::CaseOnWire;
use crate::failure::Failure;
use crate::record::{Outcome, Verdict};
use crate::session::Bench;

/// What is run inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// The case itself.
    Case,
    /// Its negative controls.
    Controls,
}

/// Runs a case over its wire in a namespace of its own.
pub(crate) fn run(bench: &Bench, case_on_wire: CaseOnWire, inside: Inside) -> Vec<Outcome> {
    match again(bench, case_on_wire, inside) {
        Ok(outcomes) => outcomes,
        Err(failure) => vec![case_on_wire.no_verdict(Verdict::of(&failure))],
    }
}

fn file(bench: &Bench) -> PathBuf {
    bench.out.join("inside.json")
}

fn again(bench: &Bench, case_on_wire: CaseOnWire, inside: Inside) -> Result<Vec<Outcome>, Failure> {
    let doing = "starting the harness in a network namespace";
    let own = std::env::current_exe().map_err(|error| Failure::host(doing, error))?;
    let file = file(bench);
    drop(std::fs::remove_file(&file));
    let artefacts = &bench.artefacts;
    let status = child::leashed("unshare")
        .map_err(|error| Failure::host(doing, error))?
        .arg("--net")
        .arg(own)
        .args([
            "prove",
            "--inside-namespace",
            "--case",
            case_on_wire.case.name,
        ])
        .args((inside == Inside::Controls).then_some("--negative-controls"))
        .arg("--out")
        .arg(&bench.out)
        .arg("--kernel")
        .arg(&artefacts.kernel)
        .arg("--service")
        .arg(&artefacts.service)
        .arg("--probe")
        .arg(&artefacts.probe)
        .arg("--smoke")
        .arg(&artefacts.smoke)
        .arg("--hostile")
        .arg(&artefacts.hostile)
        .arg("--broken")
        .arg(&artefacts.broken)
        .arg("--manifests")
        .arg(&artefacts.manifests)
        .arg("--load-seconds")
        .arg(bench.load_time.as_secs().to_string())
        .arg("--memory")
        .arg(artefacts.memory.to_string())
        .env("L4_ACCEL", bench.accel.name())
        .env("L4_QEMU", &artefacts.qemu)
        .status()
        .map_err(|error| Failure::host(doing, error))?;
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Failure::host(doing, format!("{status}, no outcome: {error}")))?;
    serde_json::from_str(&text).map_err(|error| Failure::host(doing, error))
}

/// Leaves what was recorded inside for the harness outside.
pub(crate) fn leave_outcomes(bench: &Bench, outcomes: &[Outcome]) -> Result<(), Failure> {
    let doing = "leaving the outcome of a namespace";
    let text = serde_json::to_string(outcomes).map_err(|error| Failure::host(doing, error))?;
    std::fs::write(file(bench), text).map_err(|error| Failure::host(doing, error))
}
