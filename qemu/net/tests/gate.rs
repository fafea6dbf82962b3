//! What the gate in front of smoltcp lets through, row by row, and what it answers
//! to the rest (RFC 9293, 3.10.7; RFC 5961).
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::frames::{Raw, Seen, frame};
use common::hand::{Hand, deliver, segment, send, tcp, watched};
use common::{PEER_ADDRESS, PEER_MAC, Peer, STACK_ADDRESS, STACK_MAC, World, config};
use harness_net::{
    Accept, Binding, ClientId, ConnectState, ListenOptions, NetConfig, Recv, Sent, SocketId,
    TransportCounters, TransportId,
};
use smoltcp::socket::tcp::State;
use smoltcp::wire::TcpControl;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The window of a fresh connection: its receive buffer.
const WINDOW: u32 = 2_048;
const HALF: u32 = 1 << 31;

fn counters(world: &World) -> TransportCounters {
    world.stack.transport_counters(world.nic).unwrap()
}

/// The one answer, if there is one.
fn only(mut answers: Vec<Seen>) -> Option<Seen> {
    assert!(answers.len() <= 1, "{} answers", answers.len());
    answers.pop()
}

/// Whether `answer` tells where the connection stands, and no more.
fn tells(hand: &Hand, answer: Option<&Seen>) -> bool {
    answer.is_some_and(|seen| {
        let numbers = (seen.sequence, seen.acknowledges);
        assert_eq!(numbers, (hand.theirs, hand.next));
        seen.ack && !seen.syn && !seen.rst && seen.payload.is_empty()
    })
}

/// The first two fill the window and one past it; smoltcp takes the third for one
/// inside it, and subtracts.
#[test]
fn numbers_half_the_space_away_panic_nothing() {
    let mut hand = Hand::shake(100);
    let (next, theirs) = (hand.next, Some(hand.theirs));
    let frames = [
        segment(TcpControl::Psh, next, theirs, &[1; 1_460]),
        segment(TcpControl::Fin, next + 1_460, theirs, &[2; 588]),
        segment(TcpControl::None, next + WINDOW + (1 << 31), theirs, b""),
    ];
    hand.world.wire.borrow_mut().to_stack.extend(frames);
    hand.world.poll_stack();
    let mut buffer = [0; 4_096];
    let heard = hand.world.stack.recv(hand.socket, &mut buffer);
    assert_eq!(heard, Recv::Bytes(2_048));
}

/// A connection whose window is shut: it has as many bytes to read as it holds.
fn shut() -> Hand {
    let mut hand = Hand::shake(100);
    for bytes in [1_460, 588] {
        let data = hand.data(&vec![3; bytes]);
        hand.send(data);
        hand.next += bytes as u32;
    }
    hand.wait(20);
    hand
}

/// The four rows of RFC 9293, 3.10.7.4, at each of their edges: text of so many
/// bytes, so far after the number that is expected, is taken or answered.
#[test]
fn the_table_of_acceptable_numbers() {
    let open: [(u32, usize, bool); 18] = [
        // No text, a window.
        (0, 0, true),
        (WINDOW - 1, 0, true),
        (WINDOW, 0, false),
        (u32::MAX, 0, false),
        (HALF, 0, false),
        (HALF - 1, 0, false),
        (HALF + WINDOW, 0, false),
        // Text, a window: its first or its last byte is inside.
        (0, 1, true),
        (WINDOW - 1, 1, true),
        (WINDOW, 1, false),
        (u32::MAX, 1, false),
        (u32::MAX, 2, true),
        (0_u32.wrapping_sub(1_000), 1_000, false),
        (0_u32.wrapping_sub(1_000), 1_001, true),
        (HALF, 1, false),
        (HALF - 1, 1_460, false),
        (HALF.wrapping_sub(1_460), 1_460, false),
        (HALF + WINDOW - 1, 2, false),
    ];
    // No window: nothing but the expected number, and no text.
    let closed: [(u32, usize, bool); 6] = [
        (0, 0, true),
        (1, 0, false),
        (u32::MAX, 0, false),
        (HALF, 0, false),
        (0, 1, false),
        (u32::MAX, 1, false),
    ];
    let rows = open.map(|row| (false, row)).into_iter();
    for (is_shut, (offset, text, taken)) in rows.chain(closed.map(|row| (true, row))) {
        let mut hand = if is_shut { shut() } else { Hand::shake(100) };
        let before = counters(&hand.world).unacceptable;
        let at = hand.next.wrapping_add(offset);
        let theirs = Some(hand.theirs);
        let answers = hand.send(segment(TcpControl::None, at, theirs, &vec![9; text]));
        let refused = counters(&hand.world).unacceptable - before;
        let row = format!("shut {is_shut}, offset {offset}, text {text}");
        assert_eq!(refused, u64::from(!taken), "{row}");
        if !taken {
            assert!(tells(&hand, only(answers).as_ref()), "{row}");
        }
        assert_eq!(hand.world.stack.pool_counters().faults, 0);
    }
}

