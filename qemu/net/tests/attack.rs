//! What an unfriendly network does, and what must not follow from it.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::frames::{Raw, Seen, frame, parse};
use common::{PEER_ADDRESS, STACK_ADDRESS, World, config};
use harness_net::{
    Binding, ClientId, ListenOptions, ListenerCounters, ListenerId, NetConfig, PollBudget, Recv,
    Sent, TransportId, TransportSet,
};
use smoltcp::socket::tcp::State;
use smoltcp::wire::TcpControl;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

fn small(sockets: u16) -> NetConfig {
    NetConfig {
        sockets,
        outgoing_reserve: 2,
        ..config()
    }
}

fn syn(source: u32, port: u16) -> Vec<u8> {
    // Spoofed sources from everywhere, our own subnet included.
    let from = match source % 3 {
        0 => Ipv4Addr::from(0x0A00_0200 | (100 + source % 100)),
        _ => Ipv4Addr::from(0x0B00_0000 | (source.wrapping_mul(2_654_435_761) >> 8)),
    };
    frame(Raw {
        from: (from, 1_024 + (source % 60_000) as u16),
        to_port: port,
        control: TcpControl::Syn,
        sequence: source,
        acknowledges: None,
        payload: &[],
    })
}

fn inject(world: &World, bytes: Vec<u8>) {
    world.wire.borrow_mut().to_stack.push_back(bytes);
}

fn counters(world: &World, index: usize) -> ListenerCounters {
    world.stack.listener_reports().nth(index).unwrap().counters
}

/// Connects, exchanges a byte each way, and closes, all within `millis`.
fn probe(world: &mut World, listener: ListenerId, port: u16, millis: u64) {
    let peer = world.peer.connect(STACK_ADDRESS, port);
    world.peer.socket(peer).set_nagle_enabled(false);
    let mut accepted = None;
    world.until(millis, "probe accepted", |world| {
        accepted = accepted.or_else(|| world.accept(listener));
        accepted.is_some()
    });
    let socket = accepted.unwrap().socket;
    world.peer.socket(peer).send_slice(b"?").unwrap();
    let mut buffer = [0; 4];
    world.until(millis, "probe request", |world| {
        world.stack.recv(socket, &mut buffer) == Recv::Bytes(1)
    });
    assert_eq!(world.stack.send(socket, b"!"), Sent::Bytes(1));
    world.until(millis, "probe answer", |world| {
        world.peer.socket(peer).recv_queue() == 1
    });
    world.stack.release(socket);
    world.peer.socket(peer).close();
}

#[test]
fn a_syn_flood_occupies_nothing_and_delays_nobody() {
    let mut world = World::new(config());
    world.wire.borrow_mut().card_room_max = 4_096;
    let public = world.listen(8080);
    let provider = world.listen(8081);
    let mut source = 0;
    for round in 0..20 {
        // 10,000 a second beside each probe, on the same listener and another.
        for _ in 0..1_000 {
            inject(&world, syn(source, 8080));
            source += 1;
        }
        let listener = if round % 2 == 0 {
            (public, 8080)
        } else {
            (provider, 8081)
        };
        probe(&mut world, listener.0, listener.1, 20);
    }
    let flooded = counters(&world, 0);
    assert!(flooded.syn_answered >= 20_000, "{flooded:?}");
    assert_eq!((flooded.backlog_refused, flooded.pool_refused), (0, 0));
    assert!(
        world.stack.pool_counters().high_water <= 20,
        "requests hold no sockets"
    );
    assert_eq!(counters(&world, 1).accepted, 10);
}

#[test]
fn half_open_connections_left_behind_cost_nothing() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    for source in 0..1_000 {
        inject(&world, syn(source, 8080));
        world.step();
    }
    assert_eq!(world.stack.pool_counters().in_use, 0);
    // The last of the answers are sent once more.
    world.run(300);
    assert_eq!(
        world
            .stack
            .poll(world.now(), PollBudget::TURN)
            .next_deadline,
        None
    );
    probe(&mut world, listener, 8080, 20);
}

