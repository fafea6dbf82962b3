//! The proof that the granted listeners are distinct, before the first accept
//! (INV-DISTINCT).
//!
//! A lane is what its listener makes of it: two grants that lead to one place
//! would let a caller pick its lane. Identity comes from the kernel, which
//! tells object, transport and port of a grant and compares two grants. On a
//! kernel that does not, the ports that `listen` bound are the evidence, and
//! whatever they leave open is refused.

use core::fmt;

use ingress_ledger::Lane;

use crate::boot::grants::listener_name;
use crate::wire::{Compared, Identity};

/// Why two listeners, or what is known of one, do not make distinct lanes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Alias {
    /// Both names lead to one object.
    SameObject,
    /// One of them covers every transport, the other's included.
    WildcardOverlap,
    /// Both are reached over one transport.
    SameTransport,
    /// Both are bound to one port.
    SamePort,
    /// The kernel says of two objects that they are one, or the reverse.
    Contradiction,
}

impl Alias {
    /// The reason in words, to stand behind both names.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::SameObject => "are the same object",
            Self::WildcardOverlap => "overlap: a binding covers every transport",
            Self::SameTransport => "are on the same transport",
            Self::SamePort => "are on the same port",
            Self::Contradiction => "have contradictory identities",
        }
    }
}

/// A refusal to serve, with the CapSet names at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DistinctFault {
    /// Two lanes whose listeners are not distinct.
    Pair(Lane, Lane, Alias),
    /// A listener that the kernel cannot tell anything about.
    Unidentified(Lane),
    /// A listener that bound another port than the kernel had said it would.
    WrongPort(Lane),
}

impl fmt::Display for DistinctFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Pair(left, right, alias) => write!(
                out,
                "{} and {} {}",
                listener_name(left),
                listener_name(right),
                alias.explain()
            ),
            Self::Unidentified(lane) => {
                write!(out, "{} cannot be identified", listener_name(lane))
            }
            Self::WrongPort(lane) => write!(
                out,
                "{} is bound to another port than it was granted",
                listener_name(lane)
            ),
        }
    }
}

/// A lane's listener as the kernel identifies it.
#[derive(Clone, Copy, Debug)]
pub struct Identified {
    /// The lane it serves.
    pub lane: Lane,
    /// What the kernel says that it is.
    pub identity: Identity,
}

impl Identified {
    /// Takes an identity that tells something.
    ///
    /// # Errors
    /// [`DistinctFault::Unidentified`] for an object without an id or a
    /// listener without a port: both mean "not known".
    pub const fn new(lane: Lane, identity: Identity) -> Result<Self, DistinctFault> {
        if identity.object_id == 0 || identity.port == 0 {
            return Err(DistinctFault::Unidentified(lane));
        }
        Ok(Self { lane, identity })
    }
}

/// Checks one pair: what each of them is said to be, and what the kernel says of both.
///
/// # Errors
/// The first alias found, the strongest first.
pub fn check_pair([left, right]: [Identified; 2], compared: Compared) -> Result<(), DistinctFault> {
    let (a, b) = (left.identity, right.identity);
    let is_same = compared == Compared::Same;
    let alias = if is_same != (a.object_id == b.object_id) {
        Alias::Contradiction
    } else if is_same {
        Alias::SameObject
    } else if a.wildcard || b.wildcard {
        Alias::WildcardOverlap
    } else if a.transport_id == b.transport_id {
        Alias::SameTransport
    } else if a.port == b.port {
        Alias::SamePort
    } else {
        return Ok(());
    };
    Err(DistinctFault::Pair(left.lane, right.lane, alias))
}

/// A lane's listener as `listen` bound it.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The lane it serves.
    pub lane: Lane,
    /// The port it was bound to.
    pub port: u16,
    /// What the kernel had said, if it can tell.
    pub identity: Option<Identity>,
}