#[test]
fn a_reset_counts_at_exactly_the_expected_number() {
    for (offset, answered) in [
        (1, true),
        (WINDOW - 1, true),
        (WINDOW, false),
        (u32::MAX, false),
        (HALF, false),
        (HALF + 1, false),
    ] {
        for control in [None, Some(5)] {
            let mut hand = Hand::shake(100);
            let at = hand.next.wrapping_add(offset);
            let answers = hand.send(segment(TcpControl::Rst, at, control, b""));
            assert_eq!(tells(&hand, only(answers).as_ref()), answered, "{offset}");
            hand.goes_on();
            let exact = segment(TcpControl::Rst, hand.next, control, b"");
            assert!(hand.send(exact).is_empty());
            let mut buffer = [0; 4];
            assert_eq!(hand.world.stack.recv(hand.socket, &mut buffer), Recv::Reset);
        }
    }
    // With its window shut, the exact number alone is answered to.
    let mut hand = shut();
    let (next, theirs) = (hand.next, Some(hand.theirs));
    for near in [next.wrapping_sub(1), next + 1] {
        assert!(
            hand.send(segment(TcpControl::Rst, near, theirs, b""))
                .is_empty()
        );
    }
    assert_eq!(hand.hears().len(), 2_048);
    let mut hand = shut();
    hand.send(segment(TcpControl::Rst, hand.next, theirs, b""));
    assert_eq!(hand.hears().len(), 2_048, "what came before it can be read");
    let mut buffer = [0; 4];
    assert_eq!(hand.world.stack.recv(hand.socket, &mut buffer), Recv::Reset);
}

#[test]
fn a_request_on_a_live_connection_is_challenged() {
    for offset in [0, 1, WINDOW - 1, WINDOW, u32::MAX, HALF, HALF + WINDOW] {
        for acknowledges in [None, Some(7)] {
            let mut hand = Hand::shake(100);
            let at = hand.next.wrapping_add(offset);
            let answers = hand.send(segment(TcpControl::Syn, at, acknowledges, b""));
            assert!(tells(&hand, only(answers).as_ref()), "{offset}");
            hand.goes_on();
        }
    }
}

#[test]
fn an_acknowledgement_has_to_be_of_something_sent() {
    // From the first byte not acknowledged: 1,000 are under way, and more is queued.
    for (offset, taken) in [
        (0, true),
        (1_000, true),
        (1_001, false),
        (0_u32.wrapping_sub(65_535), true),
        (0_u32.wrapping_sub(65_536), false),
        (HALF, false),
        (HALF - 1, false),
        (HALF + 1, false),
    ] {
        let mut hand = Hand::shake(100);
        let small = segment(TcpControl::None, hand.next, Some(hand.theirs), b"");
        hand.send(tcp(small, |packet| packet.set_window_len(1_000)));
        assert_eq!(
            hand.world.stack.send(hand.socket, &[1; 3_000]),
            Sent::Bytes(3_000)
        );
        let sent = hand.wait(1);
        assert_eq!(
            sent.iter().map(|seen| seen.payload.len()).sum::<usize>(),
            1_000
        );
        let acknowledged = Some(hand.theirs.wrapping_add(offset));
        let before = counters(&hand.world);
        let text = segment(TcpControl::Psh, hand.next, acknowledged, b"text");
        let answers = hand.send(tcp(text, |packet| packet.set_window_len(0)));
        let refused = counters(&hand.world).unacceptable - before.unacceptable;
        assert_eq!(refused, u64::from(!taken), "{offset}");
        if !taken {
            let answer = only(answers).expect("a challenge");
            assert_eq!(answer.acknowledges, hand.next, "{offset}");
            assert_eq!(answer.sequence, hand.theirs.wrapping_add(1_000));
            assert_eq!(hand.hears(), b"");
        }
    }
}

