//! Listeners and connections as scenarios drive them from the other side.

use std::collections::VecDeque;

/// A listener's binding, as the discriminator tells it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Binding {
    pub(crate) object: u64,
    pub(crate) transport: u32,
    pub(crate) port: u16,
    pub(crate) wildcard: bool,
}

/// How a failing accept fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AcceptFailure {
    /// For as long as it is set: there is no room for a connection.
    Overloaded,
    /// Once: the connection was gone.
    Disconnected,
}

/// One listener.
#[derive(Default)]
pub(crate) struct Listener {
    /// Connections that wait for an accept.
    pub(crate) backlog: VecDeque<usize>,
    /// What accepts answer.
    pub(crate) failure: Option<AcceptFailure>,
    /// Accepts answered, and of these failures.
    pub(crate) accepted: u64,
    pub(crate) failed: u64,
}

/// One connection, from the client's side.
#[derive(Default)]
pub(crate) struct Connection {
    /// Bytes on their way to the service.
    pub(crate) to_service: VecDeque<u8>,
    /// Bytes that the service has sent.
    pub(crate) from_service: Vec<u8>,
    /// The client sends no more.
    pub(crate) client_closed: bool,
    /// The client has reset it.
    pub(crate) reset: bool,
    /// The client does not read: sends find no room.
    pub(crate) stalled: bool,
    /// The service has closed it in order.
    pub(crate) service_closed: bool,
    /// The service has given its slot back.
    pub(crate) released: bool,
}

impl Connection {
    /// Everything that the service has sent, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.from_service).into_owned()
    }

    /// The status codes of all answers.
    pub(crate) fn statuses(&self) -> Vec<u16> {
        self.text()
            .match_indices("HTTP/1.1 ")
            .map(|(at, _)| self.text()[at + 9..at + 12].parse().unwrap())
            .collect()
    }
}
