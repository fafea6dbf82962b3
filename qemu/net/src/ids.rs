//! Names of transports, listeners and sockets, as the kernel holds them.
//!
//! Invariants: NET-HANDLE (a handle of a freed object never reaches the object
//! that took its place: the generation differs).

use core::fmt;

/// A transport: loopback is 0, network cards follow in the order they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransportId(pub u8);

impl TransportId {
    /// The loopback transport, which every stack has.
    pub const LOOPBACK: Self = Self(0);
}

impl fmt::Display for TransportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("loopback"),
            card => write!(f, "nic{card}"),
        }
    }
}

/// Whoever makes outgoing connections, below [`crate::CLIENTS_MAX`]: the kernel's
/// number for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u8);

/// Some of the transports, loopback and the first fifteen cards at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransportSet(u16);

impl TransportSet {
    /// None of them.
    pub const EMPTY: Self = Self(0);

    /// These and one more.
    #[must_use]
    pub const fn with(self, transport: TransportId) -> Self {
        Self(self.0 | Self::bit(transport))
    }

    /// Whether a transport is one of them.
    #[must_use]
    pub const fn contains(self, transport: TransportId) -> bool {
        self.0 & Self::bit(transport) != 0
    }

    const fn bit(transport: TransportId) -> u16 {
        if transport.0 < 16 {
            1 << transport.0
        } else {
            0
        }
    }
}

/// What a listener is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// One transport only.
    Transport(TransportId),
    /// Every transport; a listener bound to one transport is preferred to it.
    Wildcard,
}

impl Binding {
    /// Whether a connection that arrives over `transport` may belong to it.
    #[must_use]
    pub fn covers(self, transport: TransportId) -> bool {
        match self {
            Self::Transport(own) => own == transport,
            Self::Wildcard => true,
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(transport) => transport.fmt(f),
            Self::Wildcard => f.write_str("wildcard"),
        }
    }
}

/// A listener. Stale after `close_listener`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListenerId {
    pub(crate) index: u8,
    pub(crate) generation: u32,
}

/// A connection handle. Stale after `release` or `abort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SocketId {
    pub(crate) index: u16,
    pub(crate) generation: u32,
}

impl SocketId {
    /// A name as a stack gives it, for one that stands in for the stack in a
    /// test: this stack knows only those that it gave.
    #[must_use]
    pub const fn new(index: u16, generation: u32) -> Self {
        Self { index, generation }
    }

    /// The position in the pool, below [`crate::NetConfig::sockets`]: for side
    /// tables of the kernel. Two live sockets never share it.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.index)
    }
}

impl ListenerId {
    /// As [`SocketId::new`].
    #[must_use]
    pub const fn new(index: u8, generation: u32) -> Self {
        Self { index, generation }
    }

    /// The position in the listener table, below [`crate::LISTENERS_MAX`].
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.index)
    }
}
