//! `mkmanifest policy`: the policy that a manifest resolves to, as one record.

use std::path::PathBuf;

use mkmanifest::{Fault, ManifestError};

use super::LaneArgs;

/// Write the policy that a manifest resolves to, as a record of `schema/policy.capnp`.
#[derive(clap::Args)]
pub(crate) struct Policy {
    /// The manifest.
    manifest: PathBuf,
    #[command(flatten)]
    lanes: LaneArgs,
}

impl Policy {
    pub(crate) fn run(&self) -> Result<(), ManifestError> {
        let manifest = mkmanifest::check(&self.manifest, self.lanes.rules(&self.manifest))?;
        let policy = mkmanifest::policy(&manifest)?
            .ok_or_else(|| ManifestError::whole(&self.manifest, Fault::NoLane))?;
        mkmanifest::print_bytes(&mkmanifest::policy_record(&policy));
        Ok(())
    }
}
