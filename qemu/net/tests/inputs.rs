//! Inputs that other small stacks have stumbled over: malformed options, urgent
//! pointers, shrinking windows, spoofed errors, frames of other protocols. After
//! each of them the connection beside it goes on.
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
use common::{PEER_ADDRESS, PEER_MAC, STACK_ADDRESS, STACK_MAC, World, config};
use harness_net::{Recv, Sent};
use smoltcp::wire::{Ipv4Packet, TcpControl};
use std::net::Ipv4Addr;

/// `frame` with these bytes between its TCP header and its payload.
fn with_options(frame: &[u8], options: &[u8]) -> Vec<u8> {
    assert!(options.len().is_multiple_of(4));
    let header = usize::from(frame[46] >> 4) * 4;
    let mut longer = frame[..34 + header].to_vec();
    longer.extend(options);
    longer.extend(&frame[34 + header..]);
    longer[46] += (options.len() as u8 / 4) << 4;
    let total = (longer.len() - 14) as u16;
    longer[16..18].copy_from_slice(&total.to_be_bytes());
    Ipv4Packet::new_unchecked(&mut longer[14..]).fill_checksum();
    tcp(longer, |_| ())
}

const BAD_OPTIONS: [[u8; 4]; 8] = [
    [2, 0, 0, 0],
    [2, 1, 5, 180],
    [2, 3, 5, 180],
    [3, 0, 0, 0],
    [8, 0, 0, 0],
    [5, 3, 0, 0],
    [253, 0, 0, 0],
    [253, 255, 0, 0],
];

#[test]
fn options_of_impossible_length_open_and_disturb_nothing() {
    for options in BAD_OPTIONS {
        let mut hand = Hand::shake(100);
        let request = tcp(segment(TcpControl::Syn, 5, None, b""), |packet| {
            packet.set_src_port(9_000);
        });
        let answers = hand.send(with_options(&request, &options));
        assert!(answers.is_empty(), "{options:?}");
        let poisoned = with_options(&hand.data(b"evil"), &options);
        hand.send(poisoned);
        assert_eq!(hand.hears(), b"", "{options:?}");
        hand.goes_on();
    }
}

#[test]
fn an_urgent_pointer_moves_nothing() {
    for pointer in [0, 1, 4, 5, u16::MAX] {
        let mut hand = Hand::shake(100);
        let urgent = tcp(hand.data(b"data"), |packet| {
            packet.set_urg(true);
            packet.set_urgent_at(pointer);
        });
        hand.send(urgent);
        assert_eq!(hand.hears(), b"data", "{pointer}");
    }
}

#[test]
fn a_request_with_data_or_an_end_opens_nothing_yet() {
    let mut world = World::new(config());
    let listener = world.listen(8080);
    let answers = send(&mut world, segment(TcpControl::Syn, 100, None, b"early"));
    assert_eq!(answers.len(), 1);
    assert!(answers[0].syn);
    assert_eq!(answers[0].acknowledges, 101, "the data is to come again");
    let both = tcp(segment(TcpControl::Syn, 100, None, b""), |packet| {
        packet.set_fin(true)
    });
    assert!(send(&mut world, both).iter().all(|answer| answer.rst));
    assert_eq!(world.accept(listener), None);
    assert_eq!(world.stack.pool_counters().in_use, 0);
}

#[test]
fn numbers_that_wrap_carry_data() {
    let mut hand = Hand::shake(u32::MAX - 3);
    for _ in 0..3 {
        hand.goes_on();
    }
}

/// Names windows of these sizes while data is on its way, `acknowledged` bytes of
/// it there already, then opens the window and wants all the rest.
fn window_comes_back(windows: &[u16], acknowledged: u32) -> Vec<Seen> {
    let mut hand = Hand::shake(100);
    let all = hand.world.stack.send(hand.socket, &[1; 4_000]);
    assert_eq!(all, Sent::Bytes(4_000));
    let first = hand.wait(1);
    let sent: usize = first.iter().map(|seen| seen.payload.len()).sum();
    assert!(sent >= acknowledged as usize);
    let from = hand.theirs.wrapping_add(acknowledged);
    for window in windows {
        let smaller = segment(TcpControl::None, hand.next, Some(from), b"");
        hand.send(tcp(smaller, |packet| packet.set_window_len(*window)));
    }
    let meanwhile = hand.wait(5_000);
    let mut got = vec![false; 4_000];
    got[..acknowledged as usize].fill(true);
    for _ in 0..50 {
        let missing = got.iter().position(|got| !got).unwrap_or(4_000) as u32;
        let up_to = hand.theirs.wrapping_add(missing);
        let mut answers = hand.send(segment(TcpControl::None, hand.next, Some(up_to), b""));
        answers.extend(hand.wait(100));
        for seen in answers {
            let at = seen.sequence.wrapping_sub(hand.theirs) as usize;
            got[at..at + seen.payload.len()].fill(true);
        }
    }
    assert!(got.iter().all(|got| *got));
    meanwhile
}

