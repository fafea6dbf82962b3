//! What the server asks its caller to do.

use crate::ids::{ConnId, JobId};
use crate::request::job::Job;

/// One thing to do, on a connection's socket or for its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Start one receive into [`Server::receive_window`](crate::Server::receive_window).
    Receive(ConnId),
    /// Start one send of [`Server::send_window`](crate::Server::send_window).
    Send(ConnId),
    /// Start a job; its outcome is told by [`Server::job_ended`](crate::Server::job_ended), once,
    /// whatever has become of the request. Until then what was lent for it stays lent.
    Start(JobId, Job),
    /// Everything was sent: close in order, so that what the peer has yet to read still reaches it,
    /// whatever it still sends; that is thrown away.
    Close(ConnId),
    /// Give the connection up: what is unsent need not arrive.
    Abort(ConnId),
}
