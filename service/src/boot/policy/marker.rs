//! One marker: a grant's name taken apart (INV-POLICY: what is not understood refuses the boot).

use core::fmt;

use ingress_ledger::Lane;

/// What every marker's name begins with.
pub const MARKER_PREFIX: &str = "ingress_";

/// Most bytes of a grant's name.
pub const MARKER_NAME_MAX: usize = 32;

/// What a marker is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All lanes together.
    Total,
    /// One lane.
    Lane(Lane),
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [
        Self::Total,
        Self::Lane(Lane::Anonymous),
        Self::Lane(Lane::LocalHealth),
        Self::Lane(Lane::ProviderHealth),
    ];

    /// The word in a marker's name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Lane(Lane::Anonymous) => "public",
            Self::Lane(Lane::LocalHealth) => "local",
            Self::Lane(Lane::ProviderHealth) => "provider",
        }
    }
}

/// Declares the fields once: variant, word, what scopes have it.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident $word:literal $scopes:ident;)*) => {
        /// A field that a marker can set.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Field { $($(#[$doc])* $name,)* }

        impl Field {
            /// Every field.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$name),*];

            /// The word in a marker's name.
            #[must_use]
            pub const fn word(self) -> &'static str { match self { $(Self::$name => $word,)* } }

            /// Whether the field exists in `scope`.
            #[must_use]
            pub const fn exists_in(self, scope: Scope) -> bool {
                match self { $(Self::$name => $scopes(scope),)* }
            }
        }
    };
}

const fn everywhere(_: Scope) -> bool {
    true
}

const fn lanes(scope: Scope) -> bool {
    matches!(scope, Scope::Lane(_))
}

const fn protected(scope: Scope) -> bool {
    matches!(scope, Scope::Lane(lane) if lane.is_protected())
}

const fn total(scope: Scope) -> bool {
    matches!(scope, Scope::Total)
}

fields! {
    /// Requests served at once.
    Slots "slots" everywhere;
    /// Slots that only this lane can hold.
    Reserve "reserve" protected;
    /// Admitted requests that may wait for a slot.
    Queue "queue" lanes;
    /// Connections at once.
    Conns "conns" everywhere;
    /// Connections that only this lane can hold.
    ConnReserve "conn_reserve" protected;
    /// Refused connections that may be answered at once.
    Refusals "refusals" lanes;
    /// Requests outstanding on one connection.
    PerConn "per_conn" lanes;
    /// Bytes held by outstanding requests.
    Bytes "bytes" total;
    /// Requests a second in the long run.
    Rate "rate" lanes;
    /// Requests at once.
    Burst "burst" lanes;
    /// Connections a second in the long run.
    AcceptRate "accept_rate" lanes;
    /// Connections at once.
    AcceptBurst "accept_burst" lanes;
    /// Longest time of a request, in milliseconds.
    DeadlineMs "deadline_ms" lanes;
    /// Longest time of a request, in seconds.
    DeadlineS "deadline_s" lanes;
    /// Longest time to receive a head.
    HeadMs "head_ms" lanes;
    /// Longest time to receive a body.
    BodyMs "body_ms" lanes;
    /// Longest time to send an answer.
    WriteMs "write_ms" lanes;
    /// Longest time between two requests.
    IdleMs "idle_ms" lanes;
    /// Longest time to answer a refused connection.
    RefusalMs "refusal_ms" total;
    /// How long a drained service still takes public connections.
    DrainMs "drain_ms" total;
}

/// What a marker sets its field to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A number in the field's unit.
    Number(u32),
    /// No rate at all: `ingress_local_rate=exempt`.
    Exempt,
}

/// One marker, understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// What it is about.
    pub scope: Scope,
    /// What it sets.
    pub field: Field,
    /// To what.
    pub value: Value,
}

/// Why one name is no marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerFault {
    /// Longer than a grant's name may be.
    TooLong,
    /// No `=` after the field, or more than one.
    Malformed,
    /// A scope that there is not.
    UnknownScope,
    /// A field that there is not, or not in this scope.
    UnknownField,
    /// Neither a plain decimal number below 2^32 nor an allowed word.
    BadValue,
}

impl MarkerFault {
    /// What is wrong, in a few words.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::TooLong => "is longer than 32 bytes",
            Self::Malformed => "is not of the form ingress_<scope>_<field>=<decimal>",
            Self::UnknownScope => "names no scope; scopes are total, public, local, provider",
            Self::UnknownField => "names a field that its scope does not have",
            Self::BadValue => "has a value that is no plain decimal number below 4294967296",
        }
    }
}

