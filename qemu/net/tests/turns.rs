//! Two cards and the loopback: what one does never keeps another waiting.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::frames::{Raw, frame_to, parse};
use common::{FakeCard, Peer, STACK_ADDRESS, STACK_MAC, SharedWire, World, config};
use harness_net::{
    Accept, Binding, ClientId, FrameDevice, Instant, ListenOptions, ListenerId, NetStack,
    NicConfig, PollBudget, Recv, Sent, SocketId, TransportId,
};
use smoltcp::iface::SocketHandle;
use smoltcp::wire::TcpControl;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;

const OTHER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 15);
const OTHER_PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 3, 2);

/// A world whose stack has a second card, with a peer of its own.
struct Two {
    world: World,
    wire: SharedWire,
    peer: Peer,
    other: TransportId,
}

impl Two {
    fn new() -> Self {
        let mut world = World::new(config());
        let wire = common::wire();
        let nic = NicConfig {
            address: OTHER_ADDRESS,
            prefix_len: 24,
            gateway: None,
        };
        let other = world.stack.add_nic(nic, FakeCard::new(&wire)).unwrap();
        let peer = Peer::new(&wire, OTHER_PEER);
        Self {
            world,
            wire,
            peer,
            other,
        }
    }

    fn listen(&mut self, transport: TransportId, port: u16) -> ListenerId {
        let options = match transport {
            TransportId::LOOPBACK => ListenOptions::LOOPBACK,
            _ => ListenOptions::NIC,
        };
        self.world
            .stack
            .listen(Binding::Transport(transport), port, options)
            .unwrap()
    }

    /// One millisecond passes, on both wires.
    fn step(&mut self) {
        {
            let mut wire = self.wire.borrow_mut();
            wire.card_room = wire.card_room_max;
        }
        self.world.step();
        let now = smoltcp::time::Instant::from_millis(self.world.millis as i64);
        self.peer
            .interface
            .poll(now, &mut self.peer.device, &mut self.peer.sockets);
        self.world.poll_stack();
    }

    /// Whether a connection over the other card is accepted and answered in `millis`.
    fn answers_other(&mut self, listener: ListenerId, millis: u64) -> bool {
        let handle = self.peer.connect(OTHER_ADDRESS, 8081);
        let served = self.serves(listener, millis, |two| two.ask(handle));
        self.peer.sockets.remove(handle);
        served
    }

    fn ask(&mut self, handle: SocketHandle) -> bool {
        let socket = self.peer.socket(handle);
        if socket.can_send() && socket.send_queue() == 0 && !socket.can_recv() {
            socket.send_slice(b"?").unwrap();
        }
        socket.can_recv()
    }

    /// Whether a connection over the loopback is accepted and answered in `millis`.
    fn answers_loopback(&mut self, listener: ListenerId, millis: u64) -> bool {
        let own = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8082);
        let client = self.world.stack.connect(ClientId(0), own).unwrap();
        let mut asked = false;
        let served = self.serves(listener, millis, |two| {
            asked = asked || two.world.stack.send(client, b"?") == Sent::Bytes(1);
            matches!(two.world.stack.recv(client, &mut [0; 4]), Recv::Bytes(_))
        });
        self.world.stack.abort(client);
        served
    }

    /// Accepts one connection, answers its first byte and lets it go.
    fn serves(
        &mut self,
        listener: ListenerId,
        millis: u64,
        mut answered: impl FnMut(&mut Self) -> bool,
    ) -> bool {
        let mut accepted: Option<SocketId> = None;
        let mut done = false;
        for _ in 0..millis {
            self.step();
            if let (None, Accept::Connection(new)) = (accepted, self.world.stack.accept(listener)) {
                accepted = Some(new.socket);
            }
            if let Some(socket) = accepted
                && matches!(self.world.stack.recv(socket, &mut [0; 4]), Recv::Bytes(_))
            {
                self.world.stack.send(socket, b"!");
            }
            if answered(self) {
                done = true;
                break;
            }
        }
        if let Some(socket) = accepted {
            self.world.stack.abort(socket);
        }
        done
    }
}

