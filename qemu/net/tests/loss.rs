//! A wire that loses: how long an answer takes then, in simulated time.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may panic, and that is how it fails"
)]

mod common;

use common::frames::{Seen, parse};
use common::{Appetite, World, config};
use harness_net::{Recv, Sent, SocketId};
use smoltcp::iface::SocketHandle;
use std::cell::Cell;
use std::rc::Rc;

/// A head and a page of 3,500 bytes: three segments.
const PAGE_BYTES: usize = 4_000;

/// A kept connection over a wire with a round trip of twice `delay`.
struct Kept {
    world: World,
    peer: SocketHandle,
    socket: SocketId,
}

impl Kept {
    fn open(delay: u64) -> Self {
        let mut world = World::new(config());
        world.peer.receive_bytes = 16_384;
        let listener = world.listen(8080);
        // The peer asks for the hardware address before, and over a wire without delay.
        let (first, accepted) = world.pair(listener, 8080);
        world.stack.abort(accepted.socket);
        world.peer.socket(first).abort();
        world.wire.borrow_mut().delay = delay;
        let (peer, accepted) = world.pair(listener, 8080);
        Self {
            world,
            peer,
            socket: accepted.socket,
        }
    }

    /// Loses what `eats` chooses among the segments with data or an end, each told
    /// with its number and whether it goes to the stack.
    fn lose(&self, mut eats: impl FnMut(usize, &Seen, bool) -> bool + 'static) {
        let number = Rc::new(Cell::new(0));
        let eats = move |frame: &[u8], to_stack: bool| {
            let Some(seen) = parse(frame).filter(|seen| !seen.payload.is_empty()) else {
                return false;
            };
            if !to_stack {
                number.set(number.get() + 1);
            }
            eats(number.get(), &seen, to_stack)
        };
        self.world.wire.borrow_mut().eats = Some(Appetite(Box::new(eats)));
    }

    /// Asks for a page of `bytes`, and how many milliseconds it takes to come.
    fn page(&mut self, bytes: usize) -> u64 {
        let started = self.world.millis;
        self.world
            .peer
            .socket(self.peer)
            .send_slice(b"GET /")
            .unwrap();
        let (peer, socket) = (self.peer, self.socket);
        let mut buffer = [0; 8_192];
        let (mut sent, mut got) = (None, 0);
        self.world.until(60_000, "the page", |world| {
            if sent.is_none() && world.stack.recv(socket, &mut buffer) == Recv::Bytes(5) {
                sent = Some(0);
            }
            if let Some(count) = sent.as_mut().filter(|count| **count < bytes)
                && let Sent::Bytes(more) = world.stack.send(socket, &vec![7; bytes - *count])
            {
                *count += more;
            }
            got += world.peer.socket(peer).recv_slice(&mut buffer).unwrap_or(0);
            got == bytes
        });
        self.world.millis - started
    }

    /// The peer's last acknowledgements arrive.
    fn rest(&mut self) {
        self.world.run(300);
    }
}

/// Milliseconds for a page when the segments with these numbers are lost, beside
/// those when none is.
fn delayed_by(delay: u64, bytes: usize, lost: &'static [usize]) -> u64 {
    let mut kept = Kept::open(delay);
    let undisturbed = kept.page(bytes);
    kept.rest();
    kept.lose(move |number, _, to_stack| !to_stack && lost.contains(&number));
    kept.page(bytes) - undisturbed
}

#[test]
fn a_lost_tail_is_probed_for() {
    for (delay, at_most) in [(0, 20), (10, 80), (50, 320)] {
        let late = delayed_by(delay, PAGE_BYTES, &[2, 3]);
        assert!(late <= at_most, "{late} ms at a delay of {delay}");
        let late = delayed_by(delay, PAGE_BYTES, &[1, 2, 3]);
        assert!(
            late <= at_most,
            "{late} ms at a delay of {delay}, all of it"
        );
    }
}

#[test]
fn a_hole_is_filled_at_the_first_repeated_acknowledgement() {
    for (delay, at_most) in [(0, 5), (10, 30), (50, 130)] {
        let late = delayed_by(delay, PAGE_BYTES, &[1]);
        assert!(late <= at_most, "{late} ms at a delay of {delay}");
    }
}

#[test]
fn one_segment_alone_is_sent_again_after_200_milliseconds() {
    let late = delayed_by(10, 1_000, &[1]);
    assert!((190..260).contains(&late), "{late} ms");
    let twice = delayed_by(10, 1_000, &[1, 2]);
    assert!((390..720).contains(&twice), "{twice} ms");
}

#[test]
fn an_answer_to_a_request_that_is_lost_is_sent_again_before_the_peer_asks_again() {
    let mut kept = Kept::open(0);
    let lost = Rc::new(Cell::new(false));
    let eats = move |frame: &[u8], to_stack: bool| {
        !to_stack && parse(frame).is_some_and(|seen| seen.syn && !lost.replace(true))
    };
    kept.world.wire.borrow_mut().eats = Some(Appetite(Box::new(eats)));
    let started = kept.world.millis;
    let peer = kept.world.peer.connect(common::STACK_ADDRESS, 8080);
    kept.world
        .until(500, "open", |world| world.peer.socket(peer).may_send());
    assert!((250..300).contains(&(kept.world.millis - started)));
}

/// The peer answers the repeat with the number behind its request, which names no
/// handshake; the request is still to come again.
#[test]
fn a_peer_that_is_ahead_of_the_handshake_is_not_reset() {
    let mut kept = Kept::open(0);
    let repeats = Rc::new(Cell::new(0));
    let seen = repeats.clone();
    let eats = move |frame: &[u8], to_stack: bool| {
        let syn = parse(frame).is_some_and(|seen| seen.syn);
        seen.set(seen.get() + usize::from(syn && !to_stack));
        to_stack && !syn && seen.get() == 1
    };
    kept.world.wire.borrow_mut().eats = Some(Appetite(Box::new(eats)));
    let peer = kept.world.peer.connect(common::STACK_ADDRESS, 8080);
    kept.world
        .until(50, "open", |world| world.peer.socket(peer).may_send());
    kept.world.peer.socket(peer).send_slice(b"GET /").unwrap();
    kept.world.run(300);
    assert_eq!(repeats.get(), 2);
    assert!(kept.world.peer.socket(peer).may_send(), "reset");
    kept.world.until(2_000, "the request", |world| {
        world.peer.socket(peer).send_queue() == 0
    });
}

/// Every twentieth segment is lost in both directions, requests aside: those are
/// the peer's to repeat, and this one waits a second where others wait 200 ms.
#[test]
fn pages_over_a_wire_that_loses_5_in_100() {
    for (delay, at_most) in [(0, [20, 250]), (10, [100, 350]), (50, [360, 700])] {
        let mut kept = Kept::open(delay);
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        let eats = move |frame: &[u8], to_stack: bool| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let request = to_stack && parse(frame).is_some_and(|seen| !seen.payload.is_empty());
            !request && (random >> 33) % 100 < 5
        };
        kept.world.wire.borrow_mut().eats = Some(Appetite(Box::new(eats)));
        let mut times: Vec<u64> = (0..1_000).map(|_| kept.page(PAGE_BYTES)).collect();
        times.sort_unstable();
        let quantiles = [times[900], times[990]];
        assert!(
            quantiles[0] <= at_most[0] && quantiles[1] <= at_most[1],
            "p90 and p99 {quantiles:?} ms at a delay of {delay}"
        );
    }
}