/// A handshake by hand, up to the given acknowledgement; answers the SYN|ACK.
fn answer_of(world: &mut World, own: u16, isn: u32) -> Seen {
    {
        let mut wire = world.wire.borrow_mut();
        wire.seen = Some(Vec::new());
        wire.card_room = wire.card_room_max;
    }
    inject(
        world,
        frame(Raw {
            from: (PEER_ADDRESS, own),
            to_port: 8080,
            control: TcpControl::Syn,
            sequence: isn,
            acknowledges: None,
            payload: &[],
        }),
    );
    world.poll_stack();
    let seen = world.wire.borrow_mut().seen.take().unwrap();
    world.wire.borrow_mut().to_peer.clear();
    seen.iter()
        .filter_map(|f| parse(f))
        .find(|s| s.to_port == own)
        .expect("an answer")
}

fn ack(own: u16, sequence: u32, acknowledges: u32, payload: &[u8]) -> Vec<u8> {
    frame(Raw {
        from: (PEER_ADDRESS, own),
        to_port: 8080,
        control: TcpControl::None,
        sequence,
        acknowledges: Some(acknowledges),
        payload,
    })
}

#[test]
fn data_completes_a_handshake_whose_acknowledgement_was_lost() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let answer = answer_of(&mut world, 5_000, 0xFFFF_FFFF);
    assert!(answer.syn && answer.ack);
    assert_eq!(answer.acknowledges, 0, "the peer's number wraps");
    inject(
        &world,
        ack(5_000, 0, answer.sequence.wrapping_add(1), b"GET /"),
    );
    world.poll_stack();
    let accepted = world.accept(listener).expect("accepted");
    let mut buffer = [0; 16];
    assert_eq!(
        world.stack.recv(accepted.socket, &mut buffer),
        Recv::Bytes(5)
    );
    assert_eq!(&buffer[..5], b"GET /");
}

#[test]
fn forged_and_expired_acknowledgements_open_nothing() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let answer = answer_of(&mut world, 5_000, 100);
    let good = answer.sequence.wrapping_add(1);
    for (own, sequence, number) in [
        (5_000, 101, good.wrapping_add(1)),
        (5_000, 102, good),
        (5_001, 101, good),
        (5_000, 101, 0),
    ] {
        inject(&world, ack(own, sequence, number, b""));
    }
    world.poll_stack();
    assert_eq!(world.accept(listener), None);
    assert_eq!(counters(&world, 0).handshake_invalid, 4);
    world.run(35_000);
    inject(&world, ack(5_000, 101, good, b""));
    world.poll_stack();
    assert_eq!(world.accept(listener), None, "expired");
    assert_eq!(world.stack.pool_counters().in_use, 0);
}

#[test]
fn a_corrupt_acknowledgement_opens_nothing() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let answer = answer_of(&mut world, 5_000, 100);
    let mut bytes = ack(5_000, 101, answer.sequence.wrapping_add(1), b"data");
    *bytes.last_mut().unwrap() ^= 1;
    inject(&world, bytes);
    world.poll_stack();
    assert_eq!(world.accept(listener), None);
    assert_eq!(world.stack.pool_counters().in_use, 0);
    assert_eq!(
        world.stack.transport_counters(world.nic).unwrap().malformed,
        1
    );
}

#[test]
fn a_repeated_acknowledgement_opens_one_connection() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let answer = answer_of(&mut world, 5_000, 100);
    for _ in 0..3 {
        inject(
            &world,
            ack(5_000, 101, answer.sequence.wrapping_add(1), b""),
        );
    }
    world.poll_stack();
    assert!(world.accept(listener).is_some());
    assert_eq!(world.accept(listener), None);
    assert_eq!(world.stack.pool_counters().in_use, 1);
}

#[test]
fn a_request_in_flight_does_not_reopen_what_was_reset() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let answer = answer_of(&mut world, 5_000, 100);
    let number = answer.sequence.wrapping_add(1);
    inject(&world, ack(5_000, 101, number, b""));
    world.poll_stack();
    let accepted = world.accept(listener).expect("accepted");
    world.stack.abort(accepted.socket);
    inject(&world, ack(5_000, 101, number, b"GET / HTTP/1.1"));
    world.poll_stack();
    assert_eq!(world.accept(listener), None);
    assert_eq!(counters(&world, 0).established, 1);
    assert_eq!(world.stack.pool_counters().in_use, 0);
}

