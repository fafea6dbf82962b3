//! The lane rules: every lane's listener is its own object, port and transport (INV-DISTINCT).
//!
//! The service proves the same once more at boot, from the capabilities it was
//! really given; this is the half that an author meets first.

use capos_config::KernelCapSource;
use ingress_ledger::Lane;
use ingress_schema::listen::Transport;
use remote_session_web_ui::grants::listener_name;
use remote_session_web_ui::policy::{MARKER_PREFIX, Marker, Value};

use crate::error::{Fault, GrantPair};
use crate::location::Location;
use crate::model::{Grant, GrantKind, Manifest};
use crate::reader::Refused;

/// Binary that serves the lanes; a manifest that boots another one needs none.
pub(crate) const WEB_UI: &str = "remote-session-web-ui";

/// Checks every lane rule, in the order in which an author would fix them.
pub(crate) fn check(manifest: &Manifest) -> Result<(), Refused> {
    let grants = &manifest.init.grants;
    let lanes: Vec<&Grant> = Lane::ALL
        .into_iter()
        .filter_map(|lane| find(grants, lane))
        .collect();
    if manifest.init.binary.value == WEB_UI && lanes.is_empty() {
        return Err(Refused::new(manifest.init.binary.at.clone(), Fault::NoLane));
    }
    check_sources(&lanes)?;
    check_pairs(&lanes)?;
    check_transports(manifest, &lanes)?;
    check_others(manifest, &lanes)?;
    check_marker_grants(manifest)?;
    check_exemption(manifest)
}

pub(crate) fn find(grants: &[Grant], lane: Lane) -> Option<&Grant> {
    grants
        .iter()
        .find(|grant| grant.name == listener_name(lane))
}

fn check_sources(lanes: &[&Grant]) -> Result<(), Refused> {
    for grant in lanes {
        if grant.source() != KernelCapSource::TcpListenAuthority {
            let source = grant.source().to_string();
            return Err(Refused::new(
                grant.at.clone(),
                Fault::LaneNotAListener { source },
            ));
        }
    }
    Ok(())
}

/// The place of one half of a listen grant, for an error that is about it.
fn part<'a>(grant: &'a Grant, of: impl Fn(&'a GrantKind) -> Option<&'a Location>) -> Location {
    of(&grant.kind).unwrap_or(&grant.at).clone()
}

fn port_of(kind: &GrantKind) -> Option<&Location> {
    match kind {
        GrantKind::Listen { port, .. } => Some(&port.at),
        GrantKind::Object(_) => None,
    }
}

fn transport_of(kind: &GrantKind) -> Option<&Location> {
    match kind {
        GrantKind::Listen { transport, .. } => Some(&transport.at),
        GrantKind::Object(_) => None,
    }
}

fn check_pairs(lanes: &[&Grant]) -> Result<(), Refused> {
    for (index, later) in lanes.iter().enumerate() {
        for earlier in lanes.iter().take(index) {
            check_pair(earlier, later)?;
        }
    }
    Ok(())
}

fn check_pair(earlier: &Grant, later: &Grant) -> Result<(), Refused> {
    let (Some(first), Some(second)) = (earlier.binding(), later.binding()) else {
        return Ok(());
    };
    let grants = GrantPair {
        first: earlier.at.clone(),
        second: later.at.clone(),
    };
    let refuse = |at, fault| Err(Refused::new(at, fault));
    if first == second {
        return refuse(later.at.clone(), Fault::SameObject { grants });
    }
    if first.transport() == Transport::Any {
        let at = part(earlier, transport_of);
        return refuse(at, Fault::WildcardOverlap { grants });
    }
    if second.transport() == Transport::Any {
        let grants = GrantPair {
            first: grants.second,
            second: grants.first,
        };
        let at = part(later, transport_of);
        return refuse(at, Fault::WildcardOverlap { grants });
    }
    if first.port() == second.port() {
        let port = first.port().get();
        return refuse(part(later, port_of), Fault::SamePort { grants, port });
    }
    if first.transport() == second.transport() {
        let transport = first.transport();
        let at = part(later, transport_of);
        return refuse(at, Fault::SameTransport { grants, transport });
    }
    Ok(())
}

fn check_transports(manifest: &Manifest, lanes: &[&Grant]) -> Result<(), Refused> {
    for grant in lanes {
        if grant
            .binding()
            .is_some_and(|binding| binding.transport() == Transport::Any)
        {
            let at = part(grant, transport_of);
            return Err(Refused::new(at, Fault::WildcardLane));
        }
    }
    let Some((local, transport)) = local_transport(manifest) else {
        return Ok(());
    };
    if transport == Transport::Loopback || manifest.system.admin_transports.contains(&transport) {
        return Ok(());
    }
    let at = part(local, transport_of);
    Err(Refused::new(at, Fault::LocalLaneOutside { transport }))
}

fn local_transport(manifest: &Manifest) -> Option<(&Grant, Transport)> {
    let grant = find(&manifest.init.grants, Lane::LocalHealth)?;
    Some((grant, grant.binding()?.transport()))
}

/// No grant beside the lanes' own may be able to accept a lane's connections.
fn check_others(manifest: &Manifest, lanes: &[&Grant]) -> Result<(), Refused> {
    let own = manifest.init.grants.iter().filter(|grant| {
        Lane::ALL
            .iter()
            .all(|lane| listener_name(*lane) != grant.name)
    });
    let others = manifest
        .services
        .iter()
        .flat_map(|service| &service.process.grants);
    for other in own.chain(others) {
        let Some(theirs) = other.binding() else {
            continue;
        };
        for lane in lanes {
            let overlaps = lane.binding().is_some_and(|ours| {
                ours.port() == theirs.port() && ours.transport().overlaps(theirs.transport())
            });
            if overlaps {
                let grants = GrantPair {
                    first: lane.at.clone(),
                    second: other.at.clone(),
                };
                return Err(Refused::new(other.at.clone(), Fault::LaneShared { grants }));
            }
        }
    }
    Ok(())
}

/// Policy is written under `init.policy`, where every field has a place to be named by.
fn check_marker_grants(manifest: &Manifest) -> Result<(), Refused> {
    for grant in &manifest.init.grants {
        if grant.name.starts_with(MARKER_PREFIX) {
            return Err(Refused::new(grant.at.clone(), Fault::MarkerAsGrant));
        }
    }
    Ok(())
}

/// The exemption is for the loopback alone; an admin NIC is no loopback.
fn check_exemption(manifest: &Manifest) -> Result<(), Refused> {
    let Some((_, transport)) = local_transport(manifest) else {
        return Ok(());
    };
    let exempt = manifest.markers.iter().find(|marker| {
        Marker::parse(marker.name.as_bytes()).is_ok_and(|marker| marker.value == Value::Exempt)
    });
    match exempt {
        Some(marker) if transport != Transport::Loopback => {
            let fault = Fault::RateExemptOutside { transport };
            Err(Refused::new(marker.at.clone(), fault))
        }
        _ => Ok(()),
    }
}