#[test]
fn what_acknowledges_nothing_is_dropped() {
    let mut hand = Hand::shake(100);
    for control in [TcpControl::None, TcpControl::Psh, TcpControl::Fin] {
        assert!(
            hand.send(segment(control, hand.next, None, b"text"))
                .is_empty()
        );
    }
    assert_eq!(hand.hears(), b"");
    assert_eq!(counters(&hand.world).unacceptable, 3);
    hand.goes_on();
}

#[test]
fn an_end_outside_of_the_window_is_trimmed_off() {
    let mut hand = Hand::shake(100);
    let theirs = Some(hand.theirs);
    let first = hand.data(&[1; 1_000]);
    hand.send(first);
    hand.next += 1_000;
    // The text fills the window to its last byte; the end comes after it.
    let answers = hand.send(segment(TcpControl::Fin, hand.next, theirs, &[2; 1_048]));
    hand.next += 1_048;
    let told = answers.last().expect("it is told what was taken");
    assert_eq!(told.acknowledges, hand.next);
    // Shut as the window is, the end alone has no room either.
    let again = segment(TcpControl::Fin, hand.next, theirs, b"");
    let answers = hand.send(again.clone());
    assert!(tells(&hand, only(answers).as_ref()));
    assert_eq!(hand.hears().len(), 2_048);
    assert_eq!(hand.hears(), b"", "not ended");
    hand.wait(20);
    hand.send(again);
    let mut buffer = [0; 4];
    assert_eq!(
        hand.world.stack.recv(hand.socket, &mut buffer),
        Recv::PeerClosed
    );
}

#[test]
fn text_behind_an_end_is_never_read() {
    let mut hand = Hand::shake(100);
    let theirs = Some(hand.theirs);
    hand.send(segment(TcpControl::Fin, hand.next, theirs, b"last"));
    assert_eq!(hand.hears(), b"last");
    hand.next += 5;
    let more = segment(TcpControl::Psh, hand.next, theirs, b"more");
    let answers = hand.send(more);
    assert!(tells(&hand, only(answers).as_ref()));
    let mut buffer = [0; 4];
    assert_eq!(
        hand.world.stack.recv(hand.socket, &mut buffer),
        Recv::PeerClosed
    );
}

/// Text that came early, then an end in the middle of it.
#[test]
fn a_peer_that_contradicts_itself_is_reset() {
    let mut hand = Hand::shake(100);
    let theirs = Some(hand.theirs);
    let early = segment(TcpControl::Psh, hand.next + 100, theirs, &[1; 1_460]);
    hand.send(early);
    let rest = segment(TcpControl::Psh, hand.next + 1_560, theirs, &[1; 488]);
    hand.send(rest);
    let answers = hand.send(segment(TcpControl::Fin, hand.next, theirs, &[1; 100]));
    assert!(answers.iter().any(|seen| seen.rst));
    hand.wait(100);
    let mut buffer = [0; 4_096];
    let heard = hand.world.stack.recv(hand.socket, &mut buffer);
    assert_eq!(heard, Recv::Bytes(2_048));
    assert_eq!(hand.world.stack.send(hand.socket, b"no"), Sent::Reset);
}

