//! `mkmanifest build`: a manifest and its binaries into a boot package.

use std::path::PathBuf;

use mkmanifest::{Images, ManifestError, Options, say};

use super::{BinaryArgs, LaneArgs};

/// Compile a manifest and its binaries into a boot package.
#[derive(clap::Args)]
pub(crate) struct Build {
    /// The manifest.
    manifest: PathBuf,
    /// Where to write the package.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    binaries: BinaryArgs,
    #[command(flatten)]
    lanes: LaneArgs,
    /// Kernel that shares the size limit with the package.
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// Pack binaries as they are, loadable or not; only for proofs that the
    /// kernel refuses them.
    #[arg(long)]
    unchecked_binaries: bool,
}

impl Build {
    pub(crate) fn run(&self) -> Result<(), ManifestError> {
        let kernel_bytes = match &self.kernel {
            Some(kernel) => mkmanifest::loaded_bytes(&mkmanifest::read_program(kernel)?),
            None => 0,
        };
        let options = Options {
            lane_rules: self.lanes.rules(&self.manifest),
            images: if self.unchecked_binaries {
                Images::AsGiven
            } else {
                Images::Loadable
            },
            kernel_bytes,
        };
        let binaries = self.binaries.binaries();
        let package = mkmanifest::build(&self.manifest, &binaries, options)?;
        let mut inputs = mkmanifest::inputs(&self.manifest, &binaries)?;
        inputs.extend(self.kernel.clone());
        mkmanifest::replace(&self.out, &package, &inputs)?;
        say!("{}: {} bytes", self.out.display(), package.len());
        Ok(())
    }
}
