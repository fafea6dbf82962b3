//! Connections over a good wire: data, ends, events, handles.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::{PEER_ADDRESS, STACK_ADDRESS, World, config};
use harness_net::{
    Accept, Binding, ClientId, ConnectError, ConnectState, Event, ListenError, ListenOptions,
    NicConfig, Recv, Sent, SocketId, TransportId,
};
use smoltcp::socket::tcp::State;
use std::net::{Ipv4Addr, SocketAddrV4};

fn events(world: &mut World) -> Vec<Event> {
    std::iter::from_fn(|| world.stack.next_event()).collect()
}

#[test]
fn a_request_and_its_answer() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let (peer, accepted) = world.pair(listener, 8080);
    assert_eq!(*accepted.peer.ip(), PEER_ADDRESS);
    assert_eq!(accepted.local, SocketAddrV4::new(STACK_ADDRESS, 8080));
    assert_eq!(accepted.transport, world.nic);
    world.peer.socket(peer).send_slice(b"ping").unwrap();
    let mut buffer = [0; 16];
    world.until(50, "request", |world| {
        world.stack.recv(accepted.socket, &mut buffer) == Recv::Bytes(4)
    });
    assert_eq!(&buffer[..4], b"ping");
    assert_eq!(world.stack.send(accepted.socket, b"pong"), Sent::Bytes(4));
    world.until(50, "answer", |world| {
        world.peer.socket(peer).recv_queue() == 4
    });
    world.stack.release(accepted.socket);
    world.until(50, "end", |world| {
        world.peer.state(peer) == State::CloseWait
    });
    world.peer.socket(peer).close();
    world.until(100, "time-wait", |world| {
        world.stack.pool_counters().time_wait == 1
    });
    world.run(10_100);
    assert_eq!(world.stack.pool_counters().in_use, 0);
    let report = world.stack.listener_reports().next().unwrap();
    assert_eq!(
        (report.counters.accepted, report.counters.established),
        (1, 1)
    );
}

#[test]
fn every_wait_gets_one_event() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let peer = world.peer.connect(STACK_ADDRESS, 8080);
    world.run(10);
    assert_eq!(events(&mut world), [], "nobody waited yet");
    let accepted = world.accept(listener).unwrap();
    assert_eq!(world.stack.accept(listener), Accept::WouldBlock);
    let second = world.peer.connect(STACK_ADDRESS, 8080);
    let third = world.peer.connect(STACK_ADDRESS, 8080);
    world.run(10);
    assert_eq!(events(&mut world), [Event::Acceptable(listener)]);
    assert!(world.accept(listener).is_some() && world.accept(listener).is_some());

    let mut buffer = [0; 4];
    assert_eq!(
        world.stack.recv(accepted.socket, &mut buffer),
        Recv::WouldBlock
    );
    world.peer.socket(peer).send_slice(b"ab").unwrap();
    world.run(10);
    world.peer.socket(peer).send_slice(b"cd").unwrap();
    world.run(10);
    assert_eq!(events(&mut world), [Event::Readable(accepted.socket)]);
    assert_eq!(
        world.stack.recv(accepted.socket, &mut buffer),
        Recv::Bytes(4)
    );

    // Fill until it blocks; room makes one event.
    while world.stack.send(accepted.socket, &[7; 1_024]) != Sent::WouldBlock {
        world.step();
    }
    assert_eq!(events(&mut world), []);
    world.until(100, "drained", |world| {
        world
            .peer
            .socket(peer)
            .recv(|bytes| (bytes.len(), ()))
            .unwrap();
        world.peer.socket(peer).recv_queue() == 0 && world.millis % 16 == 0
    });
    assert_eq!(events(&mut world), [Event::Writable(accepted.socket)]);

    // The end of the peer is readable, too.
    assert_eq!(
        world.stack.recv(accepted.socket, &mut buffer),
        Recv::WouldBlock
    );
    world.peer.socket(peer).close();
    world.run(10);
    assert_eq!(events(&mut world), [Event::Readable(accepted.socket)]);
    assert_eq!(
        world.stack.recv(accepted.socket, &mut buffer),
        Recv::PeerClosed
    );
    assert_eq!(world.peer.state(second), State::Established);
    assert_eq!(world.peer.state(third), State::Established);
}

