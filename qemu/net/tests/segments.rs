//! What an answer looks like on the wire: how many segments, with which flags,
//! and that none of them waits for an acknowledgement.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::frames::parse;
use common::{World, config};
use harness_net::{PollBudget, Recv, Sent, SocketId};
use smoltcp::iface::SocketHandle;

/// When the process ends its side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    Never,
    /// In the same turn as the last of its answer.
    AtOnce,
    /// In a turn of its own.
    Later,
}

/// The lengths of the segments, and whether the last one ends the connection.
type Shape = (Vec<usize>, bool);

fn asked(world: &mut World) -> (SocketHandle, SocketId) {
    world.peer.receive_bytes = 16_384;
    let listener = world.listen(8080);
    let (peer, accepted) = world.pair(listener, 8080);
    world.peer.socket(peer).send_slice(b"GET /").unwrap();
    let mut buffer = [0; 16];
    world.until(20, "request", |world| {
        world.stack.recv(accepted.socket, &mut buffer) == Recv::Bytes(5)
    });
    (peer, accepted.socket)
}

/// The segments of an answer of `bytes` bytes, until the peer has all of it.
fn shape(bytes: usize, close: Close) -> Shape {
    let mut world = World::new(config());
    let (peer, socket) = asked(&mut world);
    world.wire.borrow_mut().seen = Some(Vec::new());
    let answer = vec![7; bytes];
    let mut sent = 0;
    let mut got = 0;
    let mut buffer = [0; 8_192];
    world.until(100, "answer", |world| {
        if sent < bytes
            && let Sent::Bytes(count) = world.stack.send(socket, &answer[sent..])
        {
            sent += count;
            if sent == bytes && close == Close::AtOnce {
                world.stack.close(socket);
            }
        }
        got += world.peer.socket(peer).recv_slice(&mut buffer).unwrap_or(0);
        got == bytes
    });
    if close == Close::Later {
        world.stack.close(socket);
    }
    world.run(20);
    let seen = world.wire.borrow_mut().seen.take().unwrap();
    let segments: Vec<_> = seen.iter().filter_map(|frame| parse(frame)).collect();
    let alone = segments
        .iter()
        .filter(|s| s.payload.is_empty() && !s.fin)
        .count();
    assert_eq!(alone, 0, "{bytes} {close:?}: acknowledgements ride on data");
    let fin = segments.last().is_some_and(|last| last.fin);
    (segments.iter().map(|s| s.payload.len()).collect(), fin)
}

#[test]
fn answers_take_as_few_segments_as_they_can() {
    for (bytes, segments) in [
        (100, vec![100]),
        (1_460, vec![1_460]),
        (3_500, vec![1_460, 1_460, 580]),
        (6_000, vec![1_460, 1_460, 1_176, 1_460, 444]),
    ] {
        assert_eq!(shape(bytes, Close::Never), (segments.clone(), false));
        assert_eq!(shape(bytes, Close::AtOnce), (segments.clone(), true));
        let mut with_end = segments;
        with_end.push(0);
        assert_eq!(shape(bytes, Close::Later), (with_end, true));
    }
}

/// A process hears that all of its answer was taken, and closes: an entry later.
#[test]
fn an_end_that_follows_at_once_rides_on_the_answer() {
    let mut world = World::new(config());
    let (_, socket) = asked(&mut world);
    world.wire.borrow_mut().seen = Some(Vec::new());
    assert_eq!(world.stack.send(socket, &[7; 100]), Sent::Bytes(100));
    let polled = world.stack.poll(world.now(), PollBudget::TURN);
    assert!(polled.more_work, "what is held is not forgotten");
    assert_eq!(world.wire.borrow().seen.as_deref(), Some(&[][..]));
    world.stack.close(socket);
    world.poll_stack();
    let seen = world.wire.borrow_mut().seen.take().unwrap();
    let segments: Vec<_> = seen.iter().filter_map(|frame| parse(frame)).collect();
    let shapes: Vec<_> = segments.iter().map(|s| (s.payload.len(), s.fin)).collect();
    assert_eq!(shapes, [(100, true)]);
}

#[test]
fn no_segment_waits_for_an_acknowledgement() {
    let mut world = World::new(config());
    let (_, socket) = asked(&mut world);
    // The peer says nothing from here on.
    world.wire.borrow_mut().seen = Some(Vec::new());
    let head_and_body = [100, 1_460 + 300];
    for bytes in head_and_body {
        assert_eq!(
            world.stack.send(socket, &vec![7; bytes]),
            Sent::Bytes(bytes)
        );
        world.poll_stack();
    }
    world.stack.close(socket);
    world.poll_stack();
    let seen = world.wire.borrow_mut().seen.take().unwrap();
    let lengths: Vec<_> = seen
        .iter()
        .filter_map(|frame| parse(frame))
        .map(|segment| segment.payload.len())
        .collect();
    assert_eq!(lengths, [100, 1_460, 300, 0]);
}
