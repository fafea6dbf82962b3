//! Two cards and the loopback: what one does never keeps another waiting.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::{FakeCard, Peer, SharedWire, World, config};
use harness_net::{
    Accept, Binding, ListenOptions, ListenerId, NicConfig, Recv, Sent, SocketId, TransportId,
};
use smoltcp::iface::SocketHandle;
use std::net::{Ipv4Addr, SocketAddrV4};

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
        let client = self.world.stack.connect(own).unwrap();
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
