//! Sockets, clock and waiting, over one ring client.
//!
//! Every call is submitted and later asked for; `None` from a submitting method
//! means that the submission queue is full and the caller tries again in its
//! next step. A socket is ended by handing its capability to `retire`, which
//! closes it, releases its slot and collects what was still in flight.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use capos_rt::{
    CallId, Client, CompletedCall, NetworkManagerClient, RingClientError, RuntimeRingClient,
    TcpSocket, TcpSocketClient, TimerClient, decode_completed_call,
};
use ingress_probe::target::Target;

/// Calls of one turn, the clock's not counted: it always finds a place, or the
/// time would stand still under load.
const CALLS_A_TURN: u32 = 14;

/// A call failed; the connection it was made on is of no use any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Failed;

/// How a socket ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ending {
    /// In order: what was sent still arrives.
    Close,
    /// At once.
    Drop,
}

/// What is left to do about a socket that ends.
enum Retired {
    Close(TcpSocketClient),
    Release(u32),
}

/// The probe's access to the network.
pub(crate) struct Network<'a> {
    ring: RuntimeRingClient<'a>,
    manager: NetworkManagerClient,
    timer: TimerClient,
    clock: Option<CallId>,
    now_ns: u64,
    room: u32,
    retired: VecDeque<Retired>,
    discards: Vec<CallId>,
    late: Vec<CallId>,
}

impl<'a> Network<'a> {
    /// Takes the ring over.
    pub(crate) fn new(
        ring: RuntimeRingClient<'a>,
        manager: NetworkManagerClient,
        timer: TimerClient,
    ) -> Self {
        Self {
            ring,
            manager,
            timer,
            clock: None,
            now_ns: 0,
            room: CALLS_A_TURN,
            retired: VecDeque::new(),
            discards: Vec::new(),
            late: Vec::new(),
        }
    }

