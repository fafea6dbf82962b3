//! A TCP stack whose peers do as the scenario says.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};

use harness_kernel::sockets::stack::Stack;
use harness_net::{
    Accept, Accepted, Binding, ClientId, ConnectError, ConnectState, Event, Instant, ListenError,
    ListenOptions, ListenerId, PollBudget, Polled, Recv, Sent, SocketId, TransportId, TransportSet,
};

/// How a failing accept fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AcceptFailure {
    /// For as long as it is set: there is no room for a connection.
    Overloaded,
    /// Once: the connection was gone.
    Disconnected,
}

/// One listener.
pub(crate) struct Listener {
    /// Where it listens.
    pub(crate) port: u16,
    transport: TransportId,
    /// Connections that wait for an accept.
    pub(crate) backlog: VecDeque<usize>,
    /// What accepts answer.
    pub(crate) failure: Option<AcceptFailure>,
    /// Accepts answered, and of these failures.
    pub(crate) accepted: u64,
    pub(crate) failed: u64,
    is_awaited: bool,
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
    is_read: bool,
    is_written: bool,
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

/// The stack, and everything on the other side of it.
pub(crate) struct Peers {
    /// Listeners, in the order in which they were bound.
    pub(crate) listeners: Vec<Listener>,
    /// All connections, open and gone.
    pub(crate) connections: Vec<Connection>,
    /// Most bytes that one send or receive moves.
    pub(crate) piece_bytes: usize,
    /// Connections whose bytes were taken by a send, one for each send, oldest first.
    pub(crate) sends: Vec<usize>,
    events: VecDeque<Event>,
}

impl Peers {
    pub(crate) fn new() -> Self {
        Self {
            listeners: Vec::new(),
            connections: Vec::new(),
            piece_bytes: usize::MAX,
            sends: Vec::new(),
            events: VecDeque::new(),
        }
    }

    /// The listener of `port`.
    pub(crate) fn listener(&mut self, port: u16) -> &mut Listener {
        let mut all = self.listeners.iter_mut();
        all.find(|one| one.port == port).expect("the port is bound")
    }

    /// A client connects to `port`; its connection.
    pub(crate) fn connect(&mut self, port: u16) -> usize {
        let id = self.connections.len();
        self.connections.push(Connection::default());
        self.listener(port).backlog.push_back(id);
        id
    }

    /// A client connects to `port` and sends.
    pub(crate) fn request(&mut self, port: u16, bytes: &[u8]) -> usize {
        let id = self.connect(port);
        self.send(id, bytes);
        id
    }

    /// A client sends more.
    pub(crate) fn send(&mut self, connection: usize, bytes: &[u8]) {
        self.connections[connection].to_service.extend(bytes);
    }

    fn of(&mut self, id: SocketId) -> &mut Connection {
        let connection = &mut self.connections[id.index()];
        assert!(!connection.released, "a connection is used after its end");
        connection
    }
}

fn socket(index: usize) -> SocketId {
    SocketId::new(index as u16, 0)
}

impl Stack for Peers {
    /// Tells of what was waited for, once, as the real one does.
    fn poll(&mut self, _: Instant, _: PollBudget) -> Polled {
        for (index, one) in self.listeners.iter_mut().enumerate() {
            if one.is_awaited && (!one.backlog.is_empty() || one.failure.is_some()) {
                one.is_awaited = false;
                let id = ListenerId::new(index as u8, 0);
                self.events.push_back(Event::Acceptable(id));
            }
        }
        for (index, one) in self.connections.iter_mut().enumerate() {
            let is_readable = !one.to_service.is_empty() || one.client_closed || one.reset;
            if one.is_read && is_readable {
                one.is_read = false;
                self.events.push_back(Event::Readable(socket(index)));
            }
            if one.is_written && (!one.stalled || one.reset) {
                one.is_written = false;
                self.events.push_back(Event::Writable(socket(index)));
            }
        }
        Polled {
            more_work: false,
            next_deadline: None,
            exhausted: TransportSet::EMPTY,
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn listen(
        &mut self,
        binding: Binding,
        port: u16,
        _: ListenOptions,
    ) -> Result<ListenerId, ListenError> {
        let Binding::Transport(transport) = binding else {
            panic!("the process listens everywhere");
        };
        self.listeners.push(Listener {
            port,
            transport,
            backlog: VecDeque::new(),
            failure: None,
            accepted: 0,
            failed: 0,
            is_awaited: false,
        });
        Ok(ListenerId::new(self.listeners.len() as u8 - 1, 0))
    }

    fn close_listener(&mut self, _: ListenerId) {
        panic!("the process closes a listener");
    }

    fn accept(&mut self, id: ListenerId) -> Accept {
        let listener = &mut self.listeners[id.index()];
        if let Some(failure) = listener.failure {
            listener.failed += 1;
            if failure == AcceptFailure::Disconnected {
                listener.failure = None;
            }
            return Accept::Stale;
        }
        let Some(index) = listener.backlog.pop_front() else {
            listener.is_awaited = true;
            return Accept::WouldBlock;
        };
        listener.accepted += 1;
        Accept::Connection(Accepted {
            socket: socket(index),
            peer: SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, 2), 50_000),
            local: SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, 15), listener.port),
            transport: listener.transport,
        })
    }

    fn connect(&mut self, _: ClientId, _: SocketAddrV4) -> Result<SocketId, ConnectError> {
        Err(ConnectError::NoRoute)
    }

    fn connect_state(&mut self, _: SocketId) -> ConnectState {
        ConnectState::Connected
    }

    fn recv(&mut self, id: SocketId, buffer: &mut [u8]) -> Recv {
        let most = buffer.len().min(self.piece_bytes);
        let connection = self.of(id);
        if connection.reset {
            return Recv::Reset;
        }
        let bytes = connection.to_service.len().min(most);
        if bytes == 0 && connection.client_closed {
            return Recv::PeerClosed;
        }
        if bytes == 0 {
            connection.is_read = true;
            return Recv::WouldBlock;
        }
        for (target, source) in buffer.iter_mut().zip(connection.to_service.drain(..bytes)) {
            *target = source;
        }
        Recv::Bytes(bytes)
    }

    fn send(&mut self, id: SocketId, bytes: &[u8]) -> Sent {
        assert!(!bytes.is_empty(), "an empty send");
        let taken = bytes.len().min(self.piece_bytes);
        let connection = self.of(id);
        if connection.reset {
            return Sent::Reset;
        }
        if connection.stalled {
            connection.is_written = true;
            return Sent::WouldBlock;
        }
        connection.from_service.extend(&bytes[..taken]);
        self.sends.push(id.index());
        Sent::Bytes(taken)
    }

    fn close(&mut self, id: SocketId) {
        self.of(id).service_closed = true;
    }

    fn may_send(&mut self, id: SocketId) -> bool {
        let connection = self.of(id);
        !connection.service_closed && !connection.reset
    }

    fn abort(&mut self, id: SocketId) {
        self.release(id);
    }

    fn release(&mut self, id: SocketId) {
        let connection = self.of(id);
        connection.released = true;
        (connection.is_read, connection.is_written) = (false, false);
    }

    fn transport_address(&self, _: TransportId) -> Option<Ipv4Addr> {
        None
    }
}
