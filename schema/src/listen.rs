//! A listen grant's binding, as its badge carries it: INV-DISTINCT.
//!
//! ```text
//! bit 63          32 31           16 15            0
//!     +-------------+---------------+---------------+
//!     |  must be 0  |   transport   |  port, not 0  |
//!     +-------------+---------------+---------------+
//! transport: 0 loopback, n the n-th NIC in PCI order, 0xffff every transport
//! ```
//!
//! One badge is one authority object, whatever names it is granted under. The
//! published validators know the low half alone, the port; see [`ListenBinding::port_badge`].

use core::fmt;
use core::num::NonZeroU16;
use core::str::FromStr;

/// Wire value of [`Transport::Any`].
const WILDCARD: u16 = 0xffff;

/// What a listener can be reached over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// The guest's own loopback, 127.0.0.0/8.
    Loopback,
    /// The n-th NIC in PCI order, counted from 1.
    Nic(NicNumber),
    /// Every transport at once. Never valid for a lane.
    Any,
}

/// Number of a NIC: 1 to 0xfffe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NicNumber(NonZeroU16);

impl NicNumber {
    /// The NIC with that number, or `None` where the number means another transport.
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        match NonZeroU16::new(number) {
            Some(number) if number.get() != WILDCARD => Some(Self(number)),
            _ => None,
        }
    }

    /// The number, from 1.
    #[must_use]
    pub const fn value(self) -> u16 {
        self.0.get()
    }
}

impl Transport {
    /// The transport with that wire id; every 16-bit value is one.
    #[must_use]
    pub const fn from_id(id: u16) -> Self {
        match NicNumber::new(id) {
            Some(nic) => Self::Nic(nic),
            None if id == WILDCARD => Self::Any,
            None => Self::Loopback,
        }
    }

    /// The wire id.
    #[must_use]
    pub const fn id(self) -> u16 {
        match self {
            Self::Loopback => 0,
            Self::Nic(nic) => nic.value(),
            Self::Any => WILDCARD,
        }
    }

    /// Whether a client of one could reach a listener on the other.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self == other || self == Self::Any || other == Self::Any
    }
}

impl fmt::Display for Transport {
    /// `loopback`, `nic1`, `any`: the words of manifests and console lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("loopback"),
            Self::Nic(nic) => write!(f, "nic{}", nic.value()),
            Self::Any => f.write_str("any"),
        }
    }
}

/// Why a word names no transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownTransport;

impl fmt::Display for UnknownTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a transport is `loopback`, `nic1` to `nic65534` in PCI order, or `any`")
    }
}

impl core::error::Error for UnknownTransport {}

impl FromStr for Transport {
    type Err = UnknownTransport;

    /// Reads the words that [`Transport`] displays, and no others.
    fn from_str(word: &str) -> Result<Self, UnknownTransport> {
        match word {
            "loopback" => return Ok(Self::Loopback),
            "any" => return Ok(Self::Any),
            _ => {}
        }
        let digits = word.strip_prefix("nic").ok_or(UnknownTransport)?;
        if digits.starts_with(['0', '+']) {
            return Err(UnknownTransport);
        }
        let number = digits.parse().map_err(|_| UnknownTransport)?;
        NicNumber::new(number)
            .map(Self::Nic)
            .ok_or(UnknownTransport)
    }
}

/// Why a badge is no binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenBindingError {
    /// The port is 0: an authority without a port would listen anywhere.
    PortZero,
    /// Bits above the transport are set: not a badge of this layout.
    UnknownBits,
}

impl fmt::Display for ListenBindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PortZero => "the port of a listen grant must be 1 to 65535, not 0",
            Self::UnknownBits => "a listen badge is transport << 16 | port, and no more",
        })
    }
}

impl core::error::Error for ListenBindingError {}

/// Where an authority may listen; holding one proves that the port is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenBinding {
    transport: Transport,
    port: NonZeroU16,
}

impl ListenBinding {
    /// A binding of `transport` and `port`.
    #[must_use]
    pub const fn new(transport: Transport, port: NonZeroU16) -> Self {
        Self { transport, port }
    }