    /// The ring, for calls that are waited for at once.
    pub(crate) fn ring(&mut self) -> &mut RuntimeRingClient<'a> {
        &mut self.ring
    }

    /// The time as of the last turn.
    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Hands submitted calls over and takes completions and the time.
    pub(crate) fn turn(&mut self) -> Option<()> {
        if self.clock.is_none() {
            self.clock = self.timer.now(&mut self.ring).ok();
        }
        enter(&mut self.ring, 0, 0)?;
        self.room = CALLS_A_TURN;
        if let Some(completion) = self.clock.and_then(|call| self.take(call)) {
            self.clock = None;
            self.now_ns = self.timer.finish_now(completion).ok()?.monotonic_ns;
        }
        let mut waiting = core::mem::take(&mut self.discards);
        waiting.retain(|call| self.take(*call).is_none());
        self.discards = waiting;
        let mut late = core::mem::take(&mut self.late);
        late.retain(|call| match self.connected(*call) {
            None => true,
            Some(Ok(socket)) => {
                self.retire(socket, Ending::Drop);
                false
            }
            Some(Err(_)) => false,
        });
        self.late = late;
        self.retire_some();
        Some(())
    }

    /// The time, read now. For the start of a command, when nothing else runs.
    pub(crate) fn read_clock(&mut self) -> Option<u64> {
        let before = self.now_ns;
        loop {
            self.turn()?;
            if self.clock.is_none() && self.now_ns > before {
                return Some(self.now_ns);
            }
        }
    }

    /// Waits for a completion, at most so long.
    pub(crate) fn wait(&mut self, ns: u64) -> Option<()> {
        if self.retired.is_empty() {
            enter(&mut self.ring, 1, ns)?;
        }
        Some(())
    }

    /// Whether a socket that was retired still has something to be collected.
    pub(crate) fn is_settled(&self) -> bool {
        self.retired.is_empty() && self.discards.is_empty() && self.late.is_empty()
    }

    /// Turns until every retired socket is gone, or gives up after a second.
    pub(crate) fn settle(&mut self) -> Option<()> {
        const PATIENCE_NS: u64 = 1_000_000_000;
        const STEP_NS: u64 = 5_000_000;
        let start_ns = self.read_clock()?;
        while !self.is_settled() && self.now_ns.saturating_sub(start_ns) < PATIENCE_NS {
            self.wait(STEP_NS)?;
            self.turn()?;
        }
        Some(())
    }

    /// Whether another call can be made in this turn.
    pub(crate) const fn has_room(&self) -> bool {
        self.room > 0
    }

    /// Takes one of this turn's calls.
    fn take_room(&mut self) -> Option<()> {
        self.room = self.room.checked_sub(1)?;
        Some(())
    }

    /// Starts a connection.
    pub(crate) fn connect(&mut self, target: Target) -> Option<CallId> {
        self.take_room()?;
        self.manager
            .connect_tcp(&mut self.ring, &target.address, target.port)
            .ok()
    }

    /// The connection, once it is there.
    pub(crate) fn connected(&mut self, call: CallId) -> Option<Result<TcpSocketClient, Failed>> {
        let completion = self.take(call)?;
        Some(socket_of(&completion).ok_or(Failed))
    }

    /// Starts a send.
    pub(crate) fn send(&mut self, socket: &mut TcpSocketClient, bytes: &[u8]) -> Option<CallId> {
        self.take_room()?;
        socket.send(&mut self.ring, bytes).ok()
    }

    /// How much was sent, once it is known.
    pub(crate) fn sent(
        &mut self,
        socket: &mut TcpSocketClient,
        call: CallId,
    ) -> Option<Result<usize, Failed>> {
        let completion = self.take(call)?;
        Some(
            socket
                .finish_send(completion)
                .ok()
                .and_then(|bytes| usize::try_from(bytes).ok())
                .ok_or(Failed),
        )
    }

    /// Starts a receive.
    pub(crate) fn receive(&mut self, socket: &mut TcpSocketClient, most: u32) -> Option<CallId> {
        self.take_room()?;
        socket.recv(&mut self.ring, most).ok()
    }

    /// What was received, once it is there; empty if the peer has closed.
    pub(crate) fn received(
        &mut self,
        socket: &mut TcpSocketClient,
        call: CallId,
    ) -> Option<Result<Box<[u8]>, Failed>> {
        let completion = self.take(call)?;
        Some(socket.finish_recv(completion).map_err(|_| Failed))
    }

    /// A receive that nobody asks for any more.
    pub(crate) fn discard(&mut self, call: CallId) {
        self.discards.push(call);
    }

    /// A connection that nobody waits for any more; it ends when it is there.
    pub(crate) fn discard_connect(&mut self, call: CallId) {
        self.late.push(call);
    }

    /// Ends a socket.
    pub(crate) fn retire(&mut self, socket: TcpSocketClient, ending: Ending) {
        self.retired.push_back(match ending {
            Ending::Close => Retired::Close(socket),
            Ending::Drop => Retired::Release(socket.capability().cap_id()),
        });
    }

    fn retire_some(&mut self) {
        while self.room > 0
            && let Some(retired) = self.retired.pop_front()
        {
            let (call, next) = match retired {
                Retired::Close(mut socket) => {
                    let cap_id = socket.capability().cap_id();
                    // A socket that is known to be broken needs no close.
                    if socket.is_broken() {
                        self.retired.push_front(Retired::Release(cap_id));
                        continue;
                    }
                    match socket.close(&mut self.ring) {
                        Ok(call) => (call, Some(Retired::Release(cap_id))),
                        Err(_) => {
                            self.retired.push_front(Retired::Close(socket));
                            return;
                        }
                    }
                }
                Retired::Release(cap_id) => match self.ring.submit_release(cap_id) {
                    Ok(call) => (call, None),
                    Err(_) => {
                        self.retired.push_front(Retired::Release(cap_id));
                        return;
                    }
                },
            };
            self.room = self.room.saturating_sub(1);
            self.discards.push(call);
            if let Some(next) = next {
                self.retired.push_front(next);
            }
        }
    }

    fn take(&mut self, call: CallId) -> Option<CompletedCall> {
        match self.ring.try_complete(call) {
            Ok(completion) => completion,
            // The client looks at the queue before it looks at what it holds,
            // and cannot hold more; a wait looks the other way round, and does
            // not get as far as waiting.
            Err(RingClientError::CompletionBufferFull) => self.ring.wait(call, 0).ok(),
            Err(_) => None,
        }
    }
}

/// A full completion buffer is no fault: what is in it is taken in this turn.
fn enter(ring: &mut RuntimeRingClient<'_>, completions: u32, ns: u64) -> Option<()> {
    match ring.cap_enter(completions, ns) {
        Ok(_) | Err(RingClientError::CompletionBufferFull | RingClientError::ThreadOwnedHead) => {
            Some(())
        }
        Err(_) => None,
    }
}

fn socket_of(completion: &CompletedCall) -> Option<TcpSocketClient> {
    decode_completed_call(completion).ok()?;
    let capability = completion.result_cap(0).ok()?;
    capability.typed::<TcpSocket>().map(TcpSocketClient::new)
}