/// Checks what was bound, pair by pair, before the first accept.
///
/// # Errors
/// A port that is not the granted one, a port that is not known, and one port
/// under two names.
pub fn check_bound<I>(bound: I) -> Result<(), DistinctFault>
where
    I: IntoIterator<Item = Bound>,
    I::IntoIter: Clone,
{
    let mut rest = bound.into_iter();
    while let Some(one) = rest.next() {
        if one.port == 0 {
            return Err(DistinctFault::Unidentified(one.lane));
        }
        if one.identity.is_some_and(|granted| granted.port != one.port) {
            return Err(DistinctFault::WrongPort(one.lane));
        }
        if let Some(other) = rest.clone().find(|other| other.port == one.port) {
            return Err(DistinctFault::Pair(one.lane, other.lane, Alias::SamePort));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    const PUBLIC: Identity = Identity {
        object_id: 10,
        transport_id: 1,
        port: 8_080,
        wildcard: false,
    };
    const PROVIDER: Identity = Identity {
        object_id: 12,
        transport_id: 2,
        port: 8_081,
        wildcard: false,
    };

    fn pair(left: Identity, right: Identity, compared: Compared) -> Result<(), DistinctFault> {
        let left = Identified::new(Lane::Anonymous, left)?;
        let right = Identified::new(Lane::ProviderHealth, right)?;
        check_pair([left, right], compared)
    }

    fn refusal(left: Identity, right: Identity, compared: Compared) -> std::string::String {
        pair(left, right, compared)
            .expect_err("is refused")
            .to_string()
    }

    #[test]
    fn distinct_listeners_pass() {
        assert_eq!(pair(PUBLIC, PROVIDER, Compared::Different), Ok(()));
    }

    #[test]
    fn one_object_under_two_names_is_refused() {
        assert_eq!(
            refusal(PUBLIC, PUBLIC, Compared::Same),
            "ui_listener and ui_provider_health_listener are the same object"
        );
    }

    #[test]
    fn a_kernel_that_contradicts_itself_is_refused() {
        for (right, compared) in [(PROVIDER, Compared::Same), (PUBLIC, Compared::Different)] {
            assert_eq!(
                refusal(PUBLIC, right, compared),
                "ui_listener and ui_provider_health_listener have contradictory identities"
            );
        }
    }

    #[test]
    fn one_transport_is_refused() {
        let right = Identity {
            transport_id: 1,
            ..PROVIDER
        };
        assert_eq!(
            refusal(PUBLIC, right, Compared::Different),
            "ui_listener and ui_provider_health_listener are on the same transport"
        );
    }

    #[test]
    fn one_port_is_refused() {
        let right = Identity {
            port: 8_080,
            ..PROVIDER
        };
        assert_eq!(
            refusal(PUBLIC, right, Compared::Different),
            "ui_listener and ui_provider_health_listener are on the same port"
        );
    }

    #[test]
    fn a_wildcard_overlaps_every_listener() {
        for (left, right) in [(true, false), (false, true), (true, true)] {
            let left = Identity {
                wildcard: left,
                ..PUBLIC
            };
            let right = Identity {
                wildcard: right,
                ..PROVIDER
            };
            assert_eq!(
                refusal(left, right, Compared::Different),
                "ui_listener and ui_provider_health_listener overlap: \
                 a binding covers every transport"
            );
        }
    }

    #[test]
    fn an_identity_that_tells_nothing_is_refused() {
        for unknown in [
            Identity {
                object_id: 0,
                ..PUBLIC
            },
            Identity { port: 0, ..PUBLIC },
        ] {
            assert_eq!(
                refusal(unknown, PROVIDER, Compared::Different),
                "ui_listener cannot be identified"
            );
        }
    }

    #[test]
    fn bound_ports_must_be_known_distinct_and_as_granted() {
        let bound = |lane, port, identity| Bound {
            lane,
            port,
            identity,
        };
        let public = bound(Lane::Anonymous, 8_080, Some(PUBLIC));
        let local = bound(Lane::LocalHealth, 8_082, None);
        assert_eq!(check_bound([public, local]), Ok(()));
        assert_eq!(
            check_bound([local, bound(Lane::ProviderHealth, 8_082, None)]),
            Err(DistinctFault::Pair(
                Lane::LocalHealth,
                Lane::ProviderHealth,
                Alias::SamePort
            ))
        );
        assert_eq!(
            check_bound([bound(Lane::LocalHealth, 0, None)]),
            Err(DistinctFault::Unidentified(Lane::LocalHealth))
        );
        assert_eq!(
            check_bound([bound(Lane::Anonymous, 80, Some(PUBLIC))])
                .expect_err("is refused")
                .to_string(),
            "ui_listener is bound to another port than it was granted"
        );
    }
}
