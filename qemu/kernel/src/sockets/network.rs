//! The network as the kernel holds it: the stack, and for each of its objects
//! whose it is and which calls wait for it.
//!
//! Invariants: KERNEL-FAIR-CARDS (the rests), KERNEL-FAIR-COMPLETION (the lists).
//!
//! ```text
//! stack event ──► object's owner ──► ready list (owner, transport)
//!                                        │ transports in turn
//!                    completion ◄── call waiting with the object
//! ```

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use harness_net::{
    Event, Instant, LISTENERS_MAX, ListenerId, PollBudget, SocketId, TRANSPORTS_MAX, TransportId,
    TransportSet,
};
use ingress_schema::PROCESSES_MAX;
use ingress_schema::listen::ListenBinding;

use super::stack::Stack;
use crate::call::ticket::{ProcessIndex, Ticket};
use crate::ready::{ListIndex, NodeIndex, ReadyLists};
use crate::rests::Rests;
use crate::user_range::UserRange;

/// Accepts that may wait at one listener.
pub const ACCEPTS_MAX: usize = 16;
/// Places looked at in one turn for what a process has left: each connection
/// there costs a reset.
const FORGOTTEN_AT_ONCE: usize = 32;
/// The list of what belongs to no single transport: wildcard listeners and
/// outgoing connections.
const OTHER_LIST: usize = TRANSPORTS_MAX;

/// A receive that waits.
#[derive(Clone, Copy)]
pub struct Receive {
    /// Whose call it is.
    pub ticket: Ticket,
    /// Most bytes wanted.
    pub longest: u32,
}

/// A send that waits for room: the call is done over when there is some.
#[derive(Clone, Copy)]
pub struct Send {
    /// Whose call it is.
    pub ticket: Ticket,
    /// Where the bytes are; none for a send of no byte.
    pub data: Option<UserRange>,
}

/// What the kernel knows of a connection.
pub struct Connection {
    /// The stack's name for it.
    pub id: SocketId,
    /// Whose it is.
    pub owner: ProcessIndex,
    list: usize,
    /// The call that opened it, until it is open.
    pub connect: Option<Ticket>,
    /// The call that receives.
    pub receive: Option<Receive>,
    /// The call that sends.
    pub send: Option<Send>,
}

/// What the kernel knows of a listener.
pub struct Listener {
    /// The stack's name for it.
    pub id: ListenerId,
    /// Whose it is.
    pub owner: ProcessIndex,
    /// What it is bound to.
    pub binding: ListenBinding,
    list: usize,
    /// The calls that accept, oldest first.
    pub accepts: VecDeque<Ticket>,
}

/// The network.
pub struct Network<S> {
    /// The stack.
    pub stack: S,
    connections: Box<[Option<Connection>]>,
    listeners: [Option<Listener>; LISTENERS_MAX],
    ready: ReadyLists,
    deadline: Option<u64>,
    more_work: bool,
    rests: Rests,
    lines: u16,
}

/// An object that has become ready.
pub enum ReadyObject {
    /// A connection.
    Connection(SocketId),
    /// A listener.
    Listener(ListenerId),
}

impl<S: Stack> Network<S> {
    /// A network over `stack`, which has so many sockets.
    #[must_use]
    pub fn new(stack: S, sockets: u16) -> Self {
        let sockets = usize::from(sockets);
        Self {
            stack,
            connections: core::iter::repeat_with(|| None).take(sockets).collect(),
            listeners: [const { None }; LISTENERS_MAX],
            ready: ReadyLists::new(
                sockets.saturating_add(LISTENERS_MAX),
                PROCESSES_MAX,
                TRANSPORTS_MAX.saturating_add(1),
            ),
            deadline: None,
            more_work: true,
            rests: Rests::default(),
            lines: 0,
        }
    }

    /// Gives the stack its turn and sorts what has become ready to its owners.
    pub fn poll(&mut self, clock: impl Fn() -> u64) {
        let begun = clock();
        let budget = PollBudget {
            resting: self.rests.at(begun),
            ..PollBudget::TURN
        };
        let polled = self.stack.poll(Instant::from_nanos(begun), budget);
        if polled.exhausted != TransportSet::EMPTY {
            self.rests.after_turn(polled.exhausted, begun, clock());
        }
        self.more_work = polled.more_work;
        self.deadline = polled.next_deadline.map(Instant::nanos);
        while let Some(event) = self.stack.next_event() {
            match event {
                Event::Acceptable(id) => self.listener_is_ready(id),
                Event::Readable(id)
                | Event::Writable(id)
                | Event::Connected(id)
                | Event::Failed(id) => self.connection_is_ready(id),
            }
        }
    }

    /// The next moment at which the stack wants a turn.
    #[must_use]
    pub fn next_deadline(&self, now: u64) -> Option<u64> {
        if self.more_work {
            return Some(now);
        }
        self.deadline
            .into_iter()
            .chain(self.rests.next_end(now))
            .min()
    }

    /// Ends the rests of the cards, for nobody wants the processor; whether any rested.
    pub fn end_rests(&mut self, now: u64) -> bool {
        let rested = self.rests.next_end(now).is_some();
        self.rests.end();
        rested
    }

    /// Interrupt lines of the cards.
    #[must_use]
    pub const fn interrupt_lines(&self) -> u16 {
        self.lines
    }

    /// Adds a card's interrupt line.
    pub const fn add_interrupt_line(&mut self, line: u8) {
        if line < 16 {
            self.lines |= 1 << line;
        }
    }

    /// The cards that rest.
    #[must_use]
    pub fn resting(&self, now: u64) -> TransportSet {
        self.rests.at(now)
    }