#[test]
fn a_window_that_closes_is_asked_after() {
    let probes = window_comes_back(&[0], 1_460);
    assert!((2..20).contains(&probes.len()), "{}", probes.len());
    // Empty ones, where all is on its way already: they lie outside of the window too.
    assert!(probes.iter().all(|probe| probe.payload.len() <= 1));
}

/// What is on its way then lies outside of the window that the peer names.
#[test]
fn a_window_that_shrinks_is_waited_for() {
    for windows in [&[10_u16][..], &[0], &[10, 0], &[0, 10, 0]] {
        window_comes_back(windows, 0);
    }
}

#[test]
fn a_window_that_stays_shut_over_data_ends_the_connection() {
    let mut hand = Hand::shake(100);
    hand.world.stack.send(hand.socket, &[1; 3_000]);
    hand.wait(1);
    let shut = segment(TcpControl::None, hand.next, Some(hand.theirs), b"");
    hand.send(tcp(shut, |packet| packet.set_window_len(0)));
    hand.wait(19_000);
    assert_eq!(hand.hears(), b"", "it is still there");
    let last = hand.wait(2_000).pop();
    assert!(last.is_some_and(|seen| seen.rst));
    let mut buffer = [0; 4];
    assert_eq!(hand.world.stack.recv(hand.socket, &mut buffer), Recv::Reset);
}

#[test]
fn keep_alive_probes_are_answered_and_bring_nothing() {
    let mut hand = Hand::shake(100);
    hand.goes_on();
    for probe in [&b""[..], b"x"] {
        hand.wait(2_000);
        let (before, theirs) = (hand.next.wrapping_sub(1), hand.theirs);
        let answers = hand.send(segment(TcpControl::None, before, Some(theirs), probe));
        assert_eq!(answers.len(), 1, "{probe:?}");
        assert_eq!(answers[0].acknowledges, hand.next);
        assert_eq!(hand.hears(), b"");
    }
    hand.goes_on();
}

#[test]
fn overlapping_data_is_taken_once() {
    let mut hand = Hand::shake(100);
    let at =
        |offset: u32, data: &[u8]| segment(TcpControl::Psh, 101 + offset, Some(hand.theirs), data);
    let pieces = [
        at(4, b"efgh"),
        at(2, b"XXXX"),
        at(6, b"YYYYYY"),
        at(0, b"abcd"),
    ];
    for piece in pieces {
        hand.send(piece);
    }
    let first = hand.hears();
    assert_eq!((&first[..2], first.len()), (&b"ab"[..], 12));
    hand.next += 12;
    hand.goes_on();
}

#[test]
fn a_storm_of_forgeries_is_challenged_once() {
    let mut hand = Hand::shake(100);
    let mut answers = 0;
    for n in 0..1_000 {
        let (next, theirs) = (hand.next, hand.theirs);
        answers += hand
            .send(segment(TcpControl::Syn, next.wrapping_add(n), None, b""))
            .len();
        answers += hand
            .send(segment(TcpControl::None, next, Some(theirs + 90_000), b""))
            .len();
    }
    assert_eq!(answers, 1);
    hand.goes_on();
}

#[test]
fn errors_about_a_connection_do_not_end_it() {
    let mut hand = Hand::shake(100);
    // Unreachable hosts, ports and routes, too big, quench, time exceeded.
    for (kind, code) in [
        (3, 0),
        (3, 1),
        (3, 2),
        (3, 3),
        (3, 4),
        (4, 0),
        (11, 0),
        (12, 0),
    ] {
        let inner = segment(TcpControl::None, hand.theirs, Some(hand.next), b"");
        let mut error = hand.data(b"")[..34].to_vec();
        error[23] = 1;
        error.extend([kind, code, 0, 0, 0, 0, 0, 68]);
        error.extend(&inner[14..14 + 28]);
        let total = (error.len() - 14) as u16;
        error[16..18].copy_from_slice(&total.to_be_bytes());
        Ipv4Packet::new_unchecked(&mut error[14..]).fill_checksum();
        smoltcp::wire::Icmpv4Packet::new_unchecked(&mut error[34..]).fill_checksum();
        assert!(hand.send(error).is_empty());
    }
    hand.goes_on();
}

#[test]
fn addresses_that_no_host_has_get_no_answer() {
    let mut hand = Hand::shake(100);
    for source in [
        [0, 0, 0, 0],
        [0, 1, 2, 3],
        [10, 0, 2, 0],
        [10, 0, 2, 15],
        [10, 0, 2, 255],
        [127, 0, 0, 1],
        [224, 0, 0, 1],
        [240, 0, 0, 1],
        [255, 255, 255, 255],
    ] {
        for control in [TcpControl::Syn, TcpControl::None, TcpControl::Fin] {
            let martian = frame(Raw {
                from: (Ipv4Addr::from(source), 8080),
                to_port: 8080,
                control,
                sequence: 1,
                acknowledges: None,
                payload: b"",
            });
            assert!(hand.send(martian).is_empty(), "{source:?}");
        }
    }
    hand.goes_on();
}