    /// Reads a badge; see the module's picture.
    ///
    /// # Errors
    /// The port is 0, or bits beyond the layout are set.
    pub fn from_badge(badge: u64) -> Result<Self, ListenBindingError> {
        let word = u32::try_from(badge).map_err(|_| ListenBindingError::UnknownBits)?;
        let [transport_high, transport_low, port_high, port_low] = word.to_be_bytes();
        let port = NonZeroU16::new(u16::from_be_bytes([port_high, port_low]))
            .ok_or(ListenBindingError::PortZero)?;
        let transport = Transport::from_id(u16::from_be_bytes([transport_high, transport_low]));
        Ok(Self { transport, port })
    }

    /// The badge of this binding.
    #[must_use]
    pub const fn badge(self) -> u64 {
        ((self.transport.id() as u64) << 16) | self.port_badge()
    }

    /// The badge as a system without transports writes it: the port alone.
    ///
    /// `capos-config` accepts 1 to 65535 and nothing else, so a plan is shown
    /// to its validators with this in place of [`ListenBinding::badge`].
    #[must_use]
    pub const fn port_badge(self) -> u64 {
        self.port.get() as u64
    }

    /// The transport.
    #[must_use]
    pub const fn transport(self) -> Transport {
        self.transport
    }

    /// The port.
    #[must_use]
    pub const fn port(self) -> NonZeroU16 {
        self.port
    }
}

impl fmt::Display for ListenBinding {
    /// `nic1:8080`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.transport, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nic(number: u16) -> Transport {
        Transport::Nic(NicNumber::new(number).unwrap())
    }

    #[test]
    fn badges_are_the_published_numbers() {
        let port = |number| NonZeroU16::new(number).unwrap();
        assert_eq!(ListenBinding::new(nic(1), port(8080)).badge(), 0x1_1f90);
        assert_eq!(ListenBinding::new(nic(2), port(8081)).badge(), 0x2_1f91);
        assert_eq!(
            ListenBinding::new(Transport::Loopback, port(8082)).badge(),
            0x1f92
        );
        assert_eq!(
            ListenBinding::new(Transport::Any, port(1)).badge(),
            0xffff_0001
        );
    }

    #[test]
    fn every_transport_id_reads_back() {
        for id in 0..=u16::MAX {
            assert_eq!(Transport::from_id(id).id(), id);
            let badge = (u64::from(id) << 16) | 8080;
            let binding = ListenBinding::from_badge(badge).unwrap();
            assert_eq!(binding.badge(), badge);
            assert_eq!(binding.port_badge(), 8080);
        }
    }

    #[test]
    fn transports_read_back_from_their_words() {
        extern crate std;
        use std::string::ToString;
        for id in 0..=u16::MAX {
            let transport = Transport::from_id(id);
            assert_eq!(transport.to_string().parse(), Ok(transport));
        }
        for word in [
            "", "nic", "nic0", "nic01", "nic+1", "nic65535", "NIC1", "lo", "any ",
        ] {
            assert_eq!(word.parse::<Transport>(), Err(UnknownTransport), "{word:?}");
        }
    }

    #[test]
    fn port_zero_is_refused() {
        assert_eq!(
            ListenBinding::from_badge(0x1_0000),
            Err(ListenBindingError::PortZero)
        );
        assert_eq!(
            ListenBinding::from_badge(0),
            Err(ListenBindingError::PortZero)
        );
    }

    #[test]
    fn unknown_bits_are_refused() {
        let badge = 0x1_0001_1f90;
        assert_eq!(
            ListenBinding::from_badge(badge),
            Err(ListenBindingError::UnknownBits)
        );
        assert_eq!(
            ListenBinding::from_badge(u64::MAX),
            Err(ListenBindingError::UnknownBits)
        );
    }

    #[test]
    fn the_wildcard_overlaps_everything_and_others_only_themselves() {
        assert!(Transport::Any.overlaps(nic(1)) && Transport::Loopback.overlaps(Transport::Any));
        assert!(nic(1).overlaps(nic(1)) && !nic(1).overlaps(nic(2)));
        assert!(!Transport::Loopback.overlaps(nic(1)));
    }
}
