//! `mkmanifest show`: a boot package in words.

use std::path::PathBuf;

use mkmanifest::ManifestError;

/// Describe a boot package.
#[derive(clap::Args)]
pub(crate) struct Show {
    /// The package.
    package: PathBuf,
}

impl Show {
    pub(crate) fn run(&self) -> Result<(), ManifestError> {
        let bytes = mkmanifest::read_program(&self.package)?;
        mkmanifest::print_bytes(mkmanifest::show(&self.package, &bytes)?.as_bytes());
        Ok(())
    }
}
