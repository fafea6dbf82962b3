//! What the service was granted, by name, before any of it is used (INV-GRANTS).
//!
//! The CapSet is read once. A name that stands twice, a known name that holds
//! another interface, and an entry whose name cannot be read refuse the boot;
//! each refusal carries the name. Names that the service does not know are
//! left alone: holding a capability and not using it harms nobody.

use core::fmt;

use ingress_ledger::{Lane, PerLane};

/// A slot in this process's own capability table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CapId(pub u32);

/// The interfaces that the service can hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Interface {
    /// `Console`.
    Console,
    /// `Timer`.
    Timer,
    /// `WallClock`.
    WallClock,
    /// `EntropySource`.
    EntropySource,
    /// `TcpListenAuthority`.
    TcpListenAuthority,
    /// `CapDiscriminator`.
    CapDiscriminator,
    /// `Endpoint`, which markers are made of.
    Endpoint,
}

/// What a CapSet name means to the service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// Where the service's lines go.
    Console,
    /// The monotonic clock.
    Timer,
    /// Dates the answers.
    WallClock,
    /// Seeds the jitter of `Retry-After`.
    Entropy,
    /// Tells the listeners apart.
    Discriminator,
    /// Accepts the connections of one lane.
    Listener(Lane),
    /// An inert grant whose name sets one field of the policy.
    Marker,
}

impl Role {
    /// The role that `name` has, or `None` for a name the service does not use.
    #[must_use]
    pub fn of(name: &[u8]) -> Option<Self> {
        if name.starts_with(b"ingress_") {
            return Some(Self::Marker);
        }
        match name {
            b"console" => Some(Self::Console),
            b"timer" => Some(Self::Timer),
            b"wall_clock" => Some(Self::WallClock),
            b"entropy" => Some(Self::Entropy),
            b"discrim" => Some(Self::Discriminator),
            _ => Lane::ALL
                .into_iter()
                .find(|lane| listener_name(*lane).as_bytes() == name)
                .map(Self::Listener),
        }
    }

    /// The interface that a grant of this role must hold.
    #[must_use]
    pub const fn interface(self) -> Interface {
        match self {
            Self::Console => Interface::Console,
            Self::Timer => Interface::Timer,
            Self::WallClock => Interface::WallClock,
            Self::Entropy => Interface::EntropySource,
            Self::Discriminator => Interface::CapDiscriminator,
            Self::Listener(_) => Interface::TcpListenAuthority,
            Self::Marker => Interface::Endpoint,
        }
    }
}

/// CapSet name of a lane's listen authority.
#[must_use]
pub const fn listener_name(lane: Lane) -> &'static str {
    match lane {
        Lane::Anonymous => "ui_listener",
        Lane::LocalHealth => "ui_local_listener",
        Lane::ProviderHealth => "ui_provider_health_listener",
    }
}

/// One entry of the CapSet.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its slot.
    pub cap: CapId,
    /// Its interface, or `None` for one that the service has no use for.
    pub interface: Option<Interface>,
}

/// Why the grants cannot be served with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GrantFault<'a> {
    /// Two entries have one name, so which is meant cannot be told.
    DuplicateName(&'a [u8]),
    /// A known name holds a capability of another interface.
    WrongInterface(&'a [u8]),
    /// A name is empty or longer than a CapSet entry holds.
    MalformedName,
    /// A capability that the service cannot do without is missing.
    Missing(&'static str),
    /// There is no listener of any lane.
    NoListener,
}

impl fmt::Display for GrantFault<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName(name) => {
                write!(out, "two grants are named {}", name.escape_ascii())
            }
            Self::WrongInterface(name) => {
                write!(out, "grant {} has the wrong interface", name.escape_ascii())
            }
            Self::MalformedName => out.write_str("a grant's name is empty or too long"),
            Self::Missing(name) => write!(out, "grant {name} is missing"),
            Self::NoListener => out.write_str("no lane has a listener"),
        }
    }
}

/// Everything that was granted and is understood.
#[derive(Clone, Debug)]
pub struct Grants {
    /// The monotonic clock.
    pub timer: CapId,
    /// The time of day, if it is granted.
    pub wall_clock: Option<CapId>,
    /// A source of random bytes, if there is one.
    pub entropy: Option<CapId>,
    /// The identity oracle, if this kernel has one.
    pub discriminator: Option<CapId>,
    /// One listen authority for each lane that exists.
    pub listeners: PerLane<Option<CapId>>,
}

