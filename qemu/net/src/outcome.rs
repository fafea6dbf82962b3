//! What each operation answers. Refusals are named; nothing here is a `bool`.

use crate::ids::{ListenerId, SocketId, TransportId, TransportSet};
use crate::time::Instant;
use core::fmt;
use core::net::SocketAddrV4;

/// A connection handed out by `accept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// Its handle; the caller owns it until `release` or `abort`.
    pub socket: SocketId,
    /// The peer's address.
    pub peer: SocketAddrV4,
    /// The address that the peer connected to.
    pub local: SocketAddrV4,
    /// The transport that it came over.
    pub transport: TransportId,
}

/// Answer of `accept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accept {
    /// The oldest waiting connection.
    Connection(Accepted),
    /// None waits; `Event::Acceptable` follows when one does.
    WouldBlock,
    /// No such listener.
    Stale,
}

/// Answer of `recv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recv {
    /// So many bytes (more than zero, unless the buffer is empty) were copied.
    Bytes(usize),
    /// Nothing is there yet; `Event::Readable` follows.
    WouldBlock,
    /// The peer sent its end and everything before it has been read.
    PeerClosed,
    /// The connection broke: reset, timed out, or never established.
    Reset,
    /// No such socket.
    Stale,
}

/// Answer of `send`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// So many bytes were queued: all of them, or as many as had room.
    Bytes(usize),
    /// No room yet; `Event::Writable` follows.
    WouldBlock,
    /// `close` was called before: this side has ended.
    Closed,
    /// The connection broke.
    Reset,
    /// No such socket.
    Stale,
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectState {
    /// The handshake is under way; `Event::Connected` or `Event::Failed` follows.
    Connecting,
    /// Established (it may have been closed since).
    Connected,
    /// It never came to be: refused or timed out.
    Failed,
    /// No such socket.
    Stale,
}

/// Why a listener cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenError {
    /// Port 0 is no port.
    PortZero,
    /// The transport does not exist.
    NoTransport,
    /// Another listener has exactly this binding and port.
    InUse,
    /// The listener table is full.
    TooMany,
    /// A backlog of zero could never accept anything.
    BacklogZero,
    /// The pool has too few free sockets left for this reserve.
    ReserveUnavailable,
}

/// Why a connection cannot be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectError {
    /// Port 0 is no port.
    PortZero,
    /// No transport reaches this address.
    NoRoute,
    /// The socket pool is exhausted.
    PoolExhausted,
    /// The client has as many connections as it may.
    ClientLimit,
    /// No ephemeral port is free towards this peer.
    PortsExhausted,
}

/// Why a network card cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddError {
    /// Address, prefix or gateway is not usable.
    Address,
    /// The hardware address is not unicast.
    HardwareAddress,
    /// Its subnet overlaps another transport's.
    Overlap,
    /// The transport table is full.
    TooMany,
}

macro_rules! explained {
    ($type:ty { $($variant:ident => $text:literal),+ $(,)? }) => {
        impl $type {
            /// One sentence for a person.
            #[must_use]
            pub fn explain(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.explain())
            }
        }
    };
}

explained!(ListenError {
    PortZero => "port 0 cannot be listened on",
    NoTransport => "the transport does not exist",
    InUse => "this transport and port already have a listener",
    TooMany => "the listener table is full",
    BacklogZero => "a listener needs room for at least one waiting connection",
    ReserveUnavailable => "the socket pool cannot spare the listener's reserve",
});

explained!(ConnectError {
    PortZero => "port 0 cannot be connected to",
    NoRoute => "no transport reaches the address",
    PoolExhausted => "the socket pool is exhausted",
    ClientLimit => "this process has as many connections as it may",
    PortsExhausted => "no ephemeral port is free towards this peer",
});

explained!(AddError {
    Address => "the address, its prefix or its gateway cannot be used",
    HardwareAddress => "the hardware address is not unicast",
    Overlap => "the subnet overlaps another transport's",
    TooMany => "the transport table is full",
});

/// Something became possible that was not. Posted once, after the operation
/// answered `WouldBlock` (or `connect` was called); never twice for one wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// `accept` has a connection.
    Acceptable(ListenerId),
    /// `recv` has bytes, the peer's end, or a failure.
    Readable(SocketId),
    /// `send` has room, or a failure.
    Writable(SocketId),
    /// An outgoing connection is established.
    Connected(SocketId),
    /// An outgoing connection failed.
    Failed(SocketId),
}

/// What a `poll` left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polled {
    /// Work that could be done now was left for the next turn.
    pub more_work: bool,
    /// When the next timer is due, if there is one.
    pub next_deadline: Option<Instant>,
    /// Transports whose budget of frames was used up.
    pub exhausted: TransportSet,
}
