//! Any sequence of operations and peers' doings leaves the stack working, its
//! pool accounted for, and nothing behind once everything is given up.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use std::time::Duration;

use common::{Faults, STACK_ADDRESS, World, config};
use harness_net::{
    Accept, Binding, ClientId, Event, ListenOptions, ListenerId, NetConfig, Recv, Sent, SocketId,
    TransportId,
};
use proptest::prelude::*;
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp;
use std::net::{Ipv4Addr, SocketAddrV4};

#[derive(Debug, Clone, Copy)]
enum Step {
    PeerConnects(u8),
    PeerSends(u8),
    PeerReads(u8),
    PeerCloses(u8),
    PeerAborts(u8),
    Listen(u8),
    CloseListener(u8),
    Accept(u8),
    Connect(u8),
    Send(u8),
    Recv(u8),
    Close(u8),
    Abort(u8),
    Release(u8),
    Events,
    Pass(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let n = any::<u8>();
    prop_oneof![
        4 => n.prop_map(Step::PeerConnects),
        3 => n.prop_map(Step::PeerSends),
        2 => n.prop_map(Step::PeerReads),
        2 => n.prop_map(Step::PeerCloses),
        1 => n.prop_map(Step::PeerAborts),
        2 => n.prop_map(Step::Listen),
        1 => n.prop_map(Step::CloseListener),
        4 => n.prop_map(Step::Accept),
        2 => n.prop_map(Step::Connect),
        3 => n.prop_map(Step::Send),
        3 => n.prop_map(Step::Recv),
        2 => n.prop_map(Step::Close),
        1 => n.prop_map(Step::Abort),
        2 => n.prop_map(Step::Release),
        2 => Just(Step::Events),
        3 => (1_u16..30).prop_map(Step::Pass),
        1 => (500_u16..3_000).prop_map(Step::Pass),
    ]
}

/// The bindings that listeners are opened on, by number.
fn binding(world: &World, n: u8) -> (Binding, u16, ListenOptions) {
    let options = ListenOptions {
        backlog: 4,
        reserve: 3,
    };
    match n % 4 {
        0 => (Binding::Transport(world.nic), 8080, options),
        1 => (Binding::Transport(world.nic), 8081, options),
        2 => (Binding::Transport(TransportId::LOOPBACK), 8082, options),
        _ => (Binding::Wildcard, 8083, options),
    }
}

fn pick<T: Copy>(all: &[T], n: u8) -> Option<T> {
    (!all.is_empty()).then(|| all[usize::from(n) % all.len()])
}

struct Run {
    world: World,
    peers: Vec<SocketHandle>,
    listeners: Vec<ListenerId>,
    sockets: Vec<SocketId>,
}

impl Run {
    fn apply(&mut self, step: Step) {
        match step {
            Step::PeerConnects(n) => {
                let port = 8080 + u16::from(n % 4);
                self.peers
                    .push(self.world.peer.connect(STACK_ADDRESS, port));
            }
            Step::PeerSends(n) => self.with_peer(n, |socket| {
                if socket.may_send() {
                    socket.send_slice(&[n; 900]).unwrap();
                }
            }),
            Step::PeerReads(n) => self.with_peer(n, |socket| {
                if socket.can_recv() {
                    socket.recv(|bytes| (bytes.len(), ())).unwrap();
                }
            }),
            Step::PeerCloses(n) => self.with_peer(n, |socket| socket.close()),
            Step::PeerAborts(n) => self.with_peer(n, |socket| socket.abort()),
            Step::Listen(n) => self.listen(n),
            Step::CloseListener(n) => {
                if let Some(listener) = pick(&self.listeners, n) {
                    self.world.stack.close_listener(listener);
                }
            }
            Step::Accept(n) => self.accept(n),
            Step::Connect(n) => self.connect(n),
            Step::Send(n) => self.with_socket(n, |world, socket| {
                let sent = world.stack.send(socket, &[n; 700]);
                assert!(!matches!(sent, Sent::Bytes(0)), "progress or a refusal");
            }),
            Step::Recv(n) => self.with_socket(n, |world, socket| {
                let received = world.stack.recv(socket, &mut [0; 300]);
                assert!(!matches!(received, Recv::Bytes(0)), "progress or a refusal");
            }),
            Step::Close(n) => self.with_socket(n, |world, socket| {
                world.stack.close(socket);
            }),
            Step::Abort(n) => self.with_socket(n, |world, socket| {
                world.stack.abort(socket);
                assert_eq!(world.stack.recv(socket, &mut [0; 1]), Recv::Stale);
            }),
            Step::Release(n) => self.with_socket(n, |world, socket| {
                world.stack.release(socket);
                assert_eq!(world.stack.send(socket, b"x"), Sent::Stale);
            }),
            Step::Events => self.take_events(),
            Step::Pass(millis) => self.world.run(u64::from(millis)),
        }
    }

