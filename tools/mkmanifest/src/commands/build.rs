//! `mkmanifest build`: a manifest and its binaries into a boot package.

use std::path::PathBuf;

use mkmanifest::{FileFault, Images, ManifestError, Options};

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
        self.spare_the_manifest()?;
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
        let package = mkmanifest::build(&self.manifest, &self.binaries.binaries(), options)?;
        std::fs::write(&self.out, &package)
            .map_err(|error| ManifestError::whole(&self.out, FileFault::Io(error)))?;
        println!("{}: {} bytes", self.out.display(), package.len());
        Ok(())
    }

    /// Refuses an output that is the input under this name or another.
    fn spare_the_manifest(&self) -> Result<(), ManifestError> {
        let is_manifest = match (self.out.canonicalize(), self.manifest.canonicalize()) {
            (Ok(out), Ok(manifest)) => out == manifest,
            _ => false,
        };
        if is_manifest {
            let error = std::io::Error::other("the package would overwrite its manifest");
            return Err(ManifestError::whole(&self.out, FileFault::Io(error)));
        }
        Ok(())
    }
}