#[test]
fn half_close_keeps_the_other_direction() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let (peer, accepted) = world.pair(listener, 8080);
    world.peer.socket(peer).send_slice(b"last").unwrap();
    world.peer.socket(peer).close();
    world.run(10);
    let mut buffer = [0; 16];
    assert_eq!(
        world.stack.recv(accepted.socket, &mut buffer),
        Recv::Bytes(4)
    );
    assert_eq!(
        world.stack.recv(accepted.socket, &mut buffer),
        Recv::PeerClosed
    );
    assert_eq!(world.stack.send(accepted.socket, b"answer"), Sent::Bytes(6));
    assert!(world.stack.may_send(accepted.socket));
    world.stack.close(accepted.socket);
    assert!(!world.stack.may_send(accepted.socket));
    assert_eq!(world.stack.send(accepted.socket, b"more"), Sent::Closed);
    world.until(50, "answer", |world| {
        world.peer.socket(peer).recv_queue() == 6
    });
    world.until(200, "end", |world| {
        matches!(world.peer.state(peer), State::TimeWait | State::Closed)
    });
    world.stack.release(accepted.socket);
    world.run(10);
    assert_eq!(
        world.stack.pool_counters().in_use,
        0,
        "the peer holds TIME-WAIT, not we"
    );
}

#[test]
fn a_reset_is_seen_and_an_abort_is_felt() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let (peer, accepted) = world.pair(listener, 8080);
    let mut buffer = [0; 4];
    assert_eq!(
        world.stack.recv(accepted.socket, &mut buffer),
        Recv::WouldBlock
    );
    world.peer.socket(peer).abort();
    world.run(5);
    assert_eq!(events(&mut world), [Event::Readable(accepted.socket)]);
    assert_eq!(world.stack.recv(accepted.socket, &mut buffer), Recv::Reset);
    assert_eq!(world.stack.send(accepted.socket, b"x"), Sent::Reset);
    assert!(!world.stack.may_send(accepted.socket));
    world.stack.release(accepted.socket);
    assert_eq!(world.stack.pool_counters().in_use, 0);

    let (peer, accepted) = world.pair(listener, 8080);
    assert!(world.stack.may_send(accepted.socket));
    world.stack.abort(accepted.socket);
    assert!(
        !world.stack.may_send(accepted.socket),
        "the handle is stale"
    );
    world.run(5);
    assert_eq!(world.peer.state(peer), State::Closed);
    assert_eq!(world.stack.pool_counters().in_use, 0);
}

#[test]
fn a_connection_reset_in_the_backlog_is_never_accepted() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let peer = world.peer.connect(STACK_ADDRESS, 8080);
    world.run(10);
    world.peer.socket(peer).abort();
    world.run(10);
    assert_eq!(world.accept(listener), None);
    let counters = world.stack.listener_reports().next().unwrap().counters;
    assert_eq!((counters.reset_before_accept, counters.accepted), (1, 0));
    assert_eq!(world.stack.pool_counters().in_use, 0);
}

#[test]
fn stale_handles_reach_nothing() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let (_, first) = world.pair(listener, 8080);
    world.stack.abort(first.socket);
    let (_, second) = world.pair(listener, 8080);
    assert_eq!(
        first.socket.index(),
        second.socket.index(),
        "the socket was reused"
    );
    let mut buffer = [0; 4];
    assert_eq!(world.stack.recv(first.socket, &mut buffer), Recv::Stale);
    assert_eq!(world.stack.send(first.socket, b"x"), Sent::Stale);
    assert_eq!(world.stack.connect_state(first.socket), ConnectState::Stale);
    world.stack.abort(first.socket);
    world.stack.release(first.socket);
    world.stack.close(first.socket);
    assert_eq!(
        world.stack.connect_state(second.socket),
        ConnectState::Connected
    );
    assert!(world.stack.close_listener(listener).is_some());
    assert!(world.stack.close_listener(listener).is_none());
    assert_eq!(world.stack.accept(listener), Accept::Stale);
}

#[test]
fn closing_a_listener_resets_its_backlog_and_keeps_what_was_accepted() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let (kept, accepted) = world.pair(listener, 8080);
    let waiting = world.peer.connect(STACK_ADDRESS, 8080);
    world.run(10);
    let report = world.stack.close_listener(listener).unwrap();
    assert!(!report.open);
    assert_eq!((report.counters.accepted, report.waiting), (1, 0));
    world.run(10);
    assert_eq!(world.peer.state(waiting), State::Closed);
    assert_eq!(world.peer.state(kept), State::Established);
    assert_eq!(
        world.stack.send(accepted.socket, b"still here"),
        Sent::Bytes(10)
    );
    let refused = world.peer.connect(STACK_ADDRESS, 8080);
    world.run(10);
    assert_eq!(world.peer.state(refused), State::Closed);
    // The same binding and port go on counting.
    let again = world.listen(8080);
    world.pair(again, 8080);
    assert_eq!(
        world
            .stack
            .listener_reports()
            .next()
            .unwrap()
            .counters
            .accepted,
        2
    );
}

