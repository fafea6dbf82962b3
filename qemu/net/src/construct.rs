//! Building a stack: its loopback, then one transport a card. All memory is
//! taken here.

use crate::account;
use crate::adapter::{Framing, OneFrame};
use crate::classify::Receiver;
use crate::config::{
    FRAME_BYTES_MAX, LISTENERS_MAX, NetConfig, NicConfig, PORTS_MAX, TRANSPORTS_MAX,
};
use crate::cookie::CookieJar;
use crate::device::FrameDevice;
use crate::flow::PortIndex;
use crate::ids::{ClientId, TransportId};
use crate::link::Link;
use crate::outcome::AddError;
use crate::pool::Pool;
use crate::siphash;
use crate::spent::SpentCookies;
use crate::stack::NetStack;
use crate::time::Instant;
use crate::transport::{Port, Transport};
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr, Ipv4Cidr};

impl<D: FrameDevice> NetStack<D> {
    /// A stack with its loopback transport. All its memory is taken here and in
    /// `add_nic`.
    #[must_use]
    pub fn new(config: NetConfig) -> Self {
        let [first, second] = config.secret;
        let pool = Pool::new(&config);
        let start = siphash::hash([second, first], [0]).to_le_bytes();
        let [low, high, ..] = start;
        let mut stack = Self {
            now: Instant::default(),
            patience: config.silence_time.into(),
            ports: Vec::with_capacity(PORTS_MAX),
            transports: Vec::with_capacity(TRANSPORTS_MAX),
            listeners: Vec::with_capacity(LISTENERS_MAX),
            cookies: CookieJar::new([first, second ^ u64::MAX]),
            spent: SpentCookies::new([first ^ u64::MAX, second]),
            nobody: SocketSet::new(Vec::new()),
            scratch: [0; FRAME_BYTES_MAX],
            next_ephemeral: u16::from_le_bytes([low, high]),
            order: Vec::with_capacity(PORTS_MAX),
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

    /// Lets `client` connect beside all others: sets its reserve aside, and its
    /// bound. Without this it has neither.
    ///
    /// # Errors
    /// There are too many clients, or the pool cannot keep the reserve.
    pub fn add_client(&mut self, client: ClientId) -> Result<(), AddError> {
        let account = account::of_client(client).ok_or(AddError::TooMany)?;
        let free = self.pool.free_count();
        self.pool
            .accounts
            .set_reserve(account, self.config.outgoing_reserve, free)
            .map_err(|()| AddError::TooMany)?;
        self.pool
            .accounts
            .set_limit(account, self.config.outgoing_limit);
        Ok(())
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
        let mut device = OneFrame::out(&mut link, Framing::Whole, &mut self.scratch);
        let mut interface = Interface::new(config, &mut device, self.now.wire());
        interface.update_ip_addrs(|addresses| {
            let added = addresses.push(IpCidr::Ipv4(subnet));
            debug_assert!(added.is_ok(), "a fresh interface has room for one address");
        });
        self.spent.add_port();
        self.ports.push(Port {
            transport,
            receiver: Receiver {
                port: index,
                medium,
                mac,
                subnet,
            },
            link,
            interface,
            learned: None,
            work: 0,
        });
        self.order.push(index);
        index
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
