//! What one client's outgoing connections can take from another's.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::{STACK_ADDRESS, World, config};
use harness_net::{
    AddError, Binding, CLIENTS_MAX, ClientId, ConnectError, ListenOptions, NetConfig, SocketId,
};
use std::net::{Ipv4Addr, SocketAddrV4};

const GREEDY: ClientId = ClientId(0);
const OPERATOR: ClientId = ClientId(1);

fn world() -> World {
    let mut world = World::new(NetConfig {
        sockets: 40,
        outgoing_reserve: 4,
        outgoing_limit: 8,
        ..config()
    });
    world.stack.add_client(OPERATOR).unwrap();
    world
}

/// An address of the card's subnet at which nobody answers.
fn absent() -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 2, 77), 80)
}

/// Connects until it is refused: what was opened, and why no more.
fn connect_all(world: &mut World, client: ClientId) -> (Vec<SocketId>, ConnectError) {
    let mut opened = Vec::new();
    loop {
        match world.stack.connect(client, absent()) {
            Ok(socket) => opened.push(socket),
            Err(error) => return (opened, error),
        }
    }
}

#[test]
fn a_client_has_its_bound_and_no_more() {
    let mut world = world();
    let (opened, why) = connect_all(&mut world, GREEDY);
    assert_eq!((opened.len(), why), (8, ConnectError::ClientLimit));
    let (opened, why) = connect_all(&mut world, OPERATOR);
    assert_eq!((opened.len(), why), (8, ConnectError::ClientLimit));
    world.run(5_010);
    for socket in opened {
        world.stack.release(socket);
    }
    assert!(world.stack.connect(OPERATOR, absent()).is_ok());
}

#[test]
fn a_greedy_client_and_a_full_public_listener_leave_the_operator_its_reserve() {
    let mut world = world();
    connect_all(&mut world, GREEDY);
    let options = ListenOptions {
        backlog: 64,
        reserve: 0,
    };
    let nic = Binding::Transport(world.nic);
    let public = world.stack.listen(nic, 8080, options).unwrap();
    for _ in 0..60 {
        world.peer.connect(STACK_ADDRESS, 8080);
    }
    world.run(100);
    let accepted = std::iter::from_fn(|| world.accept(public)).count();
    assert_eq!(accepted, 40 - 8 - 4);
    let (opened, why) = connect_all(&mut world, OPERATOR);
    assert_eq!((opened.len(), why), (4, ConnectError::PoolExhausted));
}

/// What a process gives up is closing for a while, and is still its own.
#[test]
fn connections_given_up_count_until_they_have_ended() {
    let mut world = world();
    let own = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8082);
    let loopback = Binding::Transport(harness_net::TransportId::LOOPBACK);
    let options = ListenOptions {
        backlog: 16,
        reserve: 16,
    };
    world.stack.listen(loopback, 8082, options).unwrap();
    let mut refused = 0;
    for _ in 0..200 {
        match world.stack.connect(GREEDY, own) {
            Ok(socket) => {
                world.poll_stack();
                world.stack.release(socket);
            }
            Err(ConnectError::ClientLimit) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused > 100, "{refused}");
    let (opened, _) = connect_all(&mut world, OPERATOR);
    assert!(opened.len() >= 4, "{}", opened.len());
}

#[test]
fn clients_are_few_and_their_reserves_are_kept_or_refused() {
    let mut world = world();
    let one_more = ClientId(u8::try_from(CLIENTS_MAX).unwrap());
    assert_eq!(world.stack.add_client(one_more), Err(AddError::TooMany));
    assert_eq!(
        world.stack.connect(one_more, absent()),
        Err(ConnectError::PoolExhausted)
    );
    let mut small = World::new(NetConfig {
        sockets: 6,
        outgoing_reserve: 4,
        ..config()
    });
    assert_eq!(small.stack.add_client(OPERATOR), Err(AddError::TooMany));
}
