//! A bad wire delays data and never damages it.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::{Faults, STACK_ADDRESS, World, config};
use harness_net::{Accepted, Recv, Sent};
use smoltcp::iface::SocketHandle;

struct Transfer {
    peer: SocketHandle,
    accepted: Option<Accepted>,
    up: (usize, Vec<u8>),
    down: (usize, Vec<u8>),
}

fn make(seed: usize) -> Vec<u8> {
    (0..20_000)
        .map(|n| ((n * 7 + n / 256 + seed) % 253) as u8)
        .collect()
}

/// Several connections at once, 20 kB each way, and an orderly end of each.
fn transfer_through(faults: Faults, connections: usize, limit: u64) {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    world.wire.borrow_mut().faults = faults;
    let mut transfers: Vec<Transfer> = (0..connections)
        .map(|_| Transfer {
            peer: world.peer.connect(STACK_ADDRESS, 8080),
            accepted: None,
            up: (0, Vec::new()),
            down: (0, Vec::new()),
        })
        .collect();
    let datas: Vec<Vec<u8>> = (0..connections).map(make).collect();
    let data = |seed: usize| -> &Vec<u8> { &datas[seed] };
    let start = world.millis;
    let mut buffer = [0; 700];
    loop {
        world.step();
        assert!(world.millis - start < limit, "not done within {limit} ms");
        while let Some(accepted) = world.accept(listener) {
            let port = accepted.peer.port();
            let owner = transfers
                .iter_mut()
                .find(|t| world.peer.socket(t.peer).local_endpoint().map(|e| e.port) == Some(port))
                .expect("a peer's own connection");
            assert!(owner.accepted.is_none(), "one connection each");
            owner.accepted = Some(accepted);
        }
        for (seed, transfer) in transfers.iter_mut().enumerate() {
            let all = data(seed);
            let socket = world.peer.socket(transfer.peer);
            if socket.may_send() {
                transfer.up.0 += socket.send_slice(&all[transfer.up.0..]).unwrap();
            }
            while socket.can_recv() {
                socket
                    .recv(|bytes| {
                        transfer.down.1.extend_from_slice(bytes);
                        (bytes.len(), ())
                    })
                    .unwrap();
            }
            let Some(accepted) = transfer.accepted else {
                continue;
            };
            if let Sent::Bytes(count) = world.stack.send(accepted.socket, &all[transfer.down.0..]) {
                transfer.down.0 += count;
            }
            while let Recv::Bytes(count) = world.stack.recv(accepted.socket, &mut buffer) {
                transfer.up.1.extend_from_slice(&buffer[..count]);
            }
        }
        let complete = |(seed, t): (usize, &Transfer)| {
            t.up.1.len() >= data(seed).len() && t.down.1.len() >= data(seed).len()
        };
        if transfers.iter().enumerate().all(complete) {
            break;
        }
    }
    let taken = world.millis - start;
    println!("{faults:?}: {connections} connections in {taken} ms of the wire's time");
    for (seed, transfer) in transfers.iter().enumerate() {
        assert_eq!(&transfer.up.1, data(seed));
        assert_eq!(&transfer.down.1, data(seed));
        world.stack.release(transfer.accepted.unwrap().socket);
        world.peer.socket(transfer.peer).close();
    }
    world.run(40_000);
    assert_eq!(
        world.stack.pool_counters().in_use,
        0,
        "everything has ended"
    );
}

#[test]
fn no_faults() {
    transfer_through(Faults::default(), 8, 1_000);
}

#[test]
fn loss() {
    transfer_through(
        Faults {
            lose: 50,
            ..Faults::default()
        },
        8,
        120_000,
    );
}

#[test]
fn heavy_loss() {
    transfer_through(
        Faults {
            lose: 200,
            ..Faults::default()
        },
        2,
        600_000,
    );
}

#[test]
fn duplication() {
    transfer_through(
        Faults {
            duplicate: 300,
            ..Faults::default()
        },
        8,
        20_000,
    );
}

#[test]
fn reordering() {
    transfer_through(
        Faults {
            reorder: 300,
            ..Faults::default()
        },
        8,
        60_000,
    );
}

#[test]
fn corruption() {
    transfer_through(
        Faults {
            corrupt: 50,
            ..Faults::default()
        },
        8,
        120_000,
    );
}

#[test]
fn everything_at_once() {
    let faults = Faults {
        lose: 30,
        duplicate: 100,
        reorder: 100,
        corrupt: 30,
    };
    transfer_through(faults, 12, 240_000);
}

#[test]
fn a_card_with_little_room() {
    let mut world = World::new(config());
    world.wire.borrow_mut().card_room_max = 2;
    let listener = world.listen(8080);
    let pairs: Vec<_> = (0..8).map(|_| world.pair(listener, 8080)).collect();
    for (_, accepted) in &pairs {
        assert_eq!(
            world.stack.send(accepted.socket, &[9; 4_096]),
            Sent::Bytes(4_096)
        );
    }
    world.until(
        2_000,
        "all data through two frames a millisecond",
        |world| {
            pairs
                .iter()
                .all(|&(peer, _)| world.peer.socket(peer).recv_queue() == 4_096)
        },
    );
}
