//! Listeners and connections: two processes over the loopback.

use std::num::NonZeroU16;

use capos_config::capos_capnp::{ExceptionType, network_manager, tcp_socket};
use capos_config::ring::{
    CAP_ERR_APPLICATION_EXCEPTION, CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, CAP_ERR_INVOKE_FAILED,
    CapSqe,
};
use harness_kernel::call::kinds::Object;
use ingress_schema::listen::{ListenBinding, Transport};

use crate::rig::{RESULT, Rig, call, release};

const SERVER: usize = 0;
const CLIENT: usize = 1;
const PORT: u16 = 8_082;
const ACCEPT: u16 = 0;
const SEND: u16 = 0;
const RECV: u16 = 1;

/// A server that may listen and a client that may connect.
fn two() -> (Rig, u32, u32) {
    let mut rig = Rig::of(2);
    let port = NonZeroU16::new(PORT).unwrap();
    rig.world
        .authorities
        .push(ListenBinding::new(Transport::Loopback, port));
    let authority = rig.grant(SERVER, Object::ListenAuthority(0));
    let manager = rig.grant(CLIENT, Object::NetworkManager);
    (rig, authority, manager)
}

fn listen(rig: &mut Rig, authority: u32) -> u32 {
    let done = rig.at_once(SERVER, call(authority, 0, 0));
    assert_eq!((done[0].result, done[0].cap_count), (24, 1));
    rig.brought(SERVER, RESULT, done[0].result)
}

fn connect(rig: &mut Rig, manager: u32) -> CapSqe {
    let bytes = rig.params(CLIENT, |message| {
        let mut root = message.init_root::<network_manager::connect_tcp_params::Builder<'_>>();
        root.set_addr(&[127, 0, 0, 1]);
        root.set_port(PORT);
    });
    call(manager, 2, bytes)
}

/// A connection: the listener, the server's socket, the client's.
fn connected() -> (Rig, u32, u32, u32) {
    let (mut rig, authority, manager) = two();
    let listener = listen(&mut rig, authority);
    let submission = connect(&mut rig, manager);
    rig.submit(CLIENT, submission);
    rig.submit(SERVER, call(listener, ACCEPT, 0));
    rig.turns(20);
    let accepted = rig.take(SERVER);
    let opened = rig.take(CLIENT);
    assert_eq!((accepted[0].result, opened[0].result), (40, 24));
    let server = rig.brought(SERVER, RESULT, 40);
    let client = rig.brought(CLIENT, RESULT, 24);
    (rig, listener, server, client)
}

fn receive(rig: &mut Rig, who: usize, cap: u32) -> CapSqe {
    let bytes = rig.params(who, |message| {
        message
            .init_root::<tcp_socket::recv_params::Builder<'_>>()
            .set_max_len(100);
    });
    call(cap, RECV, bytes)
}

fn send(rig: &mut Rig, who: usize, cap: u32, data: &[u8]) -> CapSqe {
    let bytes = rig.params(who, |message| {
        message
            .init_root::<tcp_socket::send_params::Builder<'_>>()
            .set_data(data);
    });
    call(cap, SEND, bytes)
}

#[test]
fn bytes_cross_and_a_receive_waits_for_them() {
    let (mut rig, _, server, client) = connected();
    let waits = receive(&mut rig, SERVER, server);
    assert!(rig.at_once(SERVER, waits).is_empty());
    let second = receive(&mut rig, SERVER, server);
    assert_eq!(rig.raised(SERVER, second).0, ExceptionType::Overloaded);
    let sent = send(&mut rig, CLIENT, client, b"hello");
    assert_eq!(rig.code(CLIENT, sent), 24);
    assert_eq!(rig.word(CLIENT, 0), 5);
    rig.turns(10);
    let done = rig.take(SERVER);
    assert_eq!((done.len(), done[0].result), (1, 32));
    assert_eq!(rig.processes[SERVER].space.get(RESULT + 24, 5), b"hello");
}

#[test]
fn a_capability_that_cannot_be_told_of_takes_nothing() {
    let (mut rig, authority, _) = two();
    let tight = CapSqe {
        result_len: 39,
        ..call(authority, 0, 0)
    };
    assert_eq!(
        rig.code(SERVER, tight),
        CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED
    );
    let told = CapSqe {
        result_len: 40,
        ..call(authority, 0, 0)
    };
    assert_eq!(rig.code(SERVER, told), 24, "nothing listens yet");
    let (kind, _) = rig.raised(SERVER, call(authority, 0, 0));
    assert_eq!(kind, ExceptionType::Failed, "now something does");
}

#[test]
fn a_socket_that_is_given_back_cancels_what_waits_once() {
    let (mut rig, _, server, client) = connected();
    let waits = receive(&mut rig, SERVER, server);
    rig.submit(SERVER, waits);
    rig.submit(SERVER, release(server));
    rig.enter(SERVER, 0, 0);
    let done = rig.take(SERVER);
    assert_eq!(done.len(), 2);
    assert_eq!(done[1].result, CAP_ERR_APPLICATION_EXCEPTION);
    let (kind, text) = rig.exception(SERVER, RESULT);
    assert_eq!(kind, ExceptionType::Disconnected);
    assert_eq!(text, "the object was closed");
    assert_eq!(rig.held(SERVER, server), None);
    let late = receive(&mut rig, SERVER, server);
    assert_eq!(rig.code(SERVER, late), CAP_ERR_INVOKE_FAILED);
    // Its peer is told.
    let peer = receive(&mut rig, CLIENT, client);
    rig.submit(CLIENT, peer);
    rig.turns(10);
    assert_eq!(rig.take(CLIENT).len(), 1);
    assert!(rig.take(SERVER).is_empty());
}

#[test]
fn a_process_that_ends_leaves_its_peers_no_call_that_waits() {
    let (mut rig, listener, server, client) = connected();
    let waits = receive(&mut rig, SERVER, server);
    rig.submit(SERVER, waits);
    rig.submit(SERVER, call(listener, ACCEPT, 0));
    rig.enter(SERVER, 0, 0);
    let peer = receive(&mut rig, CLIENT, client);
    assert!(rig.at_once(CLIENT, peer).is_empty());

    let index = rig.processes[SERVER].index;
    rig.world.forget(index);
    let mut place = Some(0);
    while let Some(at) = place {
        place = rig.world.network.forget_some(index, at);
    }
    let ended = rig.processes.remove(SERVER);
    for _ in 0..10 {
        rig.enter(0, 0, 0);
    }
    let done = rig.take(0);
    assert_eq!(
        (done.len(), done[0].result),
        (1, CAP_ERR_APPLICATION_EXCEPTION)
    );
    assert_eq!(rig.exception(0, RESULT).0, ExceptionType::Disconnected);
    assert_eq!(rig.world.network.stack.pool_counters().in_use, 1);
    drop(ended);
}

#[test]
fn what_finds_no_room_stays_ready() {
    let (mut rig, _, server, client) = connected();
    let waits = receive(&mut rig, SERVER, server);
    rig.submit(SERVER, waits);
    rig.enter(SERVER, 0, 0);
    for _ in 0..2 {
        for _ in 0..16 {
            rig.submit(SERVER, crate::rig::NOP);
        }
        rig.enter(SERVER, 0, 0);
    }
    let sent = send(&mut rig, CLIENT, client, b"x");
    rig.code(CLIENT, sent);
    rig.turns(10);
    let full = rig.take(SERVER);
    assert!(full.iter().all(|done| done.result == 0), "no room for it");
    rig.enter(SERVER, 0, 0);
    assert_eq!(rig.take(SERVER).len(), 1, "and now there is");
}