#[test]
fn a_full_backlog_refuses_its_own_callers_only() {
    let mut world = World::new(config());
    let nic = Binding::Transport(world.nic);
    let options = ListenOptions {
        backlog: 4,
        reserve: 8,
    };
    let full = world.stack.listen(nic, 8080, options).unwrap();
    let other = world.listen(8081);
    let peers: Vec<_> = (0..6)
        .map(|_| world.peer.connect(STACK_ADDRESS, 8080))
        .collect();
    world.run(20);
    assert_eq!(world.stack.listener_reports().next().unwrap().waiting, 4);
    assert!(counters(&world, 0).backlog_refused >= 2);
    probe(&mut world, other, 8081, 20);
    // Room makes the others' next attempt succeed.
    for _ in 0..4 {
        world.accept(full).unwrap();
    }
    world.until(8_000, "the rest", |world| {
        peers
            .iter()
            .all(|&peer| world.peer.state(peer) == State::Established)
    });
}

#[test]
fn the_public_listener_cannot_take_the_providers_sockets() {
    let mut world = World::new(small(20));
    let nic = Binding::Transport(world.nic);
    let options = ListenOptions {
        backlog: 64,
        reserve: 4,
    };
    let public = world.stack.listen(nic, 8080, options).unwrap();
    let provider = world.stack.listen(nic, 8081, options).unwrap();
    for _ in 0..40 {
        world.peer.connect(STACK_ADDRESS, 8080);
    }
    world.run(50);
    let accepted = std::iter::from_fn(|| world.accept(public)).count();
    assert_eq!(
        accepted, 14,
        "all but two outgoing and four of the provider"
    );
    world.run(3_000);
    assert_eq!(world.accept(public), None, "the others wait for room");
    assert_eq!(world.stack.pool_counters().in_use, 14);
    assert!(counters(&world, 0).pool_refused > 0);
    let probes: Vec<_> = (0..4)
        .map(|_| world.peer.connect(STACK_ADDRESS, 8081))
        .collect();
    world.run(20);
    assert!(
        probes
            .iter()
            .all(|&p| world.peer.state(p) == State::Established)
    );
    assert!((0..4).all(|_| world.accept(provider).is_some()));
    let own = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
    assert!(
        world.stack.connect(ClientId(0), own).is_ok(),
        "outgoing connections keep theirs"
    );
}

#[test]
fn time_wait_gives_way_to_newcomers() {
    let mut world = World::new(small(20));
    let options = ListenOptions {
        backlog: 8,
        reserve: 8,
    };
    let listener = world
        .stack
        .listen(Binding::Transport(world.nic), 8080, options)
        .unwrap();
    for _ in 0..500 {
        // The server closes first, so TIME-WAIT is ours, 500 times in 10 s.
        probe(&mut world, listener, 8080, 20);
        world.run(5);
        world.peer.sockets = smoltcp::iface::SocketSet::new(Vec::new());
    }
    let pool = world.stack.pool_counters();
    assert!(pool.time_wait_reclaimed > 400, "{pool:?}");
    assert_eq!(pool.orphans_reclaimed, 0, "{pool:?}");
    assert_eq!(counters(&world, 0).accepted, 500);
}

#[test]
fn a_new_request_ends_time_wait_of_its_own_addresses() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    for _ in 0..3 {
        let peer = world.peer.connect_from(7_000, STACK_ADDRESS, 8080);
        let mut accepted = None;
        world.until(100, "accepted", |world| {
            accepted = accepted.or_else(|| world.accept(listener));
            accepted.is_some()
        });
        world.stack.release(accepted.unwrap().socket);
        world.run(3);
        world.peer.socket(peer).close();
        world.run(3);
        assert_eq!(world.stack.pool_counters().time_wait, 1);
        world.peer.sockets = smoltcp::iface::SocketSet::new(Vec::new());
    }
}

#[test]
fn orphans_end_in_bounded_time() {
    let mut world = World::new(NetConfig {
        orphan_time: Duration::from_secs(5),
        ..config()
    });
    let listener = world.listen(8080);
    // One peer never closes its side; one never reads what was queued for it.
    let (lazy, first) = world.pair(listener, 8080);
    let (deaf, second) = world.pair(listener, 8080);
    while world.stack.send(second.socket, &[1; 4_096]) != Sent::WouldBlock {
        world.step();
    }
    world.stack.release(first.socket);
    world.stack.release(second.socket);
    world.run(100);
    assert_eq!(world.stack.pool_counters().orphans, 2);
    world.run(5_000);
    let pool = world.stack.pool_counters();
    assert_eq!(
        (pool.orphans, pool.in_use, pool.orphans_timed_out),
        (0, 0, 2)
    );
    assert_eq!(world.peer.state(lazy), State::Closed, "reset");
    assert_eq!(world.peer.state(deaf), State::Closed, "reset");
}

