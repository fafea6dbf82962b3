//! The subcommands, and the options that several of them have.

pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod export;
pub(crate) mod show;

use std::path::{Path, PathBuf};

use mkmanifest::{Binaries, LaneRules, complain};

/// Where binaries come from.
#[derive(clap::Args)]
pub(crate) struct BinaryArgs {
    /// Directory that holds the binaries under their own names.
    #[arg(long, value_name = "DIR", default_value = "target/guest")]
    bin_dir: PathBuf,
    /// One binary from a path of its own; may be given several times.
    #[arg(long = "bin", value_name = "NAME=PATH", value_parser = name_and_path)]
    bin: Vec<(String, PathBuf)>,
}

impl BinaryArgs {
    pub(crate) fn binaries(&self) -> Binaries {
        self.bin.iter().fold(
            Binaries::in_directory(&self.bin_dir),
            |binaries, (name, path)| binaries.with(name, path),
        )
    }
}

/// Whether the lane rules hold.
#[derive(clap::Args)]
pub(crate) struct LaneArgs {
    /// Let a manifest break the lane rules; only for proofs that the service
    /// refuses it at boot.
    #[arg(long)]
    unchecked_lanes: bool,
}

impl LaneArgs {
    pub(crate) fn rules(&self, file: &Path) -> LaneRules {
        if !self.unchecked_lanes {
            return LaneRules::Checked;
        }
        complain!(
            "warning: {}: lane rules are not checked; the service must refuse what breaks them",
            file.display()
        );
        LaneRules::Unchecked
    }
}

fn name_and_path(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(path)))
        }
        _ => Err("expected NAME=PATH".into()),
    }
}
