//! A fake wire with faults, a card at one end and a plain smoltcp peer with any
//! number of sockets at the other.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod frames;
pub(crate) mod hand;

use harness_net::{
    Accept, Accepted, Binding, ClientId, FrameDevice, Instant, ListenOptions, ListenerId,
    NetConfig, NetStack, NicConfig, PollBudget, TransportId,
};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::rc::Rc;

pub(crate) const STACK_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const PEER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// What goes wrong on a wire, in thousandths of all frames.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) lose: u32,
    pub(crate) duplicate: u32,
    pub(crate) reorder: u32,
    pub(crate) corrupt: u32,
}

#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) to_stack: VecDeque<Vec<u8>>,
    pub(crate) to_peer: VecDeque<Vec<u8>>,
    pub(crate) faults: Faults,
    /// Frames that the card takes before it is full, until the next step.
    pub(crate) card_room: usize,
    pub(crate) card_room_max: usize,
    /// Milliseconds that a frame is on its way.
    pub(crate) delay: u64,
    /// What is on its way: until when, whether to the stack, and the frame.
    on_way: VecDeque<(u64, bool, Vec<u8>)>,
    /// Chooses frames that are lost, told whether they go to the stack.
    pub(crate) eats: Option<Appetite>,
    /// Frames from the stack that the test wants to see.
    pub(crate) seen: Option<Vec<Vec<u8>>>,
    millis: u64,
    random: u64,
}

type Eats = Box<dyn FnMut(&[u8], bool) -> bool>;

/// A choice of frames.
pub(crate) struct Appetite(pub Eats);

impl core::fmt::Debug for Appetite {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Appetite")
    }
}

impl Wire {
    pub(crate) fn random(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) as u32
    }

    fn hits(&mut self, rate: u32) -> bool {
        rate > 0 && self.random() % 1_000 < rate
    }

    fn pass(&mut self, frame: Vec<u8>, to_stack: bool) {
        let faults = self.faults;
        let eaten = self
            .eats
            .as_mut()
            .is_some_and(|eats| eats.0(&frame, to_stack));
        if eaten || self.hits(faults.lose) {
            return;
        }
        let mut frame = frame;
        if self.hits(faults.corrupt) {
            let at = self.random() as usize % frame.len();
            frame[at] ^= 1 << (self.random() % 8);
        }
        if self.delay > 0 {
            let due = self.millis + self.delay;
            self.on_way.push_back((due, to_stack, frame));
            return;
        }
        let copies = 1 + usize::from(self.hits(faults.duplicate));
        let swap = self.hits(faults.reorder);
        let queue = if to_stack {
            &mut self.to_stack
        } else {
            &mut self.to_peer
        };
        for _ in 0..copies {
            queue.push_back(frame.clone());
        }
        if swap && queue.len() >= 2 {
            let last = queue.len() - 1;
            queue.swap(last, last - 1);
        }
    }
}

impl Wire {
    /// What has arrived by now.
    fn arrive(&mut self, millis: u64) {
        self.millis = millis;
        while let Some((_, to_stack, frame)) =
            self.on_way.pop_front_if(|(due, _, _)| *due <= millis)
        {
            let queue = if to_stack {
                &mut self.to_stack
            } else {
                &mut self.to_peer
            };
            queue.push_back(frame);
        }
    }
}

pub(crate) type SharedWire = Rc<RefCell<Wire>>;

pub(crate) fn wire() -> SharedWire {
    Rc::new(RefCell::new(Wire {
        to_stack: VecDeque::new(),
        to_peer: VecDeque::new(),
        faults: Faults::default(),
        card_room: 256,
        card_room_max: 256,
        delay: 0,
        on_way: VecDeque::new(),
        eats: None,
        seen: None,
        millis: 0,
        random: 0x9E37_79B9_7F4A_7C15,
    }))
}

