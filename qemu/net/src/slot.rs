//! One socket of the pool, with what the stack must know beside smoltcp's state.
//!
//! ```text
//!             connect                         release
//!   Free ───────────────► Connecting ─► Owned ───────► Orphan ─► Free
//!     │ valid handshake                   ▲ accept        (FIN exchange,
//!     └─────────────────► Queued ─────────┘                TIME-WAIT, bounded)
//! ```

use crate::flow::PortIndex;
use crate::gate::Gate;
use crate::recovery::Recovery;
use crate::time::Instant;
use alloc::vec;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::wire::EthernetAddress;

/// Who holds the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nobody: it is in the free list.
    Free,
    /// A process; its outgoing handshake is under way.
    Connecting,
    /// A listener's backlog; no process knows it yet.
    Queued,
    /// A process.
    Owned,
    /// The stack alone, until the connection has ended or its time is over.
    Orphan,
}

/// What is to be reported of a socket, one bit each, reported lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    Connected = 1,
    Failed = 2,
    Readable = 4,
    Writable = 8,
}

/// Which operations answered `WouldBlock` since the last notice.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waits {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// How an outgoing connection attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Established,
    Failed,
}

/// A pooled socket. It lives alone in its socket set, so that smoltcp's own
/// search over sockets is a search over one.
pub(crate) struct Slot {
    pub(crate) set: SocketSet<'static>,
    handle: SocketHandle,
    pub(crate) generation: u32,
    pub(crate) phase: Phase,
    pub(crate) attempt: Attempt,
    pub(crate) port: PortIndex,
    /// Which account the socket is charged to.
    pub(crate) account: u8,
    /// What its segments are judged by.
    pub(crate) gate: Gate,
    /// Until when it challenges nobody.
    pub(crate) quiet_until: Instant,
    /// When the stack itself ends it.
    pub(crate) deadline: Option<Instant>,
    /// When it became an orphan.
    pub(crate) orphaned: Instant,
    /// What it has sent and not seen acknowledged; none before it is open.
    pub(crate) recovery: Option<Recovery>,
    /// The hardware address that sent the last segment of the connection.
    pub(crate) neighbour: EthernetAddress,
    pub(crate) waits: Waits,
    /// Notices not reported yet.
    pub(crate) notices: u8,
}

impl Slot {
    /// A free socket with buffers of these sizes.
    pub(crate) fn new(rx_bytes: usize, tx_bytes: usize) -> Self {
        let rx_bytes = rx_bytes.min(usize::from(u16::MAX));
        let mut socket = Socket::new(
            SocketBuffer::new(vec![0; rx_bytes]),
            SocketBuffer::new(vec![0; tx_bytes]),
        );
        // Nagle's algorithm holds a last short segment back until everything before
        // it is acknowledged, which the peer delays in the hope of more: 40 ms and
        // more an answer. Processes send whole answers; there is nothing to gather.
        socket.set_nagle_enabled(cfg!(feature = "broken-nagle"));
        let mut set = SocketSet::new(vec::Vec::with_capacity(1));
        let handle = set.add(socket);
        Self {
            set,
            handle,
            generation: 0,
            phase: Phase::Free,
            attempt: Attempt::Established,
            port: PortIndex(0),
            account: 0,
            gate: Gate::Shut,
            quiet_until: Instant::default(),
            deadline: None,
            orphaned: Instant::default(),
            recovery: None,
            neighbour: EthernetAddress([0; 6]),
            waits: Waits::default(),
            notices: 0,
        }
    }

    /// The smoltcp socket.
    pub(crate) fn socket(&self) -> &Socket<'static> {
        self.set.get(self.handle)
    }

    /// The smoltcp socket.
    pub(crate) fn socket_mut(&mut self) -> &mut Socket<'static> {
        self.set.get_mut(self.handle)
    }

    /// Its TCP state.
    pub(crate) fn state(&self) -> State {
        self.socket().state()
    }

    /// Whether nothing more will be sent or received: closed, and no reset waits
    /// to be sent.
    pub(crate) fn is_finished(&self) -> bool {
        let socket = self.socket();
        socket.state() == State::Closed && socket.remote_endpoint().is_none()
    }

    /// Ends a wait that an operation has answered, reported or not.
    pub(crate) fn settle_wait(&mut self, notice: Notice) {
        self.notices &= !(notice as u8);
        match notice {
            Notice::Readable => self.waits.readable = false,
            Notice::Writable => self.waits.writable = false,
            Notice::Connected | Notice::Failed => {}
        }
    }

    /// Makes the handle that processes hold stale.
    pub(crate) fn disown(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.notices = 0;
        self.waits = Waits::default();
    }

    /// Forgets the last connection.
    pub(crate) fn recycle(&mut self) {
        self.disown();
        self.phase = Phase::Free;
        self.attempt = Attempt::Established;
        self.deadline = None;
        self.recovery = None;
        self.gate = Gate::Shut;
        self.quiet_until = Instant::default();
        self.socket_mut().abort();
        // Taking the socket out and in drops what the set remembers of the last
        // peer's neighbour discovery, which would silence the next connection.
        let smoltcp::socket::Socket::Tcp(socket) = self.set.remove(self.handle);
        self.handle = self.set.add(socket);
    }
}
