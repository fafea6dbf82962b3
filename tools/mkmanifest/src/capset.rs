//! What a CapSet page can hold, checked before the kernel has to refuse it.

use std::collections::HashMap;

use capos_config::KernelCapSource;
use capos_config::capset::{CAPSET_MAX_ENTRIES, CAPSET_NAME_MAX};
use ingress_schema::CAP_DISCRIMINATOR_NAME;

use crate::error::Fault;
use crate::location::Location;
use crate::model::{Grant, Manifest, Marker};
use crate::reader::Refused;

/// Checks the CapSet of every process.
pub(crate) fn check(manifest: &Manifest) -> Result<(), Refused> {
    check_process(&manifest.init.grants, &manifest.markers)?;
    for service in &manifest.services {
        check_process(&service.process.grants, &[])?;
    }
    Ok(())
}

fn check_process(grants: &[Grant], markers: &[Marker]) -> Result<(), Refused> {
    let names = grants
        .iter()
        .map(|grant| (grant.name.as_str(), &grant.at))
        .chain(
            markers
                .iter()
                .map(|marker| (marker.name.as_str(), &marker.at)),
        );
    let mut seen: HashMap<&str, &Location> = HashMap::new();
    let mut last = None;
    for (name, at) in names {
        let refuse = |fault| Err(Refused::new(at.clone(), fault));
        if name.len() > CAPSET_NAME_MAX {
            return refuse(Fault::NameTooLong {
                name: name.to_owned(),
                limit: CAPSET_NAME_MAX,
            });
        }
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return refuse(Fault::NameNotPrintable {
                name: name.to_owned(),
            });
        }
        if name == CAP_DISCRIMINATOR_NAME {
            return refuse(Fault::ReservedName);
        }
        if let Some(first) = seen.insert(name, at) {
            return refuse(Fault::DuplicateName {
                first: first.clone(),
            });
        }
        last = Some(at);
    }
    // The kernel adds the discriminator to whoever holds a listen authority.
    let listens = grants
        .iter()
        .any(|grant| grant.source() == KernelCapSource::TcpListenAuthority);
    let count = seen.len().saturating_add(usize::from(listens));
    match last {
        Some(at) if count > CAPSET_MAX_ENTRIES => Err(Refused::new(
            at.clone(),
            Fault::TooManyGrants {
                count,
                limit: CAPSET_MAX_ENTRIES,
            },
        )),
        _ => Ok(()),
    }
}
