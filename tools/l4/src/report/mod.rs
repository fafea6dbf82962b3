//! What a run leaves: a table on the terminal, and in the output folder the record as JSON,
//! a JUnit file and one HTML page.

mod chart;
mod html;
mod junit;
mod probes;
pub(crate) mod table;
mod versions;

use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;
use crate::record::{Outcome, Versions};
use crate::session::Bench;

/// A whole run, as written to `run.json`.
#[derive(Serialize)]
struct Run<'run> {
    accelerator: &'static str,
    versions: &'run Versions,
    outcomes: &'run [Outcome],
}

pub(crate) fn write(bench: &Bench, outcomes: &[Outcome]) -> Result<(), Failure> {
    let versions = versions::collect(bench);
    let run = Run {
        accelerator: bench.accel.name(),
        versions: &versions,
        outcomes,
    };
    let json = serde_json::to_string_pretty(&run)
        .map_err(|error| Failure::host("writing the report", error))?;
    put(&bench.out.join("run.json"), &json)?;
    for outcome in outcomes {
        evidence(bench, outcome)?;
    }
    put(&bench.out.join("junit.xml"), &junit::render(outcomes))?;
    put(
        &bench.out.join("report.html"),
        &html::render(bench, &versions, outcomes),
    )
}

/// The evidence of one case, beside its serial logs.
fn evidence(bench: &Bench, outcome: &Outcome) -> Result<(), Failure> {
    let lines: Vec<_> = outcome
        .record
        .boots
        .iter()
        .map(|boot| (&boot.manifest, &boot.evidence, &boot.listeners))
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    let json = serde_json::to_string_pretty(&lines)
        .map_err(|error| Failure::host("writing the evidence", error))?;
    let name = format!("{}.evidence.json", outcome.id());
    put(&bench.out.join(name), &json)
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::host(path.display().to_string(), error))
}
