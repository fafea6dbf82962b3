//! Boot packages, compiled per boot through `mkmanifest`, so that a case always boots what
//! its manifest says now.

use std::path::Path;

use mkmanifest::{Binaries, LaneRules, Options};

use crate::artefacts::Artefacts;
use crate::failure::Failure;

/// Compiles a manifest, or tells how it was refused.
pub(crate) fn build(
    artefacts: &Artefacts,
    manifest: &Path,
    lane_rules: LaneRules,
) -> Result<Vec<u8>, mkmanifest::ManifestError> {
    // A kernel that cannot be read is found missing when QEMU is started.
    let kernel = std::fs::read(&artefacts.kernel).unwrap_or_default();
    let options = Options {
        lane_rules,
        kernel_bytes: mkmanifest::loaded_bytes(&kernel),
        ..Options::default()
    };
    let binaries = Binaries::default()
        .with("remote-session-web-ui", &artefacts.service)
        .with("ingress-probe", &artefacts.probe)
        .with("capos-rt-smoke", &artefacts.smoke)
        .with("hostile", &artefacts.hostile);
    mkmanifest::build(manifest, &binaries, options)
}

/// Compiles a manifest with files that are no programs in the programs' places.
pub(crate) fn with_programs_of(
    manifest: &Path,
    program: &Path,
) -> Result<Vec<u8>, mkmanifest::ManifestError> {
    let binaries = Binaries::default()
        .with("remote-session-web-ui", program)
        .with("ingress-probe", program);
    let options = Options {
        images: mkmanifest::Images::AsGiven,
        ..Options::default()
    };
    mkmanifest::build(manifest, &binaries, options)
}

/// Compiles a manifest into a file; a refusal is a failure.
pub(crate) fn compile(
    artefacts: &Artefacts,
    manifest: &Path,
    lane_rules: LaneRules,
    out: &Path,
) -> Result<(), Failure> {
    let package = build(artefacts, manifest, lane_rules).map_err(|error| Failure::Manifest {
        name: manifest.display().to_string(),
        cause: error.to_string(),
    })?;
    std::fs::write(out, package).map_err(|error| Failure::host(out.display().to_string(), error))
}
