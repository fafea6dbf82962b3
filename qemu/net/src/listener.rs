//! Listeners: a binding, a port, a private backlog, and counters that outlive it.

use crate::account::{ACCOUNTS, of_listener as account_of};
use crate::config::{LISTENERS_MAX, ListenOptions};
use crate::counters::{ListenerCounters, ListenerReport};
use crate::device::FrameDevice;
use crate::events::Source;
use crate::ids::{Binding, ListenerId, SocketId, TransportId};
use crate::outcome::{Accept, Accepted, Event, ListenError};
use crate::pool::backlog;
use crate::slot::Phase;
use crate::stack::NetStack;
use core::net::{Ipv4Addr, SocketAddrV4};
use smoltcp::wire::{IpAddress, IpEndpoint};

const _: () = assert!(ACCOUNTS >= LISTENERS_MAX, "every listener has an account");

/// One entry of the listener table.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) binding: Binding,
    pub(crate) port: u16,
    pub(crate) options: ListenOptions,
    pub(crate) counters: ListenerCounters,
    generation: u32,
    open: bool,
    /// `accept` answered `WouldBlock` since the last event.
    waits: bool,
}

impl<D: FrameDevice> NetStack<D> {
    /// Opens a listener.
    ///
    /// # Errors
    /// Bad arguments, a taken binding, or too little room: see [`ListenError`].
    pub fn listen(
        &mut self,
        binding: Binding,
        port: u16,
        options: ListenOptions,
    ) -> Result<ListenerId, ListenError> {
        if port == 0 {
            return Err(ListenError::PortZero);
        }
        if options.backlog == 0 {
            return Err(ListenError::BacklogZero);
        }
        if let Binding::Transport(transport) = binding
            && usize::from(transport.0) >= self.transports.len()
        {
            return Err(ListenError::NoTransport);
        }
        let (index, counters) = self.entry_for(binding, port)?;
        let free = self.pool.free_count();
        self.pool
            .accounts
            .set_reserve(account_of(index), options.reserve, free)
            .map_err(|()| ListenError::ReserveUnavailable)?;
        let before = self.listeners.get(usize::from(index));
        let listener = Listener {
            binding,
            port,
            options,
            counters,
            generation: before.map_or(0, |old| old.generation.wrapping_add(1)),
            open: true,
            waits: false,
        };
        let generation = listener.generation;
        match self.listeners.get_mut(usize::from(index)) {
            Some(entry) => *entry = listener,
            None => self.listeners.push(listener),
        }
        Ok(ListenerId { index, generation })
    }

    /// The table entry to use: that of an earlier listener of the same binding
    /// and port (its counters go on), a new one, or one whose sockets are gone.
    fn entry_for(
        &self,
        binding: Binding,
        port: u16,
    ) -> Result<(u8, ListenerCounters), ListenError> {
        let same = |l: &Listener| l.binding == binding && l.port == port;
        let table = || (0_u8..).zip(&self.listeners);
        if let Some((index, old)) = table().find(|(_, listener)| same(listener)) {
            return if old.open {
                Err(ListenError::InUse)
            } else {
                Ok((index, old.counters))
            };
        }
        if self.listeners.len() < LISTENERS_MAX {
            let next = u8::try_from(self.listeners.len()).map_err(|_| ListenError::TooMany)?;
            return Ok((next, ListenerCounters::default()));
        }
        table()
            .find(|(index, old)| !old.open && self.pool.accounts.used(account_of(*index)) == 0)
            .map(|(index, _)| (index, ListenerCounters::default()))
            .ok_or(ListenError::TooMany)
    }

    /// Closes a listener and resets what waits in its backlog; accepted
    /// connections go on. Answers its final report, or `None` if it is stale.
    pub fn close_listener(&mut self, id: ListenerId) -> Option<ListenerReport> {
        let listener = self.listeners.get_mut(usize::from(id.index))?;
        if !listener.open || listener.generation != id.generation {
            return None;
        }
        listener.open = false;
        listener.waits = false;
        self.pool.ready.remove(Source::Listener(id.index));
        let account = account_of(id.index);
        while let Some(index) = self.pool.lists.first(backlog(account)) {
            self.kill(index);
        }
        let free = self.pool.free_count();
        let given_up = self.pool.accounts.set_reserve(account, 0, free);
        debug_assert!(given_up.is_ok(), "giving a reserve up always works");
        self.listener_reports().nth(usize::from(id.index))
    }

    /// Takes the oldest connection that waits at a listener. One that the peer
    /// has reset meanwhile is never seen here.
    pub fn accept(&mut self, id: ListenerId) -> Accept {
        let Some(listener) = self.listeners.get_mut(usize::from(id.index)) else {
            return Accept::Stale;
        };
        if !listener.open || listener.generation != id.generation {
            return Accept::Stale;
        }
        let Some(index) = self.pool.lists.pop_first(backlog(account_of(id.index))) else {
            listener.waits = true;
            return Accept::WouldBlock;
        };
        listener.waits = false;
        listener.counters.accepted = listener.counters.accepted.saturating_add(1);
        let Some(slot) = self.pool.slot_mut(index) else {
            return Accept::Stale;
        };
        slot.phase = Phase::Owned;
        let socket = SocketId {
            index,
            generation: slot.generation,
        };
        let (peer, local) = (
            slot.socket().remote_endpoint(),
            slot.socket().local_endpoint(),
        );
        let port = slot.port;
        Accept::Connection(Accepted {
            socket,
            peer: address(peer),
            local: address(local),
            transport: self.transport_of(port),
        })
    }

    /// The open listener for a connection over `transport` to `port`: the one of
    /// that transport before a wildcard.
    pub(crate) fn listener_for(&self, transport: TransportId, port: u16) -> Option<u8> {
        let mut found = None;
        for (index, listener) in (0_u8..).zip(&self.listeners) {
            if listener.open && listener.port == port && listener.binding.covers(transport) {
                if listener.binding != Binding::Wildcard {
                    return Some(index);
                }
                found = Some(index);
            }
        }
        found
    }

    /// Tells a waiting `accept` that a connection is there.
    pub(crate) fn announce(&mut self, index: u8, transport: TransportId) {
        if let Some(listener) = self.listeners.get_mut(usize::from(index))
            && listener.waits
        {
            self.pool.ready.push(transport, Source::Listener(index));
        }
    }

    /// The event of a listener that stood in a ready queue.
    pub(crate) fn listener_event(&mut self, index: u8) -> Option<Event> {
        let listener = self.listeners.get_mut(usize::from(index))?;
        if !listener.open || !listener.waits {
            return None;
        }
        listener.waits = false;
        Some(Event::Acceptable(ListenerId {
            index,
            generation: listener.generation,
        }))
    }

    /// Every listener there is or was, in the order of their first opening.
    pub fn listener_reports(&self) -> impl Iterator<Item = ListenerReport> + '_ {
        (0_u8..)
            .zip(&self.listeners)
            .map(|(index, listener)| ListenerReport {
                binding: listener.binding,
                port: listener.port,
                open: listener.open,
                waiting: self.pool.lists.len(backlog(account_of(index))),
                counters: listener.counters,
            })
    }
}

fn address(endpoint: Option<IpEndpoint>) -> SocketAddrV4 {
    endpoint.map_or(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0), |endpoint| {
        let IpAddress::Ipv4(address) = endpoint.addr;
        SocketAddrV4::new(address, endpoint.port)
    })
}