    /// The next object that became ready for `index`, transports in turn.
    pub fn next_ready(&mut self, index: ProcessIndex) -> Option<ReadyObject> {
        loop {
            let NodeIndex(node) = self.ready.pop(index.0)?;
            let node = usize::from(node);
            if let Some(slot) = self.connections.get(node) {
                if let Some(connection) = slot {
                    return Some(ReadyObject::Connection(connection.id));
                }
            } else {
                let place = node.saturating_sub(self.connections.len());
                if let Some(Some(listener)) = self.listeners.get(place) {
                    return Some(ReadyObject::Listener(listener.id));
                }
            }
        }
    }

    /// Puts a listener among the ready objects of its owner.
    pub fn listener_is_ready(&mut self, id: ListenerId) {
        if let Some(listener) = self.listener_mut(id) {
            let list = ListIndex {
                process: listener.owner.0,
                transport: listener.list,
            };
            self.ready.push(list, self.listener_node(id));
        }
    }

    /// Puts a connection among the ready objects of its owner.
    pub fn connection_is_ready(&mut self, id: SocketId) {
        if let Some(connection) = self.connection_mut(id) {
            let list = ListIndex {
                process: connection.owner.0,
                transport: connection.list,
            };
            self.ready.push(list, connection_node(id));
        }
    }

    /// Notes a new listener.
    pub fn add_listener(&mut self, owner: ProcessIndex, id: ListenerId, binding: ListenBinding) {
        let transport = usize::from(binding.transport().id());
        if let Some(slot) = self.listeners.get_mut(id.index()) {
            *slot = Some(Listener {
                id,
                owner,
                binding,
                list: if transport < TRANSPORTS_MAX {
                    transport
                } else {
                    OTHER_LIST
                },
                accepts: VecDeque::with_capacity(ACCEPTS_MAX),
            });
        }
    }

    /// Notes a new connection; an outgoing one comes over no certain transport.
    pub fn add_connection(
        &mut self,
        owner: ProcessIndex,
        id: SocketId,
        transport: Option<TransportId>,
    ) -> Option<&mut Connection> {
        let list = transport.map_or(OTHER_LIST, |transport| usize::from(transport.0));
        let slot = self.connections.get_mut(id.index())?;
        self.ready.remove(connection_node(id));
        Some(slot.insert(Connection {
            id,
            owner,
            list,
            connect: None,
            receive: None,
            send: None,
        }))
    }

    /// The listener `id`, if it is open.
    pub fn listener_mut(&mut self, id: ListenerId) -> Option<&mut Listener> {
        self.listeners
            .get_mut(id.index())?
            .as_mut()
            .filter(|listener| listener.id == id)
    }

    /// The connection `id`, if its owner holds it.
    pub fn connection_mut(&mut self, id: SocketId) -> Option<&mut Connection> {
        self.connections
            .get_mut(id.index())?
            .as_mut()
            .filter(|connection| connection.id == id)
    }

    /// What listener `id` is bound to.
    pub fn binding_of(&mut self, id: ListenerId) -> Option<ListenBinding> {
        self.listener_mut(id).map(|listener| listener.binding)
    }

    /// Closes a listener; the calls that waited for it.
    pub fn close_listener(&mut self, id: ListenerId) -> VecDeque<Ticket> {
        self.ready.remove(self.listener_node(id));
        let open = self.listener_mut(id).is_some();
        match self
            .listeners
            .get_mut(id.index())
            .filter(|_| open)
            .and_then(Option::take)
        {
            Some(listener) => {
                self.stack.close_listener(id);
                listener.accepts
            }
            None => VecDeque::new(),
        }
    }

    /// Gives up a connection. After `close` what is queued is still sent and the
    /// connection ends in order; one that is given up open is reset, so that its
    /// peer never takes what was sent so far for the whole.
    pub fn close_connection(&mut self, id: SocketId) -> [Option<Ticket>; 3] {
        let held = self.connection_mut(id).is_some();
        match self
            .connections
            .get_mut(id.index())
            .filter(|_| held)
            .and_then(Option::take)
        {
            Some(connection) => {
                self.ready.remove(connection_node(id));
                if self.stack.may_send(id) {
                    self.stack.abort(id);
                } else {
                    self.stack.release(id);
                }
                [
                    connection.connect,
                    connection.receive.map(|receive| receive.ticket),
                    connection.send.map(|send| send.ticket),
                ]
            }
            None => [None; 3],
        }
    }

    /// Closes the listeners of a process that has ended.
    pub fn forget_listeners(&mut self, index: ProcessIndex) {
        for place in 0..LISTENERS_MAX {
            if let Some(Some(listener)) = self.listeners.get(place)
                && listener.owner == index
            {
                let id = listener.id;
                drop(self.close_listener(id));
            }
        }
    }

    /// Gives up the connections of a process that has ended among a few places
    /// from `place` on; where to go on, unless that was the last.
    pub fn forget_some(&mut self, index: ProcessIndex, place: usize) -> Option<usize> {
        let end = place.saturating_add(FORGOTTEN_AT_ONCE);
        for place in place..end {
            if let Some(Some(connection)) = self.connections.get(place)
                && connection.owner == index
            {
                let id = connection.id;
                self.close_connection(id);
            }
        }
        (end < self.connections.len()).then_some(end)
    }

    fn listener_node(&self, id: ListenerId) -> NodeIndex {
        let place = self.connections.len().saturating_add(id.index());
        NodeIndex(u16::try_from(place).unwrap_or(u16::MAX))
    }
}

fn connection_node(id: SocketId) -> NodeIndex {
    NodeIndex(u16::try_from(id.index()).unwrap_or(u16::MAX))
}