#[test]
fn a_repetition_is_answered_each_time() {
    let mut hand = Hand::shake(100);
    hand.says(b"text");
    hand.wait(20);
    let again = segment(TcpControl::Psh, hand.next - 4, Some(hand.theirs), b"text");
    for _ in 0..20 {
        let answers = hand.send(again.clone());
        assert!(tells(&hand, only(answers).as_ref()));
    }
    let mut corrupt = again;
    corrupt[50] ^= 1;
    assert!(hand.send(corrupt).is_empty());
    assert_eq!(counters(&hand.world).malformed, 1);
    assert_eq!(counters(&hand.world).challenges_sent, 0);
}

#[test]
fn a_connection_challenges_twice_a_second() {
    let mut hand = Hand::shake(100);
    let mut answers = 0;
    for _ in 0..500 {
        answers += hand.send(segment(TcpControl::Syn, 9, None, b"")).len();
        hand.wait(10);
    }
    assert_eq!(answers, 10, "in five seconds");
    let counted = counters(&hand.world);
    assert_eq!(
        (counted.challenges_sent, counted.challenges_suppressed),
        (10, 490)
    );
    hand.goes_on();
}

#[test]
fn challenges_are_rate_limited_per_transport() {
    let mut world = World::new(NetConfig {
        challenges_per_second: 7,
        ..config()
    });
    let listener = world.listen(8080);
    let ports: Vec<u16> = (0..20)
        .map(|_| {
            let (peer, _) = world.pair(listener, 8080);
            world.peer.socket(peer).local_endpoint().unwrap().port
        })
        .collect();
    world.run(1_000);
    let forged = |port| {
        frame(Raw {
            from: (PEER_ADDRESS, port),
            to_port: 8080,
            control: TcpControl::Syn,
            sequence: 9,
            acknowledges: None,
            payload: b"",
        })
    };
    let answered: usize = ports
        .iter()
        .map(|port| send(&mut world, forged(*port)).len())
        .sum();
    assert_eq!(answered, 7);
    let counted = counters(&world);
    assert_eq!(
        (counted.challenges_sent, counted.challenges_suppressed),
        (7, 13)
    );
    // Another transport has a rate of its own, and nobody is reset.
    assert_eq!(world.stack.pool_counters().in_use, 20);
}

/// A peer that has forgotten its connection takes the same port again: it is
/// challenged, resets what it does not know, and its next request opens a new one.
#[test]
fn a_peer_that_starts_anew_gets_through() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let connect = |world: &mut World| world.peer.connect_from(30_000, STACK_ADDRESS, 8080);
    let first = connect(&mut world);
    let mut before = None;
    world.until(100, "a connection", |world| {
        before = before.or_else(|| world.accept(listener));
        before.is_some()
    });
    assert_eq!(world.peer.state(first), State::Established);
    world.peer = Peer::seeded(&world.wire, PEER_ADDRESS, 78);
    let again = connect(&mut world);
    let mut after = None;
    world.until(1_500, "a new connection", |world| {
        after = after.or_else(|| world.accept(listener));
        after.is_some()
    });
    assert_eq!(world.peer.state(again), State::Established);
    assert_eq!(counters(&world).challenges_sent, 1);
    let mut buffer = [0; 4];
    let (old, new) = (before.unwrap().socket, after.unwrap().socket);
    assert_eq!(world.stack.recv(old, &mut buffer), Recv::Reset);
    world.peer.socket(again).send_slice(b"anew").unwrap();
    world.until(50, "its text", |world| {
        world.stack.recv(new, &mut buffer) == Recv::Bytes(4)
    });
    assert_eq!(&buffer, b"anew");
}

/// Brings a connection to one of its last states.
fn ending(state: State) -> Hand {
    let mut hand = Hand::shake(100);
    let ends = |hand: &mut Hand, acknowledges| {
        let end = segment(TcpControl::Fin, hand.next, Some(acknowledges), b"");
        hand.send(end);
        hand.next += 1;
        hand.wait(1);
    };
    let theirs = hand.theirs;
    if matches!(state, State::CloseWait | State::LastAck) {
        ends(&mut hand, theirs);
    }
    if state != State::CloseWait {
        hand.world.stack.release(hand.socket);
        hand.wait(1);
        hand.theirs += 1;
    }
    match state {
        State::FinWait2 => {
            let heard = segment(TcpControl::None, hand.next, Some(theirs + 1), b"");
            hand.send(heard);
        }
        State::Closing => ends(&mut hand, theirs),
        State::TimeWait => ends(&mut hand, theirs + 1),
        _ => {}
    }
    hand
}

