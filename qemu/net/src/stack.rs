//! The stack: transports, listeners and the socket pool, and the turn that
//! drives them.
//!
//! Invariants: NET-TURN (a poll does bounded work for each transport, loopback
//! included, and starts at another one each time).

use crate::account::OUTGOING;
use crate::adapter::Scratch;
use crate::classify::Receiver;
use crate::config::{
    FRAME_BYTES_MAX, LISTENERS_MAX, NetConfig, NicConfig, PollBudget, TRANSPORTS_MAX,
};
use crate::cookie::{CookieJar, SpentCookies};
use crate::counters::{PoolCounters, TransportCounters};
use crate::device::FrameDevice;
use crate::events::Ready;
use crate::flow::PortIndex;
use crate::ids::TransportId;
use crate::link::Link;
use crate::listener::Listener;
use crate::outcome::{AddError, Polled};
use crate::pool::Pool;
use crate::siphash;
use crate::time::Instant;
use crate::transport::{Port, Transport};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::time::Duration;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Cidr};

/// When to look again at a link that had no room to transmit.
const BLOCKED_RETRY: Duration = Duration::from_millis(1);

/// Rounds of receiving and transmitting in one poll of a port: enough for a
/// handshake and an answer inside a loop.
const ROUNDS: usize = 4;

/// Timers that one poll expires.
const TIMERS_PER_POLL: usize = 256;

/// TCP over every transport of one machine. See the crate's documentation.
pub struct NetStack<D: FrameDevice> {
    pub(crate) config: NetConfig,
    pub(crate) now: Instant,
    pub(crate) ports: Vec<Port<D>>,
    pub(crate) transports: Vec<Transport>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) pool: Pool,
    pub(crate) cookies: CookieJar,
    pub(crate) spent: SpentCookies,
    pub(crate) ready: Ready,
    /// The socket set of frames that belong to no socket.
    pub(crate) nobody: SocketSet<'static>,
    pub(crate) scratch: Scratch,
    pub(crate) next_ephemeral: u16,
    turn: usize,
}

/// How a port's turn ended.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TurnEnd {
    /// Frames or segments could still be handled now.
    pub(crate) more: Option<More>,
    /// The link has no room to transmit.
    pub(crate) blocked: Option<Blocked>,
}

/// Marker: work is left.
#[derive(Debug, Clone, Copy)]
pub(crate) struct More;

/// Marker: waiting for room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocked;

impl<D: FrameDevice> NetStack<D> {
    /// A stack with its loopback transport. All its memory is taken here and in
    /// `add_nic`.
    #[must_use]
    pub fn new(config: NetConfig) -> Self {
        let [first, second] = config.secret;
        let mut pool = Pool::new(&config);
        // A reserve that the pool cannot hold is no reserve; 0 is honest then.
        let kept = pool
            .accounts
            .set_reserve(OUTGOING, config.outgoing_reserve, config.sockets);
        debug_assert!(kept.is_ok(), "the outgoing reserve exceeds the pool");
        let entries = usize::from(config.sockets).saturating_add(LISTENERS_MAX);
        let start = siphash::hash([second, first], [0]).to_le_bytes();
        let [low, high, ..] = start;
        let mut stack = Self {
            now: Instant::default(),
            ports: Vec::with_capacity(TRANSPORTS_MAX.saturating_mul(2)),
            transports: Vec::with_capacity(TRANSPORTS_MAX),
            listeners: Vec::with_capacity(LISTENERS_MAX),
            cookies: CookieJar::new([first, second ^ u64::MAX]),
            spent: SpentCookies::new([first ^ u64::MAX, second]),
            ready: Ready::new(entries),
            nobody: SocketSet::new(Vec::new()),
            scratch: [0; FRAME_BYTES_MAX],
            next_ephemeral: u16::from_le_bytes([low, high]),
            turn: 0,
            pool,
            config,
        };
        let address = Ipv4Addr::LOCALHOST;
        let inside = stack.add_port(
            Link::new_loop(stack.config.loop_frames),
            TransportId::LOOPBACK,
            Ipv4Cidr::new(address, 8),
            EthernetAddress([0; 6]),
        );
        stack.add_transport(Transport::new(
            &stack.config,
            Ipv4Cidr::new(address, 8),
            None,
            inside,
            None,
        ));
        stack
    }

    /// Adds a network card as the next transport.
    ///
    /// # Errors
    /// The address, the hardware address or the subnet cannot be used, or the
    /// transport table is full.
    pub fn add_nic(&mut self, config: NicConfig, device: D) -> Result<TransportId, AddError> {
        let id = u8::try_from(self.transports.len()).map_err(|_| AddError::TooMany)?;
        if self.transports.len() >= TRANSPORTS_MAX {
            return Err(AddError::TooMany);
        }
        let mac = EthernetAddress(device.mac());
        if !mac.is_unicast() {
            return Err(AddError::HardwareAddress);
        }
        let subnet = usable_subnet(&config)?;
        let overlaps = |other: &Transport| {
            other.subnet.contains_addr(&subnet.address())
                || subnet.contains_addr(&other.subnet.address())
        };
        if self.transports.iter().any(overlaps) {
            return Err(AddError::Overlap);
        }
        let transport = TransportId(id);
        let card = self.add_port(Link::Card(device), transport, subnet, mac);
        if let (Some(gateway), Some(port)) =
            (config.gateway, self.ports.get_mut(usize::from(card.0)))
        {
            // The route table of a fresh interface has room for one.
            port.interface
                .routes_mut()
                .add_default_ipv4_route(gateway)
                .map_err(|_| AddError::Address)?;
        }
        let ring = Link::new_loop(self.config.loop_frames);
        let inside = self.add_port(ring, transport, subnet, EthernetAddress([0; 6]));
        self.add_transport(Transport::new(
            &self.config,
            subnet,
            config.gateway,
            inside,
            Some(card),
        ));
        Ok(transport)
    }