#[test]
fn a_card_that_nobody_reads_silences_no_other() {
    let mut two = Two::new();
    let public = two.listen(two.world.nic, 8080);
    let provider = two.listen(two.other, 8081);
    let local = two.listen(TransportId::LOOPBACK, 8082);
    let accepted: Vec<_> = (0..40).map(|_| two.world.pair(public, 8080).1).collect();
    // The first of the other peer's has to ask for the hardware address.
    assert!(two.answers_other(provider, 2_000));
    two.world.wire.borrow_mut().card_room_max = 0;
    two.step();
    for connection in accepted {
        // Queued for the card, which takes nothing; then the owner gives up.
        assert_eq!(
            two.world.stack.send(connection.socket, b"!"),
            Sent::Bytes(1)
        );
        two.world.stack.abort(connection.socket);
    }
    let other = (0..20).filter(|_| two.answers_other(provider, 20)).count();
    let loopback = (0..20).filter(|_| two.answers_loopback(local, 20)).count();
    assert_eq!((other, loopback), (20, 20));
}

/// What the cards were asked to do, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Did {
    Received(usize),
    Sent(usize),
    Flushed(usize),
}

/// Two cards, what waits in them, and a frame that comes to the second one when
/// the log has reached a length.
#[derive(Default)]
struct Cards {
    waiting: [VecDeque<Vec<u8>>; 2],
    sent: Vec<Vec<u8>>,
    log: Vec<Did>,
    late: Option<(usize, Vec<u8>)>,
}

impl Cards {
    fn note(&mut self, did: Did) {
        self.log.push(did);
        if let Some((_, frame)) = self.late.take_if(|(length, _)| *length <= self.log.len()) {
            self.waiting[1].push_back(frame);
        }
    }
}

struct LoggedCard(usize, Rc<RefCell<Cards>>);

impl FrameDevice for LoggedCard {
    type Frame = Vec<u8>;

    fn mac(&self) -> [u8; 6] {
        STACK_MAC
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut cards = self.1.borrow_mut();
        let frame = cards.waiting[self.0].pop_front()?;
        cards.note(Did::Received(self.0));
        Some(frame)
    }

    fn recycle(&mut self, _: Vec<u8>) {}

    fn can_transmit(&mut self) -> bool {
        true
    }

    fn transmit<R>(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut frame = vec![0; len];
        let result = fill(&mut frame);
        let mut cards = self.1.borrow_mut();
        cards.sent.push(frame);
        cards.note(Did::Sent(self.0));
        result
    }

    fn flush(&mut self) {
        self.1.borrow_mut().note(Did::Flushed(self.0));
    }
}

/// A stack over the two cards, with a listener on each.
struct Logged {
    stack: NetStack<LoggedCard>,
    cards: Rc<RefCell<Cards>>,
    listeners: Vec<ListenerId>,
}

const ADDRESSES: [Ipv4Addr; 2] = [STACK_ADDRESS, OTHER_ADDRESS];

impl Logged {
    fn new() -> Self {
        let cards = Rc::new(RefCell::new(Cards::default()));
        let mut stack = NetStack::new(config());
        let mut listeners = Vec::new();
        for (number, address) in ADDRESSES.into_iter().enumerate() {
            let nic = NicConfig {
                address,
                prefix_len: 24,
                gateway: None,
            };
            let card = LoggedCard(number, cards.clone());
            let transport = stack.add_nic(nic, card).unwrap();
            let binding = Binding::Transport(transport);
            listeners.push(stack.listen(binding, 80, ListenOptions::NIC).unwrap());
        }
        Self {
            stack,
            cards,
            listeners,
        }
    }

    fn poll(&mut self) {
        self.stack.poll(Instant::from_millis(1), PollBudget::TURN);
    }

