//! The stack: transports, listeners and the socket pool. `turn.rs` drives them.

use crate::adapter::Scratch;
use crate::config::NetConfig;
use crate::cookie::CookieJar;
use crate::counters::{PoolCounters, TransportCounters};
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::ids::TransportId;
use crate::link::Link;
use crate::listener::Listener;
use crate::pool::Pool;
use crate::spent::SpentCookies;
use crate::time::Instant;
use crate::transport::{Port, Transport};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use smoltcp::iface::SocketSet;

/// TCP over every transport of one machine. See the crate's documentation.
pub struct NetStack<D: FrameDevice> {
    pub(crate) config: NetConfig,
    pub(crate) now: Instant,
    /// How long a peer may owe an acknowledgement, as smoltcp counts.
    pub(crate) patience: smoltcp::time::Duration,
    pub(crate) ports: Vec<Port<D>>,
    pub(crate) transports: Vec<Transport>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) pool: Pool,
    pub(crate) cookies: CookieJar,
    pub(crate) spent: SpentCookies,
    /// The socket set of frames that belong to no socket.
    pub(crate) nobody: SocketSet<'static>,
    pub(crate) scratch: Scratch,
    pub(crate) next_ephemeral: u16,
    /// In which order the ports work; see `turn.rs`.
    pub(crate) order: Vec<PortIndex>,
}

impl<D: FrameDevice> NetStack<D> {
    /// The card of a transport, for what only its driver knows (interrupts).
    pub fn device_mut(&mut self, transport: TransportId) -> Option<&mut D> {
        let card = self.transports.get(usize::from(transport.0))?.card?;
        match &mut self.ports.get_mut(usize::from(card.0))?.link {
            Link::Card(device) => Some(device),
            Link::Loop(_) => None,
        }
    }

    /// The same, to look at.
    #[must_use]
    pub fn device(&self, transport: TransportId) -> Option<&D> {
        let card = self.transports.get(usize::from(transport.0))?.card?;
        match &self.ports.get(usize::from(card.0))?.link {
            Link::Card(device) => Some(device),
            Link::Loop(_) => None,
        }
    }

    /// The counters of a transport.
    #[must_use]
    pub fn transport_counters(&self, transport: TransportId) -> Option<TransportCounters> {
        let transport = self.transports.get(usize::from(transport.0))?;
        Some(transport.counters)
    }

    /// The counters of the socket pool.
    #[must_use]
    pub fn pool_counters(&self) -> PoolCounters {
        self.pool.counters()
    }

    /// How many transports there are, loopback included.
    #[must_use]
    pub fn transport_count(&self) -> usize {
        self.transports.len()
    }

    /// The own address of a transport.
    #[must_use]
    pub fn transport_address(&self, transport: TransportId) -> Option<Ipv4Addr> {
        let transport = self.transports.get(usize::from(transport.0))?;
        Some(transport.subnet.address())
    }

    /// The transport that a port belongs to.
    pub(crate) fn transport_of(&self, port: PortIndex) -> TransportId {
        self.ports
            .get(usize::from(port.0))
            .map_or(TransportId::LOOPBACK, |port| port.transport)
    }

    /// Adds one to a counter of the port's transport.
    pub(crate) fn count(
        &mut self,
        port: PortIndex,
        which: impl FnOnce(&mut TransportCounters) -> &mut u64,
    ) {
        let transport = self.transport_of(port);
        if let Some(transport) = self.transports.get_mut(usize::from(transport.0)) {
            let counter = which(&mut transport.counters);
            *counter = counter.saturating_add(1);
        }
    }
}
