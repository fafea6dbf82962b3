//! No byte from the network may panic the stack or keep it from working.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::frames::{Raw, frame};
use common::{PEER_ADDRESS, World, config};
use harness_net::{NetConfig, Recv, Sent};
use proptest::prelude::*;
use smoltcp::wire::TcpControl;

fn controls() -> impl Strategy<Value = TcpControl> {
    prop_oneof![
        Just(TcpControl::None),
        Just(TcpControl::Psh),
        Just(TcpControl::Fin),
        Just(TcpControl::Syn),
        Just(TcpControl::Rst),
    ]
}

/// A segment near a live connection's numbers, with valid checksums or bytes
/// changed, cut or appended.
fn nasty(live: u16) -> impl Strategy<Value = Vec<u8>> {
    let segment = (
        prop_oneof![Just(live), 1_u16..],
        prop_oneof![Just(8080_u16), Just(8081), 1_u16..],
        controls(),
        any::<u32>(),
        proptest::option::of(any::<u32>()),
        proptest::collection::vec(any::<u8>(), 0..100),
    );
    let change = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (segment, change, 0_usize..200).prop_map(|(segment, changes, cut)| {
        let (own, to_port, control, sequence, acknowledges, payload) = segment;
        let mut bytes = frame(Raw {
            from: (PEER_ADDRESS, own),
            to_port,
            control,
            sequence,
            acknowledges,
            payload: &payload,
        });
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut < bytes.len() && cut > 14 {
            bytes.truncate(bytes.len() - (cut % 20));
        }
        bytes
    })
}

fn small() -> NetConfig {
    NetConfig {
        sockets: 96,
        ..config()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_frames(frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..50)) {
        let mut world = World::new(small());
        let listener = world.listen(8080);
        for bytes in frames {
            world.wire.borrow_mut().to_stack.push_back(bytes);
        }
        world.run(3);
        world.pair(listener, 8080);
    }

    #[test]
    fn near_misses_beside_a_live_connection(frames in proptest::collection::vec(nasty(20_001), 1..60)) {
        let mut world = World::new(small());
        let listener = world.listen(8080);
        let (peer, accepted) = world.pair(listener, 8080);
        for bytes in frames {
            world.wire.borrow_mut().to_stack.push_back(bytes);
            if world.millis.is_multiple_of(3) {
                world.stack.send(accepted.socket, b"data");
            }
            world.step();
        }
        // The stack still serves others, whatever became of that connection.
        let (other, second) = world.pair(listener, 8080);
        world.peer.socket(other).send_slice(b"ok").unwrap();
        let mut buffer = [0; 8];
        world.until(3_000, "data", |world| {
            world.stack.recv(second.socket, &mut buffer) == Recv::Bytes(2)
        });
        prop_assert_eq!(world.stack.send(second.socket, b"ok"), Sent::Bytes(2));
        world.stack.abort(accepted.socket);
        world.stack.abort(second.socket);
        world.peer.socket(peer).abort();
        world.run(16_000);
        prop_assert_eq!(world.stack.pool_counters().orphans, 0);
    }
}