const ENDINGS: [State; 6] = [
    State::FinWait1,
    State::FinWait2,
    State::CloseWait,
    State::Closing,
    State::LastAck,
    State::TimeWait,
];

#[test]
fn every_later_state_is_behind_the_gate() {
    for state in ENDINGS {
        let mut hand = ending(state);
        let before = counters(&hand.world).unacceptable;
        let mut sent = 0;
        for control in [
            TcpControl::None,
            TcpControl::Psh,
            TcpControl::Fin,
            TcpControl::Rst,
        ] {
            for offset in [HALF, HALF - 1, HALF + 1, HALF + WINDOW, 70_000, 0] {
                for acknowledges in [HALF, HALF - 1, HALF + 1, 70_000] {
                    for text in [&b""[..], &[1; 1_460]] {
                        if control == TcpControl::Rst && offset == 0 {
                            continue;
                        }
                        let at = hand.next.wrapping_add(offset);
                        let acknowledged = hand.theirs.wrapping_add(acknowledges);
                        hand.send(segment(control, at, Some(acknowledged), text));
                        sent += 1;
                    }
                }
            }
        }
        assert_eq!(counters(&hand.world).unacceptable - before, sent, "{state}");
        let pool = hand.world.stack.pool_counters();
        assert_eq!((pool.in_use, pool.faults), (1, 0), "{state}");
        let challenged = hand.send(segment(TcpControl::Rst, hand.next + 1, None, b""));
        assert!(challenged.iter().all(|seen| seen.ack && !seen.rst));
        assert_eq!(hand.world.stack.pool_counters().in_use, 1, "{state}");
        hand.send(segment(TcpControl::Rst, hand.next, None, b""));
        let left = u16::from(state == State::CloseWait);
        assert_eq!(hand.world.stack.pool_counters().in_use, left, "{state}");
    }
}

/// An end whose acknowledgement was lost comes again, and is acknowledged again.
#[test]
fn a_repeated_end_is_acknowledged() {
    for state in [
        State::CloseWait,
        State::Closing,
        State::LastAck,
        State::TimeWait,
    ] {
        let mut hand = ending(state);
        let again = segment(TcpControl::Fin, hand.next - 1, Some(hand.theirs), b"");
        for _ in 0..3 {
            let answer = only(hand.send(again.clone())).expect("an acknowledgement");
            assert_eq!(
                (answer.acknowledges, answer.rst),
                (hand.next, false),
                "{state}"
            );
        }
    }
}

/// The peer tells its hardware address.
fn arp_reply() -> Vec<u8> {
    let mut frame = [STACK_MAC, PEER_MAC].concat();
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, 2]);
    frame.extend(PEER_MAC);
    frame.extend(PEER_ADDRESS.octets());
    frame.extend(STACK_MAC);
    frame.extend(STACK_ADDRESS.octets());
    frame
}

/// Calls the peer's port 9000; answers the socket, its port and its initial number.
fn call(world: &mut World) -> (SocketId, u16, u32) {
    let peer = SocketAddrV4::new(PEER_ADDRESS, 9_000);
    deliver(world, arp_reply());
    let socket = world.stack.connect(ClientId(0), peer).unwrap();
    let request = send(world, Vec::new()).pop().expect("a request");
    assert!(request.syn && !request.ack);
    (socket, request.from_port, request.sequence)
}

fn from_9000(to_port: u16, control: TcpControl, numbers: (u32, Option<u32>)) -> Vec<u8> {
    frame(Raw {
        from: (PEER_ADDRESS, 9_000),
        to_port,
        control,
        sequence: numbers.0,
        acknowledges: numbers.1,
        payload: b"",
    })
}

