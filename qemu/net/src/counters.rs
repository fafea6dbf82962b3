//! Fixed-size counters: per transport, per listener, and of the socket pool.

use crate::ids::Binding;

/// What one transport has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransportCounters {
    /// Frames received, whatever became of them.
    pub frames_received: u64,
    /// Frames queued for transmission.
    pub frames_sent: u64,
    /// Replies dropped because the transmit queue was full.
    pub frames_unsent: u64,
    /// Frames too short, inconsistent or with a wrong checksum, as far as looked at.
    pub malformed: u64,
    /// Frames for another address or protocol.
    pub ignored: u64,
    /// IPv4 fragments; they are not reassembled.
    pub fragments: u64,
    /// Segments that belong to no connection and no handshake.
    pub strays: u64,
    /// Resets not sent because their rate was exhausted.
    pub resets_suppressed: u64,
    /// Segments of a connection whose numbers it did not expect, or that came late.
    pub unacceptable: u64,
    /// Acknowledgements that challenged the sender of such a segment (RFC 5961).
    pub challenges_sent: u64,
    /// Challenges not sent because a rate was exhausted.
    pub challenges_suppressed: u64,
    /// Echo requests not answered because their rate was exhausted.
    pub echoes_suppressed: u64,
    /// Polls that ended with frames still waiting.
    pub budget_exhausted: u64,
}

/// What one listener has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListenerCounters {
    /// Connections handed out by `accept`.
    pub accepted: u64,
    /// Connection requests (SYN) that were answered.
    pub syn_answered: u64,
    /// Handshakes completed.
    pub established: u64,
    /// Requests or completions dropped because the backlog was full.
    pub backlog_refused: u64,
    /// Requests or completions dropped because the socket pool was exhausted.
    pub pool_refused: u64,
    /// Acknowledgements that completed no handshake of ours: forged, expired, or stray.
    pub handshake_invalid: u64,
    /// Connections that the peer reset while they waited for `accept`.
    pub reset_before_accept: u64,
}

/// One listener's binding and counters, kept after it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenerReport {
    /// What it is, or was, bound to.
    pub binding: Binding,
    /// Its port.
    pub port: u16,
    /// Whether it is open now.
    pub open: bool,
    /// Connections that wait for `accept`.
    pub waiting: u16,
    /// Its counters, summed over every listener of this binding and port.
    pub counters: ListenerCounters,
}

/// What the socket pool has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Sockets in use now, closing ones included.
    pub in_use: u16,
    /// Most sockets ever in use at once.
    pub high_water: u16,
    /// Sockets in TIME-WAIT now.
    pub time_wait: u16,
    /// Sockets released by their process and still closing now.
    pub orphans: u16,
    /// TIME-WAIT sockets given to newcomers.
    pub time_wait_reclaimed: u64,
    /// Orphans reset in favour of newcomers.
    pub orphans_reclaimed: u64,
    /// Orphans reset because their time was over.
    pub orphans_timed_out: u64,
    /// Accounts of sockets, or of the numbers of their connections, that did not add
    /// up: always zero.
    pub faults: u64,
}
