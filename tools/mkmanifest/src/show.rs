//! Describes a boot package in words, from its bytes alone.

use std::fmt::{self, Write};
use std::path::Path;

use capnp::message::ReaderOptions;
use capos_config::capos_capnp::{named_blob, system_manifest};
use capos_config::{CapSource, KernelCapSource, ManifestBootstrapPlan};
use ingress_schema::listen::ListenBinding;

use crate::error::{Fault, ManifestError};

/// The description; `file` is the package's name in errors.
///
/// # Errors
/// The bytes are no boot package.
pub fn show(file: &Path, package: &[u8]) -> Result<String, ManifestError> {
    // Read as often as an honest package needs, not as often as a few words may ask for.
    let mut options = capos_config::default_reader_options();
    options.traversal_limit_in_words(Some(package.len().div_ceil(8).saturating_mul(2)));
    let plan = ManifestBootstrapPlan::from_capnp_bytes_with_options(package, options)
        .map_err(|error| ManifestError::whole(file, Fault::NotAPackage { error }))?;
    let checks = checks(package, options).map_err(|error| {
        ManifestError::whole(
            file,
            Fault::NotAPackage {
                error: error.into(),
            },
        )
    })?;
    let mut text = String::new();
    describe(&mut text, package.len(), &plan, &checks)
        .map_err(|error| ManifestError::whole(file, Fault::from(std::io::Error::other(error))))?;
    Ok(text)
}

/// Check numbers of the binaries, as the kernel prints them of what it loads.
fn checks(package: &[u8], options: ReaderOptions) -> capnp::Result<Vec<u64>> {
    let mut rest = package;
    let message = capnp::serialize::read_message_from_flat_slice(&mut rest, options)?;
    let binaries = message
        .get_root::<system_manifest::Reader<'_>>()?
        .get_binaries()?;
    let check = |blob: named_blob::Reader<'_>| Ok(ingress_schema::check_number(blob.get_data()?));
    binaries.iter().map(check).collect()
}

fn describe(
    out: &mut String,
    bytes: usize,
    plan: &ManifestBootstrapPlan,
    checks: &[u64],
) -> fmt::Result {
    writeln!(
        out,
        "boot package: {bytes} bytes, schema version {}",
        plan.schema_version
    )?;
    for (binary, check) in plan.binaries.iter().zip(checks) {
        let (name, bytes) = (&binary.name, binary.data_len);
        writeln!(out, "binary {name}: {bytes} bytes, check {check:016x}")?;
    }
    if let Some(system) = &plan.kernel_params {
        writeln!(
            out,
            "system: hostname `{}`, log level {}, motd {:?}",
            system.hostname, system.log_level, system.motd
        )?;
    }
    writeln!(out, "init runs {}", plan.init.binary)?;
    for cap in &plan.init.caps {
        describe_cap(out, &cap.name, &CapSource::Kernel(cap.source), cap.badge)?;
    }
    for service in &plan.services {
        writeln!(out, "service {} runs {}", service.name, service.binary)?;
        for cap in &service.caps {
            describe_cap(out, &cap.name, &cap.source, cap.badge)?;
        }
    }
    match &plan.exit_when_service_exits {
        Some(name) => writeln!(out, "ends when service {name} or init exits"),
        None => writeln!(out, "ends when init exits"),
    }
}

fn describe_cap(out: &mut String, name: &str, source: &CapSource, badge: u64) -> fmt::Result {
    write!(out, "  {name:<32} {source}")?;
    if matches!(
        source,
        CapSource::Kernel(KernelCapSource::TcpListenAuthority)
    ) {
        match ListenBinding::from_badge(badge) {
            Ok(binding) => write!(out, " on {binding}")?,
            Err(error) => write!(out, " with bad badge {badge:#x}: {error}")?,
        }
    } else if badge != 0 {
        write!(out, " badge {badge}")?;
    }
    writeln!(out)
}