/// The stack's end. Frames it lends are checked to come back.
#[derive(Debug)]
pub(crate) struct FakeCard {
    wire: SharedWire,
    pub(crate) mac: [u8; 6],
    lent: usize,
}

impl FakeCard {
    pub(crate) fn new(wire: &SharedWire) -> Self {
        Self {
            wire: wire.clone(),
            mac: STACK_MAC,
            lent: 0,
        }
    }
}

impl FrameDevice for FakeCard {
    type Frame = Vec<u8>;

    fn mac(&self) -> [u8; 6] {
        self.mac
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        let frame = self.wire.borrow_mut().to_stack.pop_front()?;
        self.lent += 1;
        assert_eq!(self.lent, 1, "a frame is recycled before the next is taken");
        Some(frame)
    }

    fn recycle(&mut self, _: Vec<u8>) {
        self.lent -= 1;
    }

    fn can_transmit(&mut self) -> bool {
        self.wire.borrow().card_room > 0
    }

    fn transmit<R>(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        assert!(len <= harness_net::FRAME_BYTES_MAX);
        let mut frame = vec![0xEE; len];
        let result = fill(&mut frame);
        let mut wire = self.wire.borrow_mut();
        wire.card_room = wire.card_room.checked_sub(1).expect("asked before sending");
        if let Some(seen) = &mut wire.seen {
            seen.push(frame.clone());
        }
        wire.pass(frame, false);
        result
    }

    fn flush(&mut self) {}
}

/// The peer's end.
pub(crate) struct PeerDevice(pub SharedWire);
pub(crate) struct PeerRx(Vec<u8>);
pub(crate) struct PeerTx(SharedWire);

impl RxToken for PeerRx {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for PeerTx {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = vec![0; len];
        let result = f(&mut frame);
        self.0.borrow_mut().pass(frame, true);
        result
    }
}

impl Device for PeerDevice {
    type RxToken<'a> = PeerRx;
    type TxToken<'a> = PeerTx;

    fn receive(&mut self, _: smoltcp::time::Instant) -> Option<(PeerRx, PeerTx)> {
        let frame = self.0.borrow_mut().to_peer.pop_front()?;
        Some((PeerRx(frame), PeerTx(self.0.clone())))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<PeerTx> {
        Some(PeerTx(self.0.clone()))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1_514;
        capabilities
    }
}

/// A host on the wire.
pub(crate) struct Peer {
    pub(crate) interface: Interface,
    pub(crate) device: PeerDevice,
    pub(crate) sockets: SocketSet<'static>,
    /// Receive buffer of each socket.
    pub(crate) receive_bytes: usize,
    next_port: u16,
}

impl Peer {
    pub(crate) fn new(wire: &SharedWire, address: Ipv4Addr) -> Self {
        Self::seeded(wire, address, 77)
    }

    /// One whose initial numbers follow from `seed`.
    pub(crate) fn seeded(wire: &SharedWire, address: Ipv4Addr, seed: u64) -> Self {
        let mut device = PeerDevice(wire.clone());
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(PEER_MAC)));
        config.random_seed = seed;
        let mut interface =
            Interface::new(config, &mut device, smoltcp::time::Instant::from_millis(0));
        interface.update_ip_addrs(|list| {
            list.push(IpCidr::new(IpAddress::Ipv4(address), 24))
                .unwrap();
        });
        Self {
            interface,
            device,
            sockets: SocketSet::new(Vec::new()),
            receive_bytes: 4_096,
            next_port: 20_000,
        }
    }

    pub(crate) fn connect(&mut self, to: Ipv4Addr, port: u16) -> SocketHandle {
        self.next_port += 1;
        self.connect_from(self.next_port, to, port)
    }

    pub(crate) fn connect_from(&mut self, own: u16, to: Ipv4Addr, port: u16) -> SocketHandle {
        let mut socket = Socket::new(
            SocketBuffer::new(vec![0; self.receive_bytes]),
            SocketBuffer::new(vec![0; 4_096]),
        );
        socket.set_ack_delay(None);
        socket
            .connect(self.interface.context(), (IpAddress::Ipv4(to), port), own)
            .unwrap();
        self.sockets.add(socket)
    }

    pub(crate) fn socket(&mut self, handle: SocketHandle) -> &mut Socket<'static> {
        self.sockets.get_mut(handle)
    }

    pub(crate) fn state(&self, handle: SocketHandle) -> State {
        self.sockets.get::<Socket<'_>>(handle).state()
    }
}