#[test]
fn odd_packets_are_dropped_or_read_as_they_are() {
    let mut hand = Hand::shake(100);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = hand.data(b"evil");
        change(&mut frame);
        Ipv4Packet::new_unchecked(&mut frame[14..]).fill_checksum();
        frame
    };
    let dropped = [
        // Longer than the frame, shorter than its headers, no header at all.
        changed(&|frame| frame[16..18].copy_from_slice(&[0xff, 0xff])),
        changed(&|frame| frame[16..18].copy_from_slice(&[0, 39])),
        changed(&|frame| frame[14] = 0x44),
        changed(&|frame| frame[14] = 0x46),
        // The first, the middle and the last of fragments.
        changed(&|frame| frame[20] = 0x20),
        changed(&|frame| frame[20..22].copy_from_slice(&[0x20, 0x01])),
        changed(&|frame| frame[21] = 1),
        // A tag, another version, another protocol.
        changed(&|frame| frame[12..14].copy_from_slice(&[0x81, 0x00])),
        changed(&|frame| frame[12..14].copy_from_slice(&[0x86, 0xdd])),
        changed(&|frame| frame[23] = 17),
        // To a group, as hardware and as address.
        changed(&|frame| frame[..6].fill(0xff)),
        changed(&|frame| frame[30..34].fill(0xff)),
    ];
    for frame in dropped {
        assert!(hand.send(frame).is_empty());
        assert_eq!(hand.hears(), b"");
    }
    // A source route is not followed, and the least time to live is enough.
    let mut routed = hand.data(b"data");
    routed.splice(34..34, [0x83, 7, 4, 10, 0, 2, 9, 0]);
    routed[14] = 0x47;
    routed[17] += 8;
    routed[22] = 1;
    Ipv4Packet::new_unchecked(&mut routed[14..]).fill_checksum();
    hand.send(routed);
    assert_eq!(hand.hears(), b"data");
    hand.next += 4;
    hand.goes_on();
}

/// An ARP packet to everyone.
fn arp(operation: u8, sender: ([u8; 6], [u8; 4]), target: [u8; 4]) -> Vec<u8> {
    let mut frame = [[0xff; 6], PEER_MAC].concat();
    frame.extend([8, 6, 0, 1, 8, 0, 6, 4, 0, operation]);
    frame.extend(sender.0);
    frame.extend(sender.1);
    frame.extend([0; 6]);
    frame.extend(target);
    frame
}

#[test]
fn address_resolution_is_answered_for_our_own_address_alone() {
    let mut hand = Hand::shake(100);
    let (peer, own) = (PEER_ADDRESS.octets(), STACK_ADDRESS.octets());
    let quiet = [
        arp(1, (PEER_MAC, peer), [10, 0, 2, 77]),
        arp(2, (PEER_MAC, peer), peer),
        arp(1, ([0xff; 6], peer), own),
        arp(1, (PEER_MAC, [10, 0, 2, 255]), [10, 0, 2, 99]),
        arp(1, (PEER_MAC, [255; 4]), own),
        arp(1, (PEER_MAC, [192, 168, 1, 1]), own),
        arp(9, (PEER_MAC, peer), own),
        // Somebody else claims our address, asks for it, or answers for it.
        arp(1, ([2, 0, 0, 0, 0, 9], own), [10, 0, 2, 99]),
        arp(2, ([2, 0, 0, 0, 0, 9], own), [10, 0, 2, 99]),
    ];
    for frame in quiet {
        deliver(&mut hand.world, frame.clone());
        assert!(watched(&hand.world).is_empty(), "{frame:?}");
    }
    deliver(&mut hand.world, arp(1, (PEER_MAC, peer), own));
    let sent = watched(&hand.world);
    assert_eq!(sent.len(), 1);
    assert_eq!(
        (&sent[0][..6], &sent[0][22..28]),
        (&PEER_MAC[..], &STACK_MAC[..])
    );
    hand.goes_on();
}

#[test]
fn a_corrupt_request_does_not_end_time_wait() {
    let mut hand = Hand::shake(100);
    hand.world.stack.release(hand.socket);
    hand.wait(1);
    hand.theirs += 1;
    let end = segment(TcpControl::Fin, hand.next, Some(hand.theirs), b"");
    hand.send(end);
    hand.next += 1;
    assert_eq!(hand.world.stack.pool_counters().time_wait, 1);
    let mut corrupt = segment(TcpControl::Syn, 9_000, None, b"");
    corrupt[50] ^= 1;
    assert!(hand.send(corrupt.clone()).is_empty());
    assert_eq!(hand.world.stack.pool_counters().time_wait, 1);
    corrupt[50] ^= 1;
    assert!(hand.send(corrupt)[0].syn);
    assert_eq!(hand.world.stack.pool_counters().time_wait, 0);
    assert_eq!(hand.world.accept(hand.listener), None);
}