#[test]
fn a_call_is_answered_by_what_acknowledges_it() {
    let mut world = World::new(config());
    let (socket, port, isn) = call(&mut world);
    let wrong = [
        isn,
        isn + 2,
        isn.wrapping_add(HALF),
        isn.wrapping_add(HALF + 1),
    ];
    for number in wrong {
        // RFC 9293, 3.10.7.3: a stranger's acknowledgement is reset, its reset is not.
        for control in [TcpControl::Syn, TcpControl::None, TcpControl::Fin] {
            let answers = send(&mut world, from_9000(port, control, (500, Some(number))));
            let answer = only(answers).expect("a reset");
            assert_eq!((answer.rst, answer.sequence), (true, number));
        }
        assert!(
            send(
                &mut world,
                from_9000(port, TcpControl::Rst, (0, Some(number)))
            )
            .is_empty()
        );
    }
    for (control, numbers) in [
        (TcpControl::Rst, (0, None)),
        (TcpControl::Syn, (500, None)),
        (TcpControl::None, (500, None)),
        (TcpControl::None, (500, Some(isn + 1))),
        (TcpControl::Fin, (500, Some(isn + 1))),
    ] {
        assert!(send(&mut world, from_9000(port, control, numbers)).is_empty());
    }
    assert_eq!(world.stack.connect_state(socket), ConnectState::Connecting);
    send(
        &mut world,
        from_9000(port, TcpControl::Syn, (500, Some(isn + 1))),
    );
    assert_eq!(world.stack.connect_state(socket), ConnectState::Connected);
    // The same gate from here on.
    let far = from_9000(
        port,
        TcpControl::None,
        (501_u32.wrapping_add(HALF), Some(isn + 1)),
    );
    assert!(
        send(&mut world, far)
            .iter()
            .all(|seen| seen.acknowledges == 501)
    );
    let (socket, port, isn) = call(&mut world);
    send(
        &mut world,
        from_9000(port, TcpControl::Rst, (0, Some(isn + 1))),
    );
    assert_eq!(world.stack.connect_state(socket), ConnectState::Failed);
}

/// Nothing can be an answer to a request that was not sent yet: the neighbour is not
/// known, or the card is full.
#[test]
fn before_its_request_is_sent_a_call_hears_nothing() {
    let mut world = World::new(config());
    let peer = SocketAddrV4::new(PEER_ADDRESS, 9_000);
    let socket = world.stack.connect(ClientId(0), peer).unwrap();
    deliver(&mut world, Vec::new());
    assert!(
        watched(&world).iter().all(|sent| sent[12..14] == [8, 6]),
        "it asks for the neighbour"
    );
    for port in 49_152..=u16::MAX {
        world
            .wire
            .borrow_mut()
            .to_stack
            .push_back(from_9000(port, TcpControl::Syn, (500, None)));
        world.wire.borrow_mut().card_room = 100;
        world.poll_stack();
    }
    assert_eq!(world.stack.connect_state(socket), ConnectState::Connecting);
    assert_eq!(counters(&world).unacceptable, 1);
}

/// Two sockets of our own, whose sender ends with text that fills the window.
#[test]
fn an_end_that_fills_the_window_reaches_a_neighbour_in_the_machine() {
    let mut world = World::new(config());
    let binding = Binding::Transport(TransportId::LOOPBACK);
    let listener = world
        .stack
        .listen(binding, 7, ListenOptions::LOOPBACK)
        .unwrap();
    let caller = world
        .stack
        .connect(ClientId(0), SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7))
        .unwrap();
    world.run(5);
    let Accept::Connection(accepted) = world.stack.accept(listener) else {
        panic!("no connection");
    };
    assert_eq!(world.stack.send(caller, &[5; 2_048]), Sent::Bytes(2_048));
    world.stack.close(caller);
    let (mut heard, mut buffer) = (0, [0; 4_096]);
    world.until(20, "all of the text", |world| {
        if let Recv::Bytes(count) = world.stack.recv(accepted.socket, &mut buffer) {
            heard += count;
        }
        heard == 2_048
    });
    world.until(1_500, "the end", |world| {
        world.stack.recv(accepted.socket, &mut buffer) == Recv::PeerClosed
    });
    assert_eq!(world.stack.pool_counters().faults, 0);
}