    /// Does something to one of the peer's sockets, if it has any.
    fn with_peer(&mut self, n: u8, act: impl FnOnce(&mut tcp::Socket<'static>)) {
        if let Some(peer) = pick(&self.peers, n) {
            act(self.world.peer.socket(peer));
        }
    }

    /// Does something to one of the stack's sockets, if it has handed any out.
    fn with_socket(&mut self, n: u8, act: impl FnOnce(&mut World, SocketId)) {
        if let Some(socket) = pick(&self.sockets, n) {
            act(&mut self.world, socket);
        }
    }

    fn listen(&mut self, n: u8) {
        let (binding, port, options) = binding(&self.world, n);
        if let Ok(listener) = self.world.stack.listen(binding, port, options) {
            self.listeners.push(listener);
        }
    }

    fn accept(&mut self, n: u8) {
        if let Some(listener) = pick(&self.listeners, n)
            && let Accept::Connection(accepted) = self.world.stack.accept(listener)
        {
            assert!(!self.sockets.contains(&accepted.socket), "handed out twice");
            self.sockets.push(accepted.socket);
        }
    }

    fn connect(&mut self, n: u8) {
        let to = match n % 3 {
            0 => SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8082 + u16::from(n & 1)),
            1 => SocketAddrV4::new(STACK_ADDRESS, 8081),
            _ => SocketAddrV4::new(common::PEER_ADDRESS, 9_999),
        };
        if let Ok(socket) = self.world.stack.connect(ClientId(0), to) {
            self.sockets.push(socket);
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.world.stack.next_event() {
            let known = match event {
                Event::Acceptable(id) => self.listeners.contains(&id),
                Event::Readable(id)
                | Event::Writable(id)
                | Event::Connected(id)
                | Event::Failed(id) => self.sockets.contains(&id),
            };
            assert!(known, "an event of something nobody holds: {event:?}");
        }
    }

    fn give_everything_up(&mut self) {
        for listener in self.listeners.clone() {
            self.world.stack.close_listener(listener);
        }
        for (n, socket) in self.sockets.clone().into_iter().enumerate() {
            if n % 2 == 0 {
                self.world.stack.release(socket);
            } else {
                self.world.stack.abort(socket);
            }
        }
        // An orphan's time, then TIME-WAIT.
        self.world.run(16_000);
    }
}

fn run(steps: &[Step], faults: Faults) {
    let world = World::new(NetConfig {
        sockets: 24,
        outgoing_reserve: 3,
        orphan_time: Duration::from_secs(5),
        ..config()
    });
    let mut run = Run {
        world,
        peers: Vec::new(),
        listeners: Vec::new(),
        sockets: Vec::new(),
    };
    run.world.wire.borrow_mut().faults = faults;
    for &step in steps {
        run.apply(step);
        let pool = run.world.stack.pool_counters();
        assert!(
            pool.in_use <= 24 && pool.time_wait + pool.orphans <= pool.in_use && pool.faults == 0,
            "{pool:?}"
        );
    }
    run.give_everything_up();
    let pool = run.world.stack.pool_counters();
    assert_eq!((pool.in_use, pool.orphans, pool.time_wait), (0, 0, 0));
    assert_eq!(pool.faults, 0);
    let mut after = run.world;
    after.wire.borrow_mut().faults = Faults::default();
    let nic = Binding::Transport(after.nic);
    let options = ListenOptions {
        backlog: 4,
        reserve: 3,
    };
    let listener = after.stack.listen(nic, 8090, options).unwrap();
    after.pair(listener, 8090);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn on_a_good_wire(steps in proptest::collection::vec(step(), 1..120)) {
        run(&steps, Faults::default());
    }

    #[test]
    fn on_a_bad_wire(steps in proptest::collection::vec(step(), 1..120)) {
        run(&steps, Faults { lose: 100, duplicate: 100, reorder: 100, corrupt: 30 });
    }
}
