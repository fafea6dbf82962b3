//! The kernel's side of each connection: its capability, and what is in flight
//! on it (INV-SOCKETS).
//!
//! Invariants: a record is free again only when the socket's slot was given
//! back and the kernel owes no completion for it, so no completion ever writes
//! into the buffers of a later connection; each slot is given back once.
//!
//! ```text
//!          Close ──▶ closing ── close completed ──┐
//!  open ──┤                                       ├─▶ given back ── nothing in
//!          Abort ─────────────────────────────────┘                 flight ──▶ free
//! ```

use capos_config::TCP_SOCKET_INTERFACE_ID;
use ingress_ledger::LANES;
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::ids::ConnId;
use remote_session_web_ui::policy::STRUCTURAL_CONNECTIONS;
use remote_session_web_ui::wire;

/// Connection records: the ceiling of permits, and 16 a lane for connections
/// without one: on their way in, refused, or being closed.
pub(super) const CONNS: usize = STRUCTURAL_CONNECTIONS as usize + LANES * 16;
/// Interface of what an accept transfers.
pub(super) const INTERFACE: u64 = TCP_SOCKET_INTERFACE_ID;
/// `TcpSocket.send`.
pub(super) const SEND: u16 = 0;
/// `TcpSocket.recv`.
pub(super) const RECV: u16 = 1;
/// `TcpSocket.close`.
pub(super) const CLOSE: u16 = 2;

/// Room for the result of a send, and for an exception with a short message.
const RESULT_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ownership {
    Free,
    Open,
    Closing,
    GivenBack,
}

/// One connection's socket.
#[repr(C, align(8))]
pub(super) struct Socket {
    send_result: [u8; RESULT_BYTES],
    receive_params: [u8; wire::ONE_WORD_BYTES],
    cap: CapId,
    generation: u16,
    ownership: Ownership,
    receiving: bool,
    sending: bool,
}

impl Socket {
    const FREE: Self = Self {
        send_result: [0; RESULT_BYTES],
        receive_params: [0; wire::ONE_WORD_BYTES],
        cap: CapId(0),
        generation: 0,
        ownership: Ownership::Free,
        receiving: false,
        sending: false,
    };

    /// Whether the server still hears about this connection.
    pub(super) fn is_open(&self) -> bool {
        self.ownership == Ownership::Open
    }

    /// Where the result of a send goes.
    pub(super) fn send_result(&mut self) -> &mut [u8] {
        &mut self.send_result
    }

    /// Keeps the parameters of a receive where the kernel can read them.
    pub(super) fn receive_params(&mut self, params: [u8; wire::ONE_WORD_BYTES]) -> &[u8] {
        self.receive_params = params;
        &self.receive_params
    }

    /// A receive is on its way.
    pub(super) fn receive_started(&mut self) {
        self.receiving = true;
    }

    /// A send is on its way.
    pub(super) fn send_started(&mut self) {
        self.sending = true;
    }

    /// A receive completed; whether one was on its way.
    pub(super) fn receive_ended(&mut self) -> bool {
        core::mem::replace(&mut self.receiving, false)
    }

    /// A send completed; whether one was on its way.
    pub(super) fn send_ended(&mut self) -> bool {
        core::mem::replace(&mut self.sending, false)
    }

    /// An orderly close is on its way.
    pub(super) fn close_started(&mut self) {
        self.ownership = Ownership::Closing;
    }

    /// Whether a close is on its way.
    pub(super) fn is_closing(&self) -> bool {
        self.ownership == Ownership::Closing
    }

    /// The slot is to be given back; the capability, if that was not done yet.
    pub(super) fn give_back(&mut self) -> Option<CapId> {
        match self.ownership {
            Ownership::Open | Ownership::Closing => {
                self.ownership = Ownership::GivenBack;
                Some(self.cap)
            }
            Ownership::Free | Ownership::GivenBack => None,
        }
    }

    /// Frees the record if the kernel owes nothing for it any more.
    pub(super) fn free_if_settled(&mut self) -> bool {
        let settled = self.ownership == Ownership::GivenBack && !self.receiving && !self.sending;
        if settled {
            self.ownership = Ownership::Free;
        }
        settled
    }
}

/// The sockets of all connection records.
pub(super) struct Sockets {
    records: [Socket; CONNS],
}

impl Sockets {
    /// No socket is open.
    pub(super) const fn new() -> Self {
        Self {
            records: [const { Socket::FREE }; CONNS],
        }
    }

    /// Notes the socket of a connection that the server has just taken on.
    /// `None` if its record is not free, which would be a defect of the server.
    pub(super) fn open(&mut self, conn: ConnId, cap: CapId) -> Option<()> {
        let record = self.records.get_mut(usize::from(conn.index()))?;
        if record.ownership != Ownership::Free {
            return None;
        }
        record.cap = cap;
        record.generation = conn.generation();
        record.ownership = Ownership::Open;
        Some(())
    }

    /// The socket of a connection on which calls may be made, with its capability.
    pub(super) fn open_of(&mut self, conn: ConnId) -> Option<(&mut Socket, CapId)> {
        let socket = self.of(conn).filter(|socket| socket.is_open())?;
        let cap = socket.cap;
        Some((socket, cap))
    }

    /// The socket of a connection, whoever has it.
    pub(super) fn of(&mut self, conn: ConnId) -> Option<&mut Socket> {
        self.records
            .get_mut(usize::from(conn.index()))
            .filter(|record| {
                record.ownership != Ownership::Free && record.generation == conn.generation()
            })
    }
}

/// Closed connections whose slot of the capability table waits to be given back,
/// oldest first. Each has its record until then, so there is room for all.
pub(super) struct Releases {
    conns: [ConnId; CONNS],
    first: usize,
    waiting: usize,
}

impl Releases {
    /// None waits.
    pub(super) const fn new() -> Self {
        Self {
            conns: [ConnId::from_parts(0, 0); CONNS],
            first: 0,
            waiting: 0,
        }
    }

    /// Whether none waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Queues a connection; `None` without room.
    pub(super) fn push(&mut self, conn: ConnId) -> Option<()> {
        if self.waiting >= CONNS {
            return None;
        }
        let place = self.first.wrapping_add(self.waiting) % CONNS;
        *self.conns.get_mut(place)? = conn;
        self.waiting = self.waiting.saturating_add(1);
        Some(())
    }

    /// The oldest.
    pub(super) fn pop(&mut self) -> Option<ConnId> {
        let left = self.waiting.checked_sub(1)?;
        let conn = *self.conns.get(self.first)?;
        self.first = self.first.wrapping_add(1) % CONNS;
        self.waiting = left;
        Some(conn)
    }
}