/// Drives a loop connection: both ends are in the stack.
fn loop_pair(world: &mut World, to: SocketAddrV4, binding: Binding) -> (SocketId, SocketId) {
    let listener = world
        .stack
        .listen(binding, to.port(), ListenOptions::LOOPBACK)
        .unwrap();
    let client = world.stack.connect(ClientId(0), to).unwrap();
    assert_eq!(world.stack.connect_state(client), ConnectState::Connecting);
    world.poll_stack();
    assert_eq!(events(world), [Event::Connected(client)]);
    let accepted = world.accept(listener).unwrap();
    assert_eq!(accepted.local, to);
    (client, accepted.socket)
}

fn exchange(world: &mut World, client: SocketId, server: SocketId) {
    let data: Vec<u8> = (0..20_000_u32).map(|n| (n % 251) as u8).collect();
    let (mut sent, mut received) = (0, Vec::new());
    let mut buffer = [0; 512];
    while received.len() < data.len() {
        if let Sent::Bytes(count) = world.stack.send(client, &data[sent..]) {
            sent += count;
        }
        while let Recv::Bytes(count) = world.stack.recv(server, &mut buffer) {
            received.extend_from_slice(&buffer[..count]);
        }
        world.step();
        assert!(world.millis < 60_000, "stuck at {} bytes", received.len());
    }
    assert_eq!(received, data);
}

#[test]
fn loopback_carries_data() {
    let mut world = World::new(config());
    let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8082);
    let (client, server) = loop_pair(&mut world, to, Binding::Transport(TransportId::LOOPBACK));
    exchange(&mut world, client, server);
    world.stack.release(client);
    world.run(5);
    let mut buffer = [0; 4];
    assert_eq!(world.stack.recv(server, &mut buffer), Recv::PeerClosed);
}

#[test]
fn a_cards_own_address_stays_inside_its_transport() {
    let mut world = World::new(config());
    let to = SocketAddrV4::new(STACK_ADDRESS, 8081);
    let nic = world.nic;
    let (client, server) = loop_pair(&mut world, to, Binding::Transport(nic));
    exchange(&mut world, client, server);
    assert!(world.wire.borrow().to_peer.is_empty());
    let counters = world.stack.transport_counters(nic).unwrap();
    assert!(
        counters.frames_received > 20,
        "counted on the card's transport"
    );
    assert_eq!(
        world
            .stack
            .transport_counters(TransportId::LOOPBACK)
            .unwrap()
            .frames_received,
        0
    );
}

#[test]
fn a_listener_of_one_transport_is_not_reachable_over_another() {
    let mut world = World::new(config());
    world
        .stack
        .listen(
            Binding::Transport(TransportId::LOOPBACK),
            8082,
            ListenOptions::LOOPBACK,
        )
        .unwrap();
    let peer = world.peer.connect(STACK_ADDRESS, 8082);
    world.run(10);
    assert_eq!(world.peer.state(peer), State::Closed);
}

#[test]
fn a_wildcard_listens_everywhere_but_gives_way() {
    let mut world = World::new(config());
    let wild = world
        .stack
        .listen(Binding::Wildcard, 8080, ListenOptions::NIC)
        .unwrap();
    let (_, accepted) = world.pair(wild, 8080);
    assert_eq!(accepted.transport, world.nic);
    let own = world.listen(8080);
    world.pair(own, 8080);
    let client = world
        .stack
        .connect(ClientId(0), SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080))
        .unwrap();
    world.poll_stack();
    assert_eq!(world.accept(wild).unwrap().transport, TransportId::LOOPBACK);
    assert_eq!(world.stack.connect_state(client), ConnectState::Connected);
}

#[test]
fn outgoing_connections_reach_the_wire() {
    let mut world = World::new(config());
    let mut socket = smoltcp::socket::tcp::Socket::new(
        smoltcp::socket::tcp::SocketBuffer::new(vec![0; 512]),
        smoltcp::socket::tcp::SocketBuffer::new(vec![0; 512]),
    );
    socket.listen(9_000).unwrap();
    let server = world.peer.sockets.add(socket);
    let client = world
        .stack
        .connect(ClientId(0), SocketAddrV4::new(PEER_ADDRESS, 9_000))
        .unwrap();
    world.until(2_000, "connected", |world| {
        world.stack.connect_state(client) == ConnectState::Connected
    });
    assert_eq!(events(&mut world), [Event::Connected(client)]);
    assert_eq!(world.stack.send(client, b"hello"), Sent::Bytes(5));
    world.until(50, "data", |world| {
        world.peer.socket(server).recv_queue() == 5
    });
}

