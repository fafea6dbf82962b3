//! `mkmanifest export`: the manifest as JSON, which is valid CUE.

use std::path::PathBuf;

use mkmanifest::ManifestError;

use super::{BinaryArgs, LaneArgs};

/// Print a manifest as JSON, which is valid CUE, for a capOS tree.
#[derive(clap::Args)]
pub(crate) struct Export {
    /// The manifest.
    manifest: PathBuf,
    /// Include the binaries' bytes, not their names alone.
    #[arg(long)]
    with_binaries: bool,
    #[command(flatten)]
    binaries: BinaryArgs,
    #[command(flatten)]
    lanes: LaneArgs,
}

impl Export {
    pub(crate) fn run(&self) -> Result<(), ManifestError> {
        let manifest = mkmanifest::check(&self.manifest, self.lanes.rules(&self.manifest))?;
        let binaries = self.with_binaries.then(|| self.binaries.binaries());
        mkmanifest::print_bytes(mkmanifest::export(&manifest, binaries.as_ref())?.as_bytes());
        Ok(())
    }
}