    fn add_transport(&mut self, transport: Transport) {
        self.transports.push(transport);
        self.ready.add_transport();
    }

    fn add_port(
        &mut self,
        mut link: Link<D>,
        transport: TransportId,
        subnet: Ipv4Cidr,
        mac: EthernetAddress,
    ) -> PortIndex {
        let index = PortIndex(u8::try_from(self.ports.len()).unwrap_or(u8::MAX));
        let medium = link.medium();
        let hardware = match link {
            Link::Card(_) => HardwareAddress::Ethernet(mac),
            Link::Loop(_) => HardwareAddress::Ip,
        };
        let mut config = Config::new(hardware);
        config.random_seed = siphash::hash(self.config.secret, [u64::from(index.0)]);
        let mut device = crate::adapter::OneFrame {
            frame: None,
            link: &mut link,
            scratch: &mut self.scratch,
            traffic: crate::adapter::Traffic::default(),
        };
        let mut interface = Interface::new(config, &mut device, self.now.wire());
        interface.update_ip_addrs(|addresses| {
            let added = addresses.push(IpCidr::Ipv4(subnet));
            debug_assert!(added.is_ok(), "a fresh interface has room for one address");
        });
        self.ports.push(Port {
            transport,
            receiver: Receiver {
                port: index,
                medium,
                mac,
                address: subnet.address(),
            },
            link,
            interface,
            transmit: VecDeque::with_capacity(usize::from(self.config.sockets)),
            learned: None,
        });
        index
    }

    /// The card of a transport, for what only its driver knows (interrupts).
    pub fn device_mut(&mut self, transport: TransportId) -> Option<&mut D> {
        let card = self.transports.get(usize::from(transport.0))?.card?;
        match &mut self.ports.get_mut(usize::from(card.0))?.link {
            Link::Card(device) => Some(device),
            Link::Loop(_) => None,
        }
    }

    /// Does a turn's work at instant `now`: expires timers, then receives and
    /// transmits on each transport within `budget`.
    pub fn poll(&mut self, now: Instant, budget: PollBudget) -> Polled {
        self.now = self.now.max(now);
        let mut more_work = self.expire_timers();
        let mut blocked = false;
        let count = self.ports.len();
        for offset in 0..count {
            let at = self
                .turn
                .wrapping_add(offset)
                .checked_rem(count)
                .unwrap_or(0);
            let end = self.port_turn(PortIndex(u8::try_from(at).unwrap_or(u8::MAX)), budget);
            more_work |= end.more.is_some();
            blocked |= end.blocked.is_some();
        }
        self.turn = self.turn.wrapping_add(1).checked_rem(count).unwrap_or(0);
        let mut next_deadline = self.pool.timers.next();
        if blocked {
            let retry = self.now.after(BLOCKED_RETRY);
            next_deadline = Some(next_deadline.map_or(retry, |due| due.min(retry)));
        }
        Polled {
            more_work,
            next_deadline,
        }
    }

    /// Expires due timers, a bounded number; true if some are left.
    fn expire_timers(&mut self) -> bool {
        for _ in 0..TIMERS_PER_POLL {
            let Some(index) = self.pool.timers.pop_due(self.now) else {
                return false;
            };
            self.expire(index);
        }
        self.pool.timers.next().is_some_and(|due| due <= self.now)
    }

    fn port_turn(&mut self, port: PortIndex, budget: PollBudget) -> TurnEnd {
        let mut frames = budget.frames;
        let mut segments = budget.segments;
        let mut end = TurnEnd::default();
        for _ in 0..ROUNDS {
            let received = self.receive_some(port, frames);
            frames = frames.saturating_sub(received);
            let (sent, blocked) = self.transmit_some(port, segments);
            segments = segments.saturating_sub(sent);
            end.blocked = blocked;
            if received == 0 && sent == 0 {
                return end;
            }
            if frames == 0 {
                self.count(port, |counters| &mut counters.budget_exhausted);
                break;
            }
            if segments == 0 {
                break;
            }
        }
        end.more = Some(More);
        end
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
        self.pool.counters
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

fn usable_subnet(config: &NicConfig) -> Result<Ipv4Cidr, AddError> {
    let address = config.address;
    let host = !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !address.is_broadcast();
    if !host || config.prefix_len == 0 || config.prefix_len > 30 {
        return Err(AddError::Address);
    }
    let subnet = Ipv4Cidr::new(address, config.prefix_len);
    let usable = |candidate: Ipv4Addr| {
        subnet.contains_addr(&candidate)
            && Some(candidate) != subnet.broadcast()
            && candidate != subnet.network().address()
    };
    let gateway_usable = config
        .gateway
        .is_none_or(|gateway| usable(gateway) && gateway != address);
    if usable(address) && gateway_usable {
        Ok(subnet)
    } else {
        Err(AddError::Address)
    }
}