#[test]
fn outgoing_connections_fail_in_bounded_time() {
    let mut world = World::new(config());
    let refused = world
        .stack
        .connect(ClientId(0), SocketAddrV4::new(PEER_ADDRESS, 9_000))
        .unwrap();
    world.until(2_000, "refused", |world| {
        world.stack.connect_state(refused) == ConnectState::Failed
    });
    assert_eq!(events(&mut world), [Event::Failed(refused)]);
    let mut buffer = [0; 4];
    assert_eq!(world.stack.recv(refused, &mut buffer), Recv::Reset);
    world.stack.release(refused);

    let nobody = SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, 77), 80);
    let silent = world.stack.connect(ClientId(0), nobody).unwrap();
    world.until(5_010, "timed out", |world| {
        world.stack.connect_state(silent) == ConnectState::Failed
    });
    assert_eq!(events(&mut world), [Event::Failed(silent)]);
    world.stack.release(silent);
    world.run(5);
    assert_eq!(world.stack.pool_counters().in_use, 0);

    let at = |address: [u8; 4], port| SocketAddrV4::new(address.into(), port);
    assert_eq!(
        world.stack.connect(ClientId(0), at([10, 0, 2, 2], 0)),
        Err(ConnectError::PortZero)
    );
    for unreachable in [
        [192, 0, 2, 1],
        [127, 0, 0, 2],
        [10, 0, 2, 255],
        [224, 0, 0, 1],
    ] {
        assert_eq!(
            world.stack.connect(ClientId(0), at(unreachable, 80)),
            Err(ConnectError::NoRoute)
        );
    }
    // A refusal on loopback is immediate.
    let refused = world
        .stack
        .connect(ClientId(0), at([127, 0, 0, 1], 81))
        .unwrap();
    world.poll_stack();
    assert_eq!(world.stack.connect_state(refused), ConnectState::Failed);
}

#[test]
fn listening_is_refused_by_name() {
    let mut world = World::new(config());
    let nic = Binding::Transport(world.nic);
    let listen = |world: &mut World, binding, port, backlog, reserve| {
        world
            .stack
            .listen(binding, port, ListenOptions { backlog, reserve })
            .map(|_| ())
    };
    assert_eq!(listen(&mut world, nic, 0, 1, 0), Err(ListenError::PortZero));
    assert_eq!(
        listen(&mut world, nic, 1, 0, 0),
        Err(ListenError::BacklogZero)
    );
    let absent = Binding::Transport(TransportId(5));
    assert_eq!(
        listen(&mut world, absent, 1, 1, 0),
        Err(ListenError::NoTransport)
    );
    assert_eq!(
        listen(&mut world, nic, 1, 1, 1_300),
        Err(ListenError::ReserveUnavailable)
    );
    for port in 1..=16 {
        assert_eq!(listen(&mut world, nic, port, 1, 0), Ok(()));
    }
    assert_eq!(listen(&mut world, nic, 1, 1, 0), Err(ListenError::InUse));
    assert_eq!(listen(&mut world, nic, 17, 1, 0), Err(ListenError::TooMany));
}

#[test]
fn a_card_is_refused_by_name() {
    use harness_net::AddError;
    let mut world = World::new(config());
    let mut add = |address: [u8; 4], prefix_len, gateway: Option<[u8; 4]>, mac| {
        let wire = common::wire();
        let mut card = common::FakeCard::new(&wire);
        card.mac = mac;
        let config = NicConfig {
            address: address.into(),
            prefix_len,
            gateway: gateway.map(Ipv4Addr::from),
        };
        world.stack.add_nic(config, card).map(|_| ())
    };
    let mac = [2, 0, 0, 0, 0, 7];
    assert_eq!(add([10, 0, 2, 9], 24, None, mac), Err(AddError::Overlap));
    assert_eq!(add([10, 0, 3, 15], 31, None, mac), Err(AddError::Address));
    assert_eq!(add([10, 0, 3, 255], 24, None, mac), Err(AddError::Address));
    assert_eq!(
        add([10, 0, 3, 15], 24, Some([10, 0, 4, 2]), mac),
        Err(AddError::Address)
    );
    assert_eq!(add([127, 0, 0, 3], 24, None, mac), Err(AddError::Address));
    assert_eq!(
        add([10, 0, 3, 15], 24, None, [1; 6]),
        Err(AddError::HardwareAddress)
    );
    assert_eq!(add([10, 0, 3, 15], 24, Some([10, 0, 3, 2]), mac), Ok(()));
}