#[test]
fn an_orphan_lets_its_peer_finish_sending() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let (peer, accepted) = world.pair(listener, 8080);
    // More than the receive buffer; the server answers and leaves unread.
    world.peer.socket(peer).send_slice(&[b'x'; 4_096]).unwrap();
    assert_eq!(world.stack.send(accepted.socket, b"413"), Sent::Bytes(3));
    world.stack.release(accepted.socket);
    world.until(500, "the answer despite unread data", |world| {
        world.peer.socket(peer).recv_queue() == 3
    });
    world.until(500, "all sent", |world| {
        world.peer.socket(peer).send_queue() == 0
    });
    world.peer.socket(peer).close();
    world.until(500, "an orderly end", |world| {
        world.peer.state(peer) == State::Closed
    });
    assert_eq!(world.stack.pool_counters().orphans, 0);
}

#[test]
fn old_orphans_give_way_when_nothing_else_does() {
    let mut world = World::new(NetConfig {
        orphan_time: Duration::from_secs(60),
        ..small(6)
    });
    let options = ListenOptions {
        backlog: 4,
        reserve: 4,
    };
    let listener = world
        .stack
        .listen(Binding::Transport(world.nic), 8080, options)
        .unwrap();
    let peers: Vec<_> = (0..4).map(|_| world.pair(listener, 8080)).collect();
    for (_, accepted) in &peers {
        world.stack.release(accepted.socket);
    }
    world.run(600);
    assert_eq!(world.stack.pool_counters().orphans, 4);
    world.pair(listener, 8080);
    world.run(2);
    assert_eq!(
        world.peer.state(peers[0].0),
        State::Closed,
        "the oldest was reset"
    );
    assert_eq!(world.stack.pool_counters().orphans_reclaimed, 1);
}

#[test]
fn a_storm_of_connects_and_resets_leaves_nothing() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    for round in 0..10_000_u32 {
        let own = 1_024 + (round % 50_000) as u16;
        let answer = answer_of(&mut world, own, round);
        inject(
            &world,
            ack(own, round + 1, answer.sequence.wrapping_add(1), b""),
        );
        inject(
            &world,
            frame(Raw {
                from: (PEER_ADDRESS, own),
                to_port: 8080,
                control: TcpControl::Rst,
                sequence: round + 1,
                acknowledges: None,
                payload: &[],
            }),
        );
        world.poll_stack();
        if round % 100 == 0 {
            world.millis += 1;
        }
    }
    let seen = counters(&world, 0);
    assert_eq!(
        (seen.established, seen.reset_before_accept),
        (10_000, 10_000)
    );
    assert_eq!(world.stack.pool_counters().in_use, 0);
    assert_eq!(world.accept(listener), None);
}

#[test]
fn strays_are_reset_within_a_rate() {
    let mut world = World::new(config());
    world.wire.borrow_mut().card_room_max = 100_000;
    world.wire.borrow_mut().card_room = 100_000;
    world.wire.borrow_mut().seen = Some(Vec::new());
    for source in 0..2_000 {
        inject(&world, syn(source * 3, 9_999));
    }
    // A reset is never answered, nor is one to an open port.
    world.listen(8080);
    for own in 0..10 {
        inject(
            &world,
            frame(Raw {
                from: (PEER_ADDRESS, 2_000 + own),
                to_port: 8080,
                control: TcpControl::Rst,
                sequence: 1,
                acknowledges: None,
                payload: &[],
            }),
        );
    }
    world.poll_stack();
    let counters = world.stack.transport_counters(world.nic).unwrap();
    assert_eq!(counters.strays, 2_010);
    assert_eq!(counters.resets_suppressed, 1_500);
}