impl Marker {
    /// Takes a name apart.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(name: &[u8]) -> Result<Self, MarkerFault> {
        if name.len() > MARKER_NAME_MAX {
            return Err(MarkerFault::TooLong);
        }
        let rest = name
            .strip_prefix(MARKER_PREFIX.as_bytes())
            .ok_or(MarkerFault::Malformed)?;
        let mut halves = rest.split(|byte| *byte == b'=');
        let (Some(left), Some(value), None) = (halves.next(), halves.next(), halves.next()) else {
            return Err(MarkerFault::Malformed);
        };
        let scope_end = left
            .iter()
            .position(|byte| *byte == b'_')
            .ok_or(MarkerFault::Malformed)?;
        let (scope, field) = left.split_at(scope_end);
        let field = field.get(1..).unwrap_or_default();
        let scope = Scope::ALL
            .into_iter()
            .find(|known| known.word().as_bytes() == scope)
            .ok_or(MarkerFault::UnknownScope)?;
        let field = Field::ALL
            .into_iter()
            .find(|known| known.word().as_bytes() == field && known.exists_in(scope))
            .ok_or(MarkerFault::UnknownField)?;
        let value = match value {
            b"exempt" if field == Field::Rate && scope == Scope::Lane(Lane::LocalHealth) => {
                Value::Exempt
            }
            _ => Value::Number(parse_number(value).ok_or(MarkerFault::BadValue)?),
        };
        Ok(Self {
            scope,
            field,
            value,
        })
    }
}

/// A plain decimal: no sign, no leading zero, so that one number has one spelling.
fn parse_number(text: &[u8]) -> Option<u32> {
    if text.is_empty() || (text.len() > 1 && text.first() == Some(&b'0')) {
        return None;
    }
    text.iter().try_fold(0u32, |number, byte| {
        let digit = byte
            .is_ascii_digit()
            .then(|| u32::from(byte.saturating_sub(b'0')))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// A grant's name, kept for a diagnostic; cut at [`MARKER_NAME_MAX`] bytes, unprintable bytes as `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerName {
    bytes: [u8; MARKER_NAME_MAX],
    length: usize,
}

impl MarkerName {
    /// A printable copy of `name`.
    #[must_use]
    pub fn new(name: &[u8]) -> Self {
        let mut bytes = [0; MARKER_NAME_MAX];
        for (to, from) in bytes.iter_mut().zip(name) {
            *to = if from.is_ascii_graphic() { *from } else { b'?' };
        }
        Self {
            bytes,
            length: name.len().min(MARKER_NAME_MAX),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or("?")
    }
}

impl fmt::Display for MarkerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_understood() {
        assert_eq!(
            Marker::parse(b"ingress_provider_conn_reserve=32"),
            Ok(Marker {
                scope: Scope::Lane(Lane::ProviderHealth),
                field: Field::ConnReserve,
                value: Value::Number(32)
            })
        );
        assert_eq!(
            Marker::parse(b"ingress_local_rate=exempt").unwrap().value,
            Value::Exempt
        );
        assert_eq!(
            Marker::parse(b"ingress_total_slots=4294967295")
                .unwrap()
                .value,
            Value::Number(u32::MAX)
        );
    }

    #[test]
    fn a_marker_that_is_too_long_is_refused() {
        assert_eq!(
            Marker::parse(b"ingress_provider_conn_reserve=320"),
            Err(MarkerFault::TooLong)
        );
    }

    #[test]
    fn a_malformed_marker_is_refused() {
        for name in [
            "ingress_",
            "ingress_public",
            "ingress_public=1",
            "ingress_public_slots",
            "ingress_public_slots=1=2",
        ] {
            assert_eq!(
                Marker::parse(name.as_bytes()),
                Err(MarkerFault::Malformed),
                "{name}"
            );
        }
    }

    #[test]
    fn an_unknown_scope_is_refused() {
        for name in [
            "ingress__slots=1",
            "ingress_Public_slots=1",
            "ingress_anonymous_slots=1",
        ] {
            assert_eq!(
                Marker::parse(name.as_bytes()),
                Err(MarkerFault::UnknownScope),
                "{name}"
            );
        }
    }

    #[test]
    fn an_unknown_field_is_refused() {
        for name in [
            "ingress_public_slot=1",
            "ingress_public_=1",
            "ingress_public_reserve=1",
            "ingress_total_rate=1",
            "ingress_local_bytes=1",
        ] {
            assert_eq!(
                Marker::parse(name.as_bytes()),
                Err(MarkerFault::UnknownField),
                "{name}"
            );
        }
    }

    #[test]
    fn a_bad_value_is_refused() {
        for value in [
            "",
            "-1",
            "+1",
            "01",
            "1 ",
            "0x1",
            "4294967296",
            "exempt",
            "one",
            "1.0",
        ] {
            let name = format!("ingress_public_rate={value}");
            assert_eq!(
                Marker::parse(name.as_bytes()),
                Err(MarkerFault::BadValue),
                "{name}"
            );
        }
    }

    #[test]
    fn names_are_printable() {
        assert_eq!(MarkerName::new(b"ingress_\x1b[0m").as_str(), "ingress_?[0m");
        assert_eq!(MarkerName::new(&[b'a'; 40]).as_str().len(), 32);
    }
}
