//! Resolves a manifest's policy as the service will, and points at the field at fault.
//!
//! The grammar of markers, the defaults and the arithmetic are the service's
//! and the ledger's own; nothing of them is written again here.

use ingress_ledger::{Lane, Listener, PerLane, ProfileError, Resource};
use ingress_schema::listen::Transport;
use remote_session_web_ui::grants::listener_name;
use remote_session_web_ui::policy::{
    Field, MARKER_PREFIX, Marker as Parsed, MarkerError, MarkerSet, Policy, PolicyError, Scope,
    resolve,
};

use crate::error::{Fault, ManifestError};
use crate::lanes;
use crate::location::Location;
use crate::model::Manifest;
use crate::reader::Refused;

/// The policy that the service would serve under; none for a manifest without lanes.
///
/// # Errors
/// A marker is at fault, or the profile that they make breaks a rule.
pub fn policy(manifest: &Manifest) -> Result<Option<Policy>, ManifestError> {
    resolved(manifest).map_err(|refused| refused.of(&manifest.file))
}

/// The fields that were asked for more than the service holds, by the markers' words.
#[must_use]
pub fn clamps(policy: &Policy) -> Vec<String> {
    policy
        .clamped()
        .map(|(scope, word)| format!("{word} of {}", scope.word()))
        .collect()
}

fn resolved(manifest: &Manifest) -> Result<Option<Policy>, Refused> {
    let listeners = listeners(manifest);
    let mut set = MarkerSet::new();
    for marker in &manifest.markers {
        set.add(marker.name.as_bytes())
            .map_err(|error| Refused::new(marker.at.clone(), Fault::Marker { error }))?;
    }
    if Lane::ALL
        .into_iter()
        .all(|lane| listeners[lane] == Listener::Absent)
    {
        return match manifest.markers.first() {
            None => Ok(None),
            Some(marker) => Err(Refused::new(marker.at.clone(), Fault::NoLane)),
        };
    }
    resolve(&set, listeners)
        .map(Some)
        .map_err(|error| refusal(manifest, error))
}

fn listeners(manifest: &Manifest) -> PerLane<Listener> {
    let mut listeners = PerLane::all(Listener::Absent);
    for lane in Lane::ALL {
        let binding = lanes::find(&manifest.init.grants, lane).and_then(crate::Grant::binding);
        if let Some(binding) = binding {
            listeners[lane] = match binding.transport() {
                Transport::Loopback => Listener::Loopback,
                Transport::Nic(_) | Transport::Any => Listener::Network,
            };
        }
    }
    listeners
}

fn refusal(manifest: &Manifest, error: PolicyError) -> Refused {
    match error {
        PolicyError::Marker(MarkerError::LaneNotGranted(Scope::Lane(lane), field)) => {
            let listener = listener_name(lane);
            let at = place(manifest, |scope, of| {
                scope == Scope::Lane(lane) && of == field
            });
            Refused::new(at, Fault::PolicyWithoutListener { listener })
        }
        PolicyError::Marker(error) => {
            let at = match error {
                MarkerError::BurstWithoutRate(scope, field)
                | MarkerError::LaneNotGranted(scope, field) => {
                    place(manifest, |theirs, of| theirs == scope && of == field)
                }
                MarkerError::Invalid(name, _)
                | MarkerError::Duplicate(name)
                | MarkerError::Contradictory(name, _) => named(manifest, name.as_str()),
            };
            Refused::new(at, Fault::Marker { error })
        }
        PolicyError::ZeroPhase(scope, field) => {
            let at = place(manifest, |theirs, of| theirs == scope && of == field);
            Refused::new(at, Fault::ZeroPhase)
        }
        PolicyError::Profile(error) => {
            let at = place(manifest, |scope, field| concerns(error, scope, field));
            Refused::new(at, Fault::Profile { error })
        }
    }
}

