//! The boundary of the library: inputs, outputs and windows. No I/O, no clock, no allocation.
//!
//! The caller owns the sockets. It tells the server what happened (`accepted`, `received`, `sent`,
//! `peer_closed`, `failed`, `closed`, `tick`) and then takes [`Action`]s until there are none:
//!
//! ```text
//!            accepted ──▶ ┌────────┐ ──▶ Receive(conn)  ── receive_window ──▶ socket
//!   received/peer_closed ▶│        │
//!                   sent ▶│ Server │ ──▶ Send(conn)     ── send_window ─────▶ socket
//!                 failed ▶│        │
//!                 closed ▶│        │ ──▶ Close(conn) or Abort(conn), then `closed`
//!                   tick ▶└────────┘ ──▶ next_deadline
//! ```
//!
//! Rules for the caller:
//! 1. At most one receive and one send of a connection are outstanding, because each is asked for by
//!    one action and answered by one input. Its window stays where it is until then.
//! 2. After `Close` or `Abort` it closes the socket, waits for what is outstanding on it (answering it
//!    or not makes no difference), and calls [`Server::closed`]; only then is the record used again.
//! 3. Inputs about a connection that is gone are ignored, so late completions need no bookkeeping.

use ingress_ledger::{Instant, Lane};

use crate::action::{Action, Unanswered};
use crate::buffers::{Buffers, ReceiveWindow, SendWindow};
use crate::ids::ConnId;

/// The monotonic time, or `None` when the clock could not be read.
pub type Now = Option<Instant>;

impl<'m, const CONNS: usize, const SLOTS: usize> Server<'m, CONNS, SLOTS> {
    /// Sets a server up in memory that the caller reserved (two statics in the guest).
    pub fn start(state: &'m mut State<CONNS, SLOTS>, buffers: &'m mut Buffers<CONNS, SLOTS>, config: Config) -> Self;

    /// A connection was accepted by the listener of `lane`; its first action follows.
    ///
    /// # Errors
    /// [`Unanswered`]: close the socket at once.
    pub fn accepted(&mut self, lane: Lane, now: Now) -> Result<ConnId, Unanswered>;

    /// Whether another accept may be started on that lane's listener now (drain, accept back-off).
    pub fn may_accept(&self, lane: Lane, now: Now) -> bool;

    /// An accept of `lane` failed; if the fault spins, `may_accept` is false for a while.
    pub fn accept_failed(&mut self, lane: Lane, fault: AcceptFault, now: Now);

    /// Where the bytes of a receive go. Only for a connection whose `Receive` was just taken.
    pub fn receive_window(&mut self, conn: ConnId) -> Option<ReceiveWindow<'_>>;

    /// A receive finished with `bytes` payload bytes in the window (0 = the peer closed its side).
    pub fn received(&mut self, conn: ConnId, bytes: usize, now: Now);

    /// The bytes of a send. Only for a connection whose `Send` was just taken.
    pub fn send_window(&mut self, conn: ConnId) -> Option<SendWindow<'_>>;

    /// A send finished: the socket took the first `bytes` of the payload (maybe not all).
    pub fn sent(&mut self, conn: ConnId, bytes: usize, now: Now);

    /// A receive or a send failed, or the peer reset the connection: it is over.
    pub fn failed(&mut self, conn: ConnId, now: Now);

    /// The socket is closed and nothing is outstanding on it: the record may be used again.
    pub fn closed(&mut self, conn: ConnId, now: Now);

    /// Lets deadlines pass. Cheap: call it once a turn, and at `next_deadline` at the latest.
    pub fn tick(&mut self, now: Now);

    /// The next thing to do, protected lanes first in turn with the public one.
    pub fn next_action(&mut self) -> Option<Action>;

    /// When `tick` is needed next at the latest.
    pub fn next_deadline(&self) -> Option<Instant>;

    /// Whether an evidence line is due: quiet for a moment, and changed since the last.
    pub fn evidence_due(&mut self, now: Now) -> bool;

    /// All counters, for the evidence line (`Display`).
    pub fn evidence(&self) -> Evidence;

    /// Whether a drain has come to its end: exit 0.
    pub fn finished(&self) -> bool;
}
