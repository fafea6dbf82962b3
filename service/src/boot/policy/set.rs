//! All markers of a boot: each at most once, none at odds with another (INV-POLICY).

use core::fmt;

use ingress_ledger::Lane;

use crate::boot::policy::marker::{Field, Marker, MarkerFault, MarkerName, Scope, Value};

const SCOPES: usize = Scope::ALL.len();
const FIELDS: usize = Field::ALL.len();

/// Markers, collected one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerSet {
    values: [[Option<Value>; FIELDS]; SCOPES],
}

/// Why a boot is refused because of a marker. Every variant names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerError {
    /// The name is no marker.
    Invalid(MarkerName, MarkerFault),
    /// The field was set before, with the same value or another.
    Duplicate(MarkerName),
    /// Another marker says something that cannot hold together with it.
    Contradictory(MarkerName, Field),
    /// The marker is about a lane that was granted no listener.
    LaneNotGranted(Scope, Field),
    /// A burst without the rate that refills it.
    BurstWithoutRate(Scope, Field),
}

impl fmt::Display for MarkerError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(name, fault) => write!(out, "marker {name} {}", fault.explain()),
            Self::Duplicate(name) => write!(out, "marker {name} sets a field that was set before"),
            Self::Contradictory(name, other) => {
                write!(
                    out,
                    "marker {name} contradicts the marker for {}",
                    other.word()
                )
            }
            Self::LaneNotGranted(scope, field) => write!(
                out,
                "marker ingress_{}_{} is about a lane that was granted no listener",
                scope.word(),
                field.word()
            ),
            Self::BurstWithoutRate(scope, field) => {
                write!(
                    out,
                    "marker ingress_{}_{} has no rate beside it",
                    scope.word(),
                    field.word()
                )
            }
        }
    }
}

impl core::error::Error for MarkerError {}

impl MarkerSet {
    /// No markers: the defaults hold.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            values: [[None; FIELDS]; SCOPES],
        }
    }

    /// Takes the name of one marker grant.
    ///
    /// # Errors
    /// A name that is no marker, or that does not fit the markers before it.
    pub fn add(&mut self, name: &[u8]) -> Result<(), MarkerError> {
        let shown = MarkerName::new(name);
        let marker = Marker::parse(name).map_err(|fault| MarkerError::Invalid(shown, fault))?;
        for other in contradictions(marker) {
            if self.value(marker.scope, *other).is_some() {
                return Err(MarkerError::Contradictory(shown, *other));
            }
        }
        let is_rate = matches!(
            marker.field,
            Field::Burst | Field::AcceptRate | Field::AcceptBurst
        );
        if is_rate && self.value(marker.scope, Field::Rate) == Some(Value::Exempt) {
            return Err(MarkerError::Contradictory(shown, Field::Rate));
        }
        match self.entry(marker.scope, marker.field) {
            Some(entry @ None) => *entry = Some(marker.value),
            _ => return Err(MarkerError::Duplicate(shown)),
        }
        Ok(())
    }

    /// What was set for a field.
    #[must_use]
    pub fn value(&self, scope: Scope, field: Field) -> Option<Value> {
        *self.values.get(scope_index(scope))?.get(field as usize)?
    }

    /// The number that was set for a field.
    #[must_use]
    pub fn number(&self, scope: Scope, field: Field) -> Option<u32> {
        match self.value(scope, field) {
            Some(Value::Number(number)) => Some(number),
            Some(Value::Exempt) | None => None,
        }
    }

    /// The first field that was set in a scope.
    pub(crate) fn first_in(&self, scope: Scope) -> Option<Field> {
        Field::ALL
            .into_iter()
            .find(|field| self.value(scope, *field).is_some())
    }

    fn entry(&mut self, scope: Scope, field: Field) -> Option<&mut Option<Value>> {
        self.values
            .get_mut(scope_index(scope))?
            .get_mut(field as usize)
    }
}

impl Default for MarkerSet {
    fn default() -> Self {
        Self::new()
    }
}

const fn scope_index(scope: Scope) -> usize {
    match scope {
        Scope::Total => 0,
        Scope::Lane(Lane::Anonymous) => 1,
        Scope::Lane(Lane::LocalHealth) => 2,
        Scope::Lane(Lane::ProviderHealth) => 3,
    }
}

/// The fields that may not be set beside this one, in the same scope.
const fn contradictions(marker: Marker) -> &'static [Field] {
    match (marker.field, marker.value) {
        (Field::DeadlineMs, _) => &[Field::DeadlineS],
        (Field::DeadlineS, _) => &[Field::DeadlineMs],
        (Field::Rate, Value::Exempt) => &[Field::Burst, Field::AcceptRate, Field::AcceptBurst],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_all(names: &[&str]) -> Result<MarkerSet, MarkerError> {
        let mut set = MarkerSet::new();
        for name in names {
            set.add(name.as_bytes())?;
        }
        Ok(set)
    }

    #[test]
    fn markers_are_kept_by_scope_and_field() {
        let set = add_all(&["ingress_public_slots=7", "ingress_total_slots=9"]).unwrap();
        assert_eq!(
            set.number(Scope::Lane(Lane::Anonymous), Field::Slots),
            Some(7)
        );
        assert_eq!(set.number(Scope::Total, Field::Slots), Some(9));
        assert_eq!(
            set.number(Scope::Lane(Lane::LocalHealth), Field::Slots),
            None
        );
    }

    #[test]
    fn an_invalid_marker_is_named() {
        let error = add_all(&["ingress_public_slotz=7"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "marker ingress_public_slotz=7 names a field that its scope does not have"
        );
    }

    #[test]
    fn a_duplicate_marker_is_refused_even_if_equal() {
        let error = add_all(&["ingress_public_slots=7", "ingress_public_slots=7"]).unwrap_err();
        assert!(
            matches!(error, MarkerError::Duplicate(name) if name.as_str() == "ingress_public_slots=7")
        );
        let error = add_all(&["ingress_local_rate=exempt", "ingress_local_rate=5"]).unwrap_err();
        assert!(matches!(error, MarkerError::Duplicate(_)));
    }

    #[test]
    fn a_contradictory_marker_is_refused_in_either_order() {
        for pair in [
            [
                "ingress_public_deadline_ms=7",
                "ingress_public_deadline_s=7",
            ],
            ["ingress_local_rate=exempt", "ingress_local_burst=7"],
            ["ingress_local_rate=exempt", "ingress_local_accept_rate=7"],
            ["ingress_local_rate=exempt", "ingress_local_accept_burst=7"],
        ] {
            assert!(
                matches!(add_all(&pair), Err(MarkerError::Contradictory(..))),
                "{pair:?}"
            );
            let swapped = [pair[1], pair[0]];
            assert!(
                matches!(add_all(&swapped), Err(MarkerError::Contradictory(..))),
                "{swapped:?}"
            );
        }
    }
}