    /// Lets `count` frames come to the first card at once.
    fn flood(&mut self, count: u16) {
        let frames = (0..count).map(|own| segment(0, own + 1_000, TcpControl::Syn, None));
        self.cards.borrow_mut().waiting[0].extend(frames);
    }

    /// Connects over the first card.
    fn connected(&mut self, own: u16) -> SocketId {
        let request = segment(0, own, TcpControl::Syn, None);
        self.cards.borrow_mut().waiting[0].push_back(request);
        self.poll();
        let answer = self.cards.borrow_mut().sent.pop().unwrap();
        let isn = parse(&answer).unwrap().sequence;
        let rest = segment(0, own, TcpControl::None, Some(isn.wrapping_add(1)));
        self.cards.borrow_mut().waiting[0].push_back(rest);
        self.poll();
        let Accept::Connection(accepted) = self.stack.accept(self.listeners[0]) else {
            panic!("not accepted")
        };
        accepted.socket
    }

    /// One poll, in which a connection request comes to the second card once the log is
    /// `after` long; how much the first card did, first until the request was received,
    /// then until its answer had left.
    fn patience(&mut self, after: usize) -> (usize, usize) {
        let request = segment(1, 77, TcpControl::Syn, None);
        {
            let mut cards = self.cards.borrow_mut();
            cards.log.clear();
            cards.late = Some((after, request));
        }
        self.poll();
        let log = &self.cards.borrow().log;
        let at = |from: usize, did| from + log[from..].iter().position(|&d| d == did).unwrap();
        let received = at(after, Did::Received(1));
        let left = at(at(received, Did::Sent(1)), Did::Flushed(1));
        let work = |did: &&Did| matches!(did, Did::Received(0) | Did::Sent(0));
        let until = log[after..received].iter().filter(work).count();
        (until, log[received..left].iter().filter(work).count())
    }
}

/// A segment to a card's address; a connection request has the number 100.
fn segment(card: usize, own: u16, control: TcpControl, acknowledges: Option<u32>) -> Vec<u8> {
    let [a, b, c, _] = ADDRESSES[card].octets();
    let raw = Raw {
        from: (Ipv4Addr::new(a, b, c, 2), own),
        to_port: 80,
        control,
        sequence: 100 + u32::from(acknowledges.is_some()),
        acknowledges,
        payload: &[],
    };
    frame_to(ADDRESSES[card], raw)
}

#[test]
fn a_frame_waits_for_eight_of_a_flood_and_its_answer_for_none() {
    for after in 1..60 {
        let mut logged = Logged::new();
        logged.flood(200);
        let (until, then) = logged.patience(after);
        // Each frame of the flood is answered.
        assert!(until <= 16, "{until} frames and answers came before it");
        assert_eq!(then, 0, "its answer waited");
    }
}

#[test]
fn a_frame_waits_for_eight_segments_of_many_senders() {
    for after in 1..30 {
        let mut logged = Logged::new();
        let sockets: Vec<_> = (1..=20).map(|own| logged.connected(own)).collect();
        for socket in sockets {
            assert_eq!(logged.stack.send(socket, &[7; 4_000]), Sent::Bytes(4_000));
        }
        // They are held for one poll, in case their ends follow.
        logged.poll();
        let (until, then) = logged.patience(after);
        assert!(until <= 8, "{until} segments came before it");
        assert_eq!(then, 0, "its answer waited");
    }
}

#[test]
fn who_has_had_least_work_lately_comes_first() {
    let mut logged = Logged::new();
    logged.flood(200);
    logged.poll();
    let request = segment(1, 77, TcpControl::Syn, None);
    {
        let mut cards = logged.cards.borrow_mut();
        cards.log.clear();
        cards.waiting[1].push_back(request);
    }
    logged.poll();
    assert_eq!(
        logged.cards.borrow().log[..2],
        [Did::Received(1), Did::Sent(1)]
    );
}