#[test]
fn out_of_window_segments_do_not_break_a_connection() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let (peer, accepted) = world.pair(listener, 8080);
    let own = world.peer.socket(peer).local_endpoint().unwrap().port;
    for n in 0..2_000_u32 {
        let wild = n.wrapping_mul(2_654_435_761);
        let control = [
            TcpControl::Rst,
            TcpControl::Fin,
            TcpControl::Syn,
            TcpControl::None,
        ];
        inject(
            &world,
            frame(Raw {
                from: (PEER_ADDRESS, own),
                to_port: 8080,
                control: control[n as usize % 4],
                sequence: 0x4000_0000_u32.wrapping_add(wild >> 2),
                acknowledges: Some(wild),
                payload: b"evil",
            }),
        );
        if n % 50 == 0 {
            world.step();
        }
    }
    // A blind reset hits the 2 KiB window with chance 2^-21 each: not here.
    world.run(1_100);
    world.peer.socket(peer).send_slice(b"good").unwrap();
    let mut buffer = [0; 16];
    world.until(3_000, "data", |world| {
        world.stack.recv(accepted.socket, &mut buffer) == Recv::Bytes(4)
    });
    assert_eq!(&buffer[..4], b"good");
}

#[test]
fn echo_is_answered_within_a_rate() {
    let mut world = World::new(config());
    world.wire.borrow_mut().seen = Some(Vec::new());
    world.wire.borrow_mut().card_room = 1_000;
    // The neighbour must be known for an answer: one connection teaches it.
    let listener = world.listen(8080);
    world.pair(listener, 8080);
    world.wire.borrow_mut().seen = Some(Vec::new());
    world.wire.borrow_mut().card_room = 1_000;
    let mut echo = frame(Raw {
        from: (PEER_ADDRESS, 1),
        to_port: 1,
        control: TcpControl::None,
        sequence: 0,
        acknowledges: None,
        payload: &[],
    });
    echo[23] = 1;
    echo[34..54].copy_from_slice(&[8, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut ip = smoltcp::wire::Ipv4Packet::new_unchecked(&mut echo[14..]);
    ip.fill_checksum();
    let mut icmp = smoltcp::wire::Icmpv4Packet::new_unchecked(&mut echo[34..]);
    icmp.fill_checksum();
    for _ in 0..300 {
        inject(&world, echo.clone());
    }
    world.poll_stack();
    let answers = world.wire.borrow_mut().seen.take().unwrap();
    assert_eq!(answers.len(), 100);
    assert!(answers.iter().all(|f| f[23] == 1 && f[34] == 0));
    assert_eq!(
        world
            .stack
            .transport_counters(world.nic)
            .unwrap()
            .echoes_suppressed,
        200
    );
}

#[test]
fn a_flooded_card_leaves_loopback_its_turn() {
    let mut world = World::new(config());
    let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8082);
    let binding = Binding::Transport(TransportId::LOOPBACK);
    let listener = world
        .stack
        .listen(binding, 8082, ListenOptions::LOOPBACK)
        .unwrap();
    for source in 0..100_000 {
        inject(&world, syn(source, 9_999));
    }
    let client = world.stack.connect(ClientId(0), to).unwrap();
    let now = world.now();
    let mut polls = 0;
    while world.accept(listener).is_none() {
        world.stack.poll(now, PollBudget::TURN);
        polls += 1;
        assert!(polls < 4, "loopback waits for the card");
    }
    assert_eq!(world.stack.send(client, b"x"), Sent::Bytes(1));
    let left = world.wire.borrow().to_stack.len();
    assert!(left > 99_000, "the card's budget held: {left} left");
}

#[test]
fn a_resting_card_is_not_received_from_and_the_inside_goes_on() {
    let mut world = World::new(config());
    let outside = world.listen(8080);
    let own = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8082);
    let binding = Binding::Transport(TransportId::LOOPBACK);
    let inside = world
        .stack
        .listen(binding, 8082, ListenOptions::LOOPBACK)
        .unwrap();
    for source in 0..100 {
        inject(&world, syn(source, 8080));
    }
    let now = world.now();
    let resting = PollBudget {
        resting: TransportSet::EMPTY.with(world.nic),
        ..PollBudget::TURN
    };
    world.stack.connect(ClientId(0), own).unwrap();
    while world.accept(inside).is_none() {
        let polled = world.stack.poll(now, resting);
        assert_eq!(polled.exhausted, TransportSet::EMPTY);
    }
    while world.stack.poll(now, resting).more_work {}
    assert_eq!(world.wire.borrow().to_stack.len(), 100);
    assert_eq!(counters(&world, 0).syn_answered, 0);
    let polled = world.stack.poll(now, PollBudget::TURN);
    assert!(polled.exhausted.contains(world.nic));
    assert!(polled.more_work);
    probe(&mut world, outside, 8080, 20);
}