/// A stack with one card, a peer on its wire, and a clock.
pub(crate) struct World {
    pub(crate) stack: NetStack<FakeCard>,
    pub(crate) nic: TransportId,
    pub(crate) wire: SharedWire,
    pub(crate) peer: Peer,
    pub(crate) millis: u64,
}

pub(crate) const STACK_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
pub(crate) const PEER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

pub(crate) fn config() -> NetConfig {
    NetConfig::new([0x1122_3344_5566_7788, 0x99AA_BBCC_DDEE_FF00])
}

impl World {
    pub(crate) fn new(config: NetConfig) -> Self {
        let wire = wire();
        let mut stack = NetStack::new(config);
        stack.add_client(ClientId(0)).unwrap();
        let nic = stack
            .add_nic(
                NicConfig {
                    address: STACK_ADDRESS,
                    prefix_len: 24,
                    gateway: Some(PEER_ADDRESS),
                },
                FakeCard::new(&wire),
            )
            .unwrap();
        let peer = Peer::new(&wire, PEER_ADDRESS);
        Self {
            stack,
            nic,
            wire,
            peer,
            millis: 1_000,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_millis(self.millis)
    }

    /// Lets the stack do all it can do now.
    pub(crate) fn poll_stack(&mut self) {
        let now = self.now();
        for _ in 0..10_000 {
            if !self.stack.poll(now, PollBudget::TURN).more_work {
                return;
            }
        }
        panic!("the stack never comes to rest");
    }

    /// One millisecond passes.
    pub(crate) fn step(&mut self) {
        self.millis += 1;
        {
            let mut wire = self.wire.borrow_mut();
            wire.card_room = wire.card_room_max;
            wire.arrive(self.millis);
        }
        self.poll_stack();
        let now = smoltcp::time::Instant::from_millis(self.millis as i64);
        self.peer
            .interface
            .poll(now, &mut self.peer.device, &mut self.peer.sockets);
        self.poll_stack();
    }

    pub(crate) fn run(&mut self, millis: u64) {
        for _ in 0..millis {
            self.step();
        }
    }

    /// Steps until `done`, at most `millis`.
    pub(crate) fn until(
        &mut self,
        millis: u64,
        what: &str,
        mut done: impl FnMut(&mut Self) -> bool,
    ) {
        for _ in 0..millis {
            if done(self) {
                return;
            }
            self.step();
        }
        assert!(done(self), "not within {millis} ms: {what}");
    }

    pub(crate) fn listen(&mut self, port: u16) -> ListenerId {
        self.stack
            .listen(Binding::Transport(self.nic), port, ListenOptions::NIC)
            .unwrap()
    }

    pub(crate) fn accept(&mut self, listener: ListenerId) -> Option<Accepted> {
        match self.stack.accept(listener) {
            Accept::Connection(accepted) => Some(accepted),
            Accept::WouldBlock => None,
            Accept::Stale => panic!("stale listener"),
        }
    }

    /// Connects the peer and accepts, with both ends established.
    pub(crate) fn pair(&mut self, listener: ListenerId, port: u16) -> (SocketHandle, Accepted) {
        let handle = self.peer.connect(STACK_ADDRESS, port);
        let mut accepted = None;
        self.until(5_000, "accept", |world| {
            accepted = accepted.or_else(|| world.accept(listener));
            accepted.is_some()
        });
        (handle, accepted.unwrap())
    }
}