impl Grants {
    /// Checks all entries against each other and sorts them by role.
    ///
    /// `entries` is walked again for each of its elements (they are at most
    /// 85), and no copy is kept.
    ///
    /// # Errors
    /// The first [`GrantFault`], with the name at fault.
    pub fn collect<'a, I>(entries: I) -> Result<Self, GrantFault<'a>>
    where
        I: Iterator<Item = Grant<'a>> + Clone,
    {
        let mut timer = None;
        let mut console = None;
        let mut wall_clock = None;
        let mut entropy = None;
        let mut discriminator = None;
        let mut listeners = PerLane::all(None);
        let mut rest = entries;
        while let Some(grant) = rest.next() {
            if grant.name.is_empty() {
                return Err(GrantFault::MalformedName);
            }
            if rest.clone().any(|later| later.name == grant.name) {
                return Err(GrantFault::DuplicateName(grant.name));
            }
            let Some(role) = Role::of(grant.name) else {
                continue;
            };
            if grant.interface != Some(role.interface()) {
                return Err(GrantFault::WrongInterface(grant.name));
            }
            match role {
                Role::Console => console = Some(grant.cap),
                Role::Timer => timer = Some(grant.cap),
                Role::WallClock => wall_clock = Some(grant.cap),
                Role::Entropy => entropy = Some(grant.cap),
                Role::Discriminator => discriminator = Some(grant.cap),
                Role::Listener(lane) => listeners[lane] = Some(grant.cap),
                Role::Marker => {}
            }
        }
        if console.is_none() {
            return Err(GrantFault::Missing("console"));
        }
        if listeners.iter().all(|(_, listener)| listener.is_none()) {
            return Err(GrantFault::NoListener);
        }
        Ok(Self {
            timer: timer.ok_or(GrantFault::Missing("timer"))?,
            wall_clock,
            entropy,
            discriminator,
            listeners,
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    fn grant(name: &str, cap: u32, interface: Interface) -> Grant<'_> {
        Grant {
            name: name.as_bytes(),
            cap: CapId(cap),
            interface: Some(interface),
        }
    }

    fn whole() -> Vec<Grant<'static>> {
        Vec::from([
            grant("console", 0, Interface::Console),
            grant("timer", 1, Interface::Timer),
            grant("ui_listener", 2, Interface::TcpListenAuthority),
            grant("ui_local_listener", 3, Interface::TcpListenAuthority),
            grant(
                "ui_provider_health_listener",
                4,
                Interface::TcpListenAuthority,
            ),
            grant("ingress_public_slots=8", 5, Interface::Endpoint),
            grant("discrim", 6, Interface::CapDiscriminator),
            Grant {
                name: b"something_else",
                cap: CapId(7),
                interface: None,
            },
        ])
    }

    fn refusal(grants: &[Grant<'_>]) -> std::string::String {
        Grants::collect(grants.iter().copied())
            .expect_err("is refused")
            .to_string()
    }

    #[test]
    fn all_roles_are_found() {
        let all = whole();
        let grants = Grants::collect(all.iter().copied()).expect("is served");
        assert_eq!(grants.timer, CapId(1));
        assert_eq!(grants.discriminator, Some(CapId(6)));
        assert_eq!(grants.entropy, None);
        assert_eq!(grants.listeners[Lane::Anonymous], Some(CapId(2)));
        assert_eq!(grants.listeners[Lane::LocalHealth], Some(CapId(3)));
        assert_eq!(grants.listeners[Lane::ProviderHealth], Some(CapId(4)));
    }

    #[test]
    fn a_name_that_stands_twice_is_refused() {
        let mut all = whole();
        all.push(grant("ui_listener", 9, Interface::TcpListenAuthority));
        assert_eq!(refusal(&all), "two grants are named ui_listener");
    }

    #[test]
    fn an_unknown_name_that_stands_twice_is_refused() {
        let mut all = whole();
        all.push(grant("something_else", 9, Interface::Endpoint));
        assert_eq!(refusal(&all), "two grants are named something_else");
    }

    #[test]
    fn another_interface_under_a_known_name_is_refused() {
        for index in 0..7 {
            let mut all = whole();
            all[index].interface = None;
            assert_eq!(
                Grants::collect(all.iter().copied()).err(),
                Some(GrantFault::WrongInterface(all[index].name))
            );
        }
    }

    #[test]
    fn an_empty_name_is_refused() {
        let mut all = whole();
        all.push(grant("", 9, Interface::Endpoint));
        assert_eq!(refusal(&all), "a grant's name is empty or too long");
    }

    #[test]
    fn what_is_needed_must_be_there() {
        let mut all = whole();
        all.remove(0);
        assert_eq!(refusal(&all), "grant console is missing");
        let mut all = whole();
        all.remove(1);
        assert_eq!(refusal(&all), "grant timer is missing");
    }

    #[test]
    fn no_listener_is_refused() {
        let all = whole();
        let (head, tail) = (&all[..2], &all[5..]);
        assert_eq!(refusal(&[head, tail].concat()), "no lane has a listener");
    }

    #[test]
    fn one_listener_is_enough() {
        let all = whole();
        let grants = Grants::collect(all[..3].iter().copied()).expect("is served");
        assert_eq!(grants.listeners[Lane::LocalHealth], None);
    }
}
