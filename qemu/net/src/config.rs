//! Sizes and bounds of a stack. Everything is allocated from them at construction.

use crate::ids::TransportSet;
use core::net::Ipv4Addr;
use core::time::Duration;

/// Listeners that one stack can hold, closed ones kept for their counters included.
pub const LISTENERS_MAX: usize = 16;

/// Clients that one stack can tell apart.
pub const CLIENTS_MAX: usize = 8;

/// Transports that one stack can hold, loopback included.
pub const TRANSPORTS_MAX: usize = 8;

/// Ports of one stack: a card and a loop a transport.
pub(crate) const PORTS_MAX: usize = TRANSPORTS_MAX.saturating_mul(2);

/// Largest Ethernet frame without its check sequence, in bytes.
pub const FRAME_BYTES_MAX: usize = 1_514;

/// What a stack is built from.
#[derive(Debug, Clone)]
pub struct NetConfig {
    /// Sockets in the pool, all transports together.
    pub sockets: u16,
    /// Receive buffer of each socket, in bytes; 65,535 are used at most, so that a
    /// window is what its field says.
    pub rx_bytes: usize,
    /// Transmit buffer of each socket, in bytes.
    pub tx_bytes: usize,
    /// Sockets of each client that nobody else may use.
    pub outgoing_reserve: u16,
    /// Most sockets that one client's outgoing connections may have, closing ones
    /// included.
    pub outgoing_limit: u16,
    /// Packets that may wait inside each loop (loopback, and a card's own address).
    pub loop_frames: usize,
    /// Key of handshake cookies, flow hashing and ephemeral ports; unpredictable.
    pub secret: [u64; 2],
    /// Time for an orphan (released by its process) to finish before it is reset:
    /// long enough for four losses in a row of what it still has to send. A newcomer
    /// that needs the socket does not wait for it.
    pub orphan_time: Duration,
    /// Age below which an orphan is not sacrificed to a newcomer.
    pub orphan_floor: Duration,
    /// Time in TIME-WAIT while the pool has room; a newcomer may end it sooner.
    pub time_wait: Duration,
    /// Time for an outgoing handshake.
    pub connect_time: Duration,
    /// Time without a word from a peer that owes an acknowledgement.
    pub silence_time: Duration,
    /// Replies per second to segments that belong to nothing (RST), per transport.
    pub resets_per_second: u32,
    /// Acknowledgements per second to segments of a connection that may be forged,
    /// per transport.
    pub challenges_per_second: u32,
    /// ICMP echo replies per second, per transport.
    pub echoes_per_second: u32,
}

impl NetConfig {
    /// Defaults for 1,024 connections and their refusal path, about 8 MiB.
    #[must_use]
    pub fn new(secret: [u64; 2]) -> Self {
        Self {
            sockets: 1_216,
            rx_bytes: 2_048,
            tx_bytes: 4_096,
            outgoing_reserve: 16,
            outgoing_limit: 128,
            loop_frames: 64,
            secret,
            orphan_time: Duration::from_secs(30),
            orphan_floor: Duration::from_millis(500),
            time_wait: Duration::from_secs(10),
            connect_time: Duration::from_secs(5),
            silence_time: Duration::from_secs(20),
            resets_per_second: 500,
            challenges_per_second: 500,
            echoes_per_second: 100,
        }
    }
}

/// Address of one network card's transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicConfig {
    /// Own address.
    pub address: Ipv4Addr,
    /// Length of the subnet's prefix, at most 30.
    pub prefix_len: u8,
    /// Where packets for other subnets go, if anywhere.
    pub gateway: Option<Ipv4Addr>,
}

/// How many connections a listener may hold back, and which are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenOptions {
    /// Established connections that wait for `accept`; handshakes take no room.
    pub backlog: u16,
    /// Sockets of the pool that no other listener may use.
    pub reserve: u16,
}

impl ListenOptions {
    /// For a listener on a network card.
    pub const NIC: Self = Self {
        backlog: 512,
        reserve: 64,
    };
    /// For a listener on loopback.
    pub const LOOPBACK: Self = Self {
        backlog: 16,
        reserve: 32,
    };
}

/// Work that one `poll` may do, per transport, so that no transport waits long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollBudget {
    /// Frames received.
    pub frames: u16,
    /// Sockets given a chance to transmit one segment.
    pub segments: u16,
    /// Transports whose card is not received from: what arrives waits in the card.
    pub resting: TransportSet,
}

impl PollBudget {
    /// A turn short enough that the other transports' probes wait well below 10 ms.
    pub const TURN: Self = Self {
        frames: 32,
        segments: 64,
        resting: TransportSet::EMPTY,
    };
}
