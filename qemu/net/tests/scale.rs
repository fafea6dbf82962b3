//! Many connections, no allocation on the packet path, nothing paid for idlers.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::{STACK_ADDRESS, World, config};
use harness_net::{Accepted, ClientId, PollBudget, Recv, Sent};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Counts allocations of this thread while it is watched.
struct Counting;

fn note() {
    if WATCHED.get() {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    }
}

// SAFETY: every call goes on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    WATCHED.set(true);
    work();
    WATCHED.set(false);
    ALLOCATIONS.get() - before
}

#[test]
fn the_counter_counts() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1_u8; 100]))) > 0);
}

/// Opens and accepts `count` connections.
fn open(world: &mut World, listener: harness_net::ListenerId, count: usize) -> Vec<Accepted> {
    let mut accepted = Vec::new();
    for _ in 0..count {
        accepted.push(world.pair(listener, 8080).1);
        // Idle sockets would make the test's own peer slow.
        world.peer.sockets = smoltcp::iface::SocketSet::new(Vec::new());
        world.wire.borrow_mut().to_peer.clear();
    }
    accepted
}

#[test]
fn a_thousand_idlers_need_no_work() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let idle = open(&mut world, listener, 1_100);
    world.run(200);
    assert_eq!(world.stack.pool_counters().in_use, 1_100);
    let polled = world.stack.poll(world.now(), PollBudget::TURN);
    assert_eq!((polled.more_work, polled.next_deadline), (false, None));
    let frames = world
        .stack
        .transport_counters(world.nic)
        .unwrap()
        .frames_sent;
    world.run(1_000);
    assert_eq!(
        world
            .stack
            .transport_counters(world.nic)
            .unwrap()
            .frames_sent,
        frames
    );
    for accepted in idle {
        world.stack.abort(accepted.socket);
    }
    assert_eq!(world.stack.pool_counters().in_use, 0);
}

/// A loop connection moves data; everything that runs is the stack's own code.
#[test]
fn the_packet_path_allocates_nothing() {
    use harness_net::{Binding, ListenOptions, TransportId};
    use std::net::{Ipv4Addr, SocketAddrV4};
    let mut world = World::new(config());
    let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8082);
    let listener = world
        .stack
        .listen(
            Binding::Transport(TransportId::LOOPBACK),
            8082,
            ListenOptions::LOOPBACK,
        )
        .unwrap();
    let count = allocations(|| {
        for round in 0..200 {
            world.millis += 1;
            let client = world.stack.connect(ClientId(0), to).unwrap();
            world.poll_stack();
            let server = world.accept(listener).unwrap().socket;
            assert_eq!(world.stack.send(client, b"request"), Sent::Bytes(7));
            world.poll_stack();
            let mut buffer = [0; 64];
            assert_eq!(world.stack.recv(server, &mut buffer), Recv::Bytes(7));
            assert_eq!(world.stack.send(server, &[7; 3_000]), Sent::Bytes(3_000));
            world.poll_stack();
            while let Recv::Bytes(_) = world.stack.recv(client, &mut buffer) {
                world.poll_stack();
            }
            if round % 2 == 0 {
                world.stack.release(server);
                world.stack.release(client);
            } else {
                world.stack.abort(client);
                world.stack.abort(server);
            }
            world.poll_stack();
            while world.stack.next_event().is_some() {}
        }
    });
    assert_eq!(count, 0);
}

/// The same over a card, where only the test's own frames are allocated.
#[test]
fn requests_of_strangers_allocate_nothing() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let handles: Vec<_> = (0..64)
        .map(|_| world.peer.connect(STACK_ADDRESS, 8080))
        .collect();
    world.run(5);
    let mut served = Vec::new();
    let count = allocations(|| {
        while let Some(accepted) = world.accept(listener) {
            served.push(accepted.socket);
        }
    });
    assert!(count <= 6, "only the test's own vector: {count}");
    assert_eq!(served.len(), handles.len());
}
