//! What the server asks its caller to do.

use crate::ids::ConnId;

/// One thing to do on a connection's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Start one receive into [`Server::receive_window`](crate::Server::receive_window).
    Receive(ConnId),
    /// Start one send of [`Server::send_window`](crate::Server::send_window).
    Send(ConnId),
    /// Everything was sent: close in order, so that what the peer has yet to read still reaches it.
    Close(ConnId),
    /// Give the connection up: what is unsent need not arrive.
    Abort(ConnId),
}

/// Why a connection that the kernel accepted gets no record and no answer.
///
/// The caller closes its socket at once; the refusal is already counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// The lane's permits ran out, and so did the ceiling of answers to say so.
    RefusalCeiling,
    /// Every connection record is in use, most of them by sockets that are being closed.
    NoRecord,
    /// The lane has no listener, or takes no more connections because the service drains.
    LaneClosed,
}
