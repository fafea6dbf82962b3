//! `mkmanifest check`: every rule, without the binaries.

use std::path::PathBuf;

use mkmanifest::{ManifestError, complain, say};

use super::LaneArgs;

/// Check manifests without their binaries.
#[derive(clap::Args)]
pub(crate) struct Check {
    /// The manifests.
    #[arg(required = true)]
    manifests: Vec<PathBuf>,
    #[command(flatten)]
    lanes: LaneArgs,
}

impl Check {
    pub(crate) fn run(&self) -> Result<(), ManifestError> {
        for file in &self.manifests {
            let manifest = mkmanifest::check(file, self.lanes.rules(file))?;
            say!("{}: ok", file.display());
            // Unchecked lanes may have no policy to show; that is the service's to say.
            if let Ok(Some(policy)) = mkmanifest::policy(&manifest) {
                say!("  {policy}");
                for clamped in mkmanifest::clamps(&policy) {
                    complain!(
                        "warning: {}: {clamped} is cut to what the service holds",
                        file.display()
                    );
                }
            }
        }
        Ok(())
    }
}