/// The last marker that matches, since it is the one that broke what stood before it.
fn place(manifest: &Manifest, matches: impl Fn(Scope, Field) -> bool) -> Location {
    manifest
        .markers
        .iter()
        .rev()
        .find(|marker| {
            Parsed::parse(marker.name.as_bytes())
                .is_ok_and(|marker| matches(marker.scope, marker.field))
        })
        .map_or_else(
            || manifest.init.binary.at.clone(),
            |marker| marker.at.clone(),
        )
}

fn named(manifest: &Manifest, name: &str) -> Location {
    manifest
        .markers
        .iter()
        .find(|marker| marker.name == name)
        .map_or_else(
            || manifest.init.binary.at.clone(),
            |marker| marker.at.clone(),
        )
}

/// Whether a marker has a part in what the ledger refuses.
fn concerns(error: ProfileError, scope: Scope, field: Field) -> bool {
    let in_lane = |lane| scope == Scope::Lane(lane) || scope == Scope::Total;
    match error {
        ProfileError::NoListener => false,
        ProfileError::ZeroRefusalDeadline => field == Field::RefusalMs,
        ProfileError::ZeroTotal(resource) => scope == Scope::Total && field == amount(resource),
        ProfileError::ArithmeticOverflow(resource)
        | ProfileError::ReserveOnAnonymousLane(resource)
        | ProfileError::ReserveLeavesNoAnonymousCapacity { resource, .. } => is_of(field, resource),
        ProfileError::ZeroLaneShare(lane, resource)
        | ProfileError::ZeroReserve(lane, resource)
        | ProfileError::ReserveWithoutListener(lane, resource)
        | ProfileError::ReserveAboveShare(lane, resource) => {
            in_lane(lane) && is_of(field, resource)
        }
        ProfileError::ZeroDeadline(lane) | ProfileError::DeadlineTooLong(lane) => {
            in_lane(lane) && matches!(field, Field::DeadlineMs | Field::DeadlineS)
        }
        ProfileError::ZeroPerConnection(lane) => in_lane(lane) && field == Field::PerConn,
        ProfileError::ZeroRateBudget(lane)
        | ProfileError::NoRateBudget(lane)
        | ProfileError::NoStructuralRate(lane)
        | ProfileError::RateExemptOffLoopback(lane) => in_lane(lane) && is_rate(field),
        ProfileError::ZeroPhase(lane, phase) | ProfileError::PhaseTooLong(lane, phase) => {
            in_lane(lane) && field.word().strip_suffix("_ms") == Some(phase.name())
        }
        ProfileError::ZeroFootprint(_)
        | ProfileError::FootprintBelowWorstCase(_)
        | ProfileError::ByteBudgetBelowFootprint(_) => field == Field::Bytes,
    }
}

const fn is_rate(field: Field) -> bool {
    matches!(
        field,
        Field::Rate | Field::Burst | Field::AcceptRate | Field::AcceptBurst
    )
}

const fn amount(resource: Resource) -> Field {
    match resource {
        Resource::Slots => Field::Slots,
        Resource::Connections => Field::Conns,
        Resource::Bytes => Field::Bytes,
    }
}

fn is_of(field: Field, resource: Resource) -> bool {
    let reserve = match resource {
        Resource::Slots => Field::Reserve,
        Resource::Connections => Field::ConnReserve,
        Resource::Bytes => Field::Bytes,
    };
    field == amount(resource) || field == reserve
}

/// The fields that the scope of a marker has, for an error about one that it has not.
pub(crate) fn fields_beside(marker: &str) -> String {
    let scope = marker
        .strip_prefix(MARKER_PREFIX)
        .and_then(|rest| rest.split_once('_'))
        .and_then(|(word, _)| Scope::ALL.into_iter().find(|scope| scope.word() == word));
    let words: Vec<&str> = Field::ALL
        .into_iter()
        .filter(|field| scope.is_none_or(|scope| field.exists_in(scope)))
        .map(Field::word)
        .collect();
    words.join(", ")
}
