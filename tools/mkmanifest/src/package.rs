//! Makes the boot package: one message of one segment, checked before it is written.

use std::path::{Path, PathBuf};

use capnp::message::{Builder, HeapAllocator};
use capos_config::manifest::FromCueValue;
use capos_config::{CueValue, ManifestBootstrapPlan, SystemManifest, capos_capnp};

use ingress_schema::PROCESSES_MAX;

use crate::binaries::{Binaries, Images};
use crate::error::{Fault, ManifestError};
use crate::model::Manifest;
use crate::tree::{self, BinaryEntry, BindingForm};
use crate::{capset, lanes, parse, policy, reader::Refused, roles};

/// What a kernel and a boot package may have together.
pub const IMAGE_BYTES_MAX: usize = 3 << 20;

/// Whether a manifest has to keep the lane rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneRules {
    /// It has to.
    #[default]
    Checked,
    /// It need not: for proofs that the service itself refuses such grants.
    Unchecked,
}

/// How a package is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether the lane rules are checked.
    pub lane_rules: LaneRules,
    /// What is done to binaries.
    pub images: Images,
    /// What the kernel that the package is for has in [`loaded_bytes`](crate::loaded_bytes); it
    /// shares [`IMAGE_BYTES_MAX`].
    pub kernel_bytes: usize,
}

/// Compiles a manifest file into a boot package.
///
/// # Errors
/// The manifest breaks a rule, or a binary is missing or cannot be loaded.
pub fn build(file: &Path, binaries: &Binaries, options: Options) -> Result<Vec<u8>, ManifestError> {
    let manifest = parse::read(file)?;
    check_manifest(&manifest, options.lane_rules)?;
    let in_file = |refused: Refused| refused.of(file);
    let mut entries = Vec::new();
    for name in tree::binary_names(&manifest) {
        let bytes = binaries.load(name, options.images).map_err(in_file)?;
        let data = Some(CueValue::bytes(bytes));
        let name = name.value.clone();
        entries.push(BinaryEntry { name, data });
    }
    let package = encode(&manifest, entries).map_err(|fault| ManifestError::whole(file, fault))?;
    let limit = IMAGE_BYTES_MAX.saturating_sub(options.kernel_bytes);
    if package.len() > limit {
        let bytes = package.len();
        return Err(ManifestError::whole(
            file,
            Fault::PackageTooLarge { bytes, limit },
        ));
    }
    Ok(package)
}

/// The files that [`build`] reads: the manifest and the binaries that it names.
///
/// # Errors
/// As [`parse::read`].
pub fn inputs(file: &Path, binaries: &Binaries) -> Result<Vec<PathBuf>, ManifestError> {
    let manifest = parse::read(file)?;
    let programs = tree::binary_names(&manifest);
    Ok(programs
        .into_iter()
        .map(|name| binaries.path(&name.value))
        .chain([file.to_owned()])
        .collect())
}

/// Checks a manifest file without its binaries, and gives it back read.
///
/// # Errors
/// The manifest breaks a rule.
pub fn check(file: &Path, lane_rules: LaneRules) -> Result<Manifest, ManifestError> {
    let manifest = parse::read(file)?;
    check_manifest(&manifest, lane_rules)?;
    Ok(manifest)
}

/// Checks a manifest that was read already.
///
/// # Errors
/// The manifest breaks a rule.
pub fn check_manifest(manifest: &Manifest, lane_rules: LaneRules) -> Result<(), ManifestError> {
    let in_file = |refused: Refused| refused.of(&manifest.file);
    check_count(manifest).map_err(in_file)?;
    capset::check(manifest).map_err(in_file)?;
    if lane_rules == LaneRules::Checked {
        lanes::check(manifest).map_err(in_file)?;
        roles::check(manifest).map_err(in_file)?;
        policy::policy(manifest)?;
    }
    validate_published(manifest).map_err(|fault| ManifestError::whole(&manifest.file, fault))
}

/// Refuses more processes than the kernel starts, at the first that is too many.
fn check_count(manifest: &Manifest) -> Result<(), Refused> {
    let (count, limit) = (manifest.services.len().saturating_add(1), PROCESSES_MAX);
    match manifest.services.get(limit.saturating_sub(1)) {
        Some(service) => {
            let at = service.name.at.clone();
            Err(Refused::new(at, Fault::TooManyProcesses { count, limit }))
        }
        None => Ok(()),
    }
}

/// Shows the manifest to the published validators, in the form that they know.
fn validate_published(manifest: &Manifest) -> Result<(), Fault> {
    let entries = tree::binary_names(manifest)
        .into_iter()
        .map(|name| BinaryEntry {
            name: name.value.clone(),
            // Presence of the bytes is checked when they are read.
            data: Some(CueValue::text("unread")),
        })
        .collect();
    let root = tree::root(manifest, entries, BindingForm::Published);
    let published = SystemManifest::from_cue_value(&root)?;
    published.validate_manifest_graph()?;
    published.validate_bootstrap_binary_refs()?;
    published.validate_bootstrap_cap_sources()?;
    published.validate_bootstrap()?;
    ManifestBootstrapPlan::from_manifest(&published)
        .and_then(|plan| plan.validate_bootstrap())
        .map_err(Fault::from)
}

fn encode(manifest: &Manifest, entries: Vec<BinaryEntry>) -> Result<Vec<u8>, Fault> {
    let root = tree::root(manifest, entries, BindingForm::Badge);
    let bytes = SystemManifest::from_cue_value(&root)
        .and_then(|manifest| manifest.to_capnp_bytes())
        .and_then(|bytes| one_segment(&bytes))?;
    capos_config::validate_boot_manifest_size(bytes.len())?;
    Ok(bytes)
}

/// Writes a message again as one segment, so that a kernel reads it where it lies: a reader of
/// several would have to copy them together, before there is any memory to copy to.
fn one_segment(bytes: &[u8]) -> capos_config::Result<Vec<u8>> {
    let mut rest = bytes;
    let options = capos_config::default_reader_options();
    let message = capnp::serialize::read_message_from_flat_slice(&mut rest, options)?;
    let words = u32::try_from(bytes.len().div_ceil(8)).unwrap_or(u32::MAX);
    let allocator = HeapAllocator::new().first_segment_words(words);
    let mut single = Builder::new(allocator);
    single.set_root(message.get_root::<capos_capnp::system_manifest::Reader<'_>>()?)?;
    Ok(capnp::serialize::write_message_to_words(&single))
}
