//! What a card returns: honestly, in any order, and not honestly.

use crate::device::{Card, Driver, HONEST, LINE, told};
use harness_kernel::virtio::card::{Arrivals, TRANSMIT_BUFFERS};
use harness_kernel::virtio::direction::Direction::{self, Receive, Transmit};
use harness_kernel::virtio::faults::{CardFault, CardFaults};
use harness_net::FrameDevice;

pub(crate) fn started() -> (Card, Driver) {
    let card = Card::new(HONEST);
    let driver = card.start().unwrap();
    card.0.borrow_mut().notified.clear();
    (card, driver)
}

fn send(driver: &mut Driver, frame: &[u8]) {
    driver.transmit(frame.len(), |room| room.copy_from_slice(frame));
}

/// That a card has been given up for this, and that all is quiet afterwards.
fn check_given_up(card: &Card, driver: &mut Driver, fault: CardFault) {
    assert_eq!(told(), [(LINE, fault)]);
    assert_eq!(card.0.borrow().status.bits(), 0, "it was not reset");
    let notified = card.0.borrow().notified.len();
    card.put(Receive, 0, 60);
    assert!(driver.receive().is_none());
    assert_eq!(driver.arm(), Arrivals::None);
    for _ in 0..300 {
        assert!(driver.can_transmit());
        send(driver, &[1; 60]);
    }
    driver.flush();
    assert_eq!(card.0.borrow().notified.len(), notified);
    assert_eq!(told(), [], "told once");
}

#[test]
fn frames_arrive_and_their_buffers_go_round() {
    let (card, mut driver) = started();
    for round in 0..2_000_u32 {
        let frame = round.to_le_bytes().repeat(15);
        assert!(card.receive(&frame));
        let received = driver.receive().unwrap();
        assert_eq!(received.as_ref(), frame);
        driver.recycle(received);
        assert!(driver.receive().is_none());
    }
    assert_eq!(driver.faults(), CardFaults::default());
}

#[test]
fn frames_leave_and_are_notified_once() {
    let (card, mut driver) = started();
    for round in 0..1_000_u32 {
        assert!(driver.can_transmit());
        for half in 0..2 {
            send(&mut driver, &[round as u8, half, 9]);
        }
        driver.flush();
        driver.flush();
        for half in 0..2 {
            let id = card.next_given(Transmit).unwrap();
            assert_eq!(card.frame_of(id), [round as u8, half, 9]);
            card.put(Transmit, u32::from(id), 0);
        }
    }
    let notified = core::mem::take(&mut card.0.borrow_mut().notified);
    assert_eq!(notified.len(), 1_000);
    assert!(notified.iter().all(|&queue| queue == 1));
}

#[test]
fn order_does_not_matter() {
    let (card, mut driver) = started();
    let ids: Vec<u16> = core::iter::from_fn(|| card.next_given(Receive)).collect();
    assert_eq!(ids.len(), 256);
    for &id in ids.iter().rev() {
        card.fill(id, &id.to_le_bytes());
        card.put(Receive, u32::from(id), 14);
    }
    // All are held at once, and come back in yet another order.
    let mut held: Vec<_> = core::iter::from_fn(|| driver.receive()).collect();
    let seen: Vec<_> = held.iter().map(|frame| frame.as_ref().to_vec()).collect();
    let sent: Vec<_> = ids
        .iter()
        .rev()
        .map(|id| id.to_le_bytes().to_vec())
        .collect();
    assert_eq!(seen, sent);
    held.rotate_left(100);
    for frame in held {
        driver.recycle(frame);
    }
    assert_eq!(
        core::iter::from_fn(|| card.next_given(Receive)).count(),
        256
    );
    assert_eq!(driver.faults(), CardFaults::default());
}

#[test]
fn a_length_that_cannot_be_makes_an_empty_frame() {
    let (card, mut driver) = started();
    let cases = [
        (0, 0, 1, 0),
        (11, 0, 1, 0),
        (12, 0, 0, 0),
        (13, 1, 0, 0),
        (2_048, 2_036, 0, 0),
        (2_049, 0, 0, 1),
        (65_536 + 60, 0, 0, 1),
        (u32::MAX, 0, 0, 1),
    ];
    for (length, bytes, short, long) in cases {
        let before = driver.faults();
        let id = card.next_given(Receive).unwrap();
        card.put(Receive, u32::from(id), length);
        let frame = driver.receive().unwrap();
        assert_eq!(frame.as_ref().len(), bytes, "{length}");
        driver.recycle(frame);
        let after = driver.faults();
        assert_eq!(
            (after.short - before.short, after.long - before.long),
            (short, long)
        );
    }
    assert_eq!(told(), [], "such a card is still of use");
    assert!(card.receive(&[5; 60]));
    assert_eq!(driver.receive().unwrap().as_ref(), [5; 60]);
}

#[test]
fn a_buffer_that_it_was_not_given_ends_it() {
    for id in [256, 257, 32_768, 65_535, 65_536 + 256, u32::MAX] {
        let (card, mut driver) = started();
        card.put(Receive, id, 60);
        assert!(driver.receive().is_none());
        assert_eq!(driver.faults().unknown, 1);
        check_given_up(&card, &mut driver, CardFault::Unknown(Receive));
    }
}

#[test]
fn one_that_was_never_sent_ends_it() {
    for id in [128, 129, 65_535, 65_536 + 128, u32::MAX] {
        let (card, mut driver) = started();
        for _ in 0..TRANSMIT_BUFFERS {
            send(&mut driver, &[0; 60]);
        }
        card.put(Transmit, id, 0);
        assert!(driver.can_transmit(), "like a wire that ends nowhere");
        check_given_up(&card, &mut driver, CardFault::Unknown(Transmit));
    }
}

#[test]
fn a_buffer_returned_twice_ends_it() {
    let (card, mut driver) = started();
    let id = u32::from(card.next_given(Receive).unwrap());
    card.put(Receive, id, 72);
    card.put(Receive, id, 72);
    let first = driver.receive().unwrap();
    assert!(driver.receive().is_none());
    check_given_up(&card, &mut driver, CardFault::Unknown(Receive));
    // What the stack still holds stays readable, and is lost when it comes back.
    assert_eq!(first.as_ref().len(), 60);
    driver.recycle(first);
    assert!(driver.receive().is_none());
}

#[test]
fn a_sent_buffer_returned_twice_ends_it() {
    let (card, mut driver) = started();
    for _ in 0..TRANSMIT_BUFFERS {
        send(&mut driver, &[0; 60]);
    }
    let id = u32::from(card.next_given(Transmit).unwrap());
    card.put(Transmit, id, 0);
    card.put(Transmit, id, 0);
    assert!(driver.can_transmit());
    check_given_up(&card, &mut driver, CardFault::Unknown(Transmit));
}

/// `virtio-drivers` reads the low half of an id. One that is right there is taken for the
/// buffer, which the card has; once.
#[test]
fn an_id_that_is_right_in_its_low_half_returns_that_buffer_once() {
    let (card, mut driver) = started();
    let id = u32::from(card.next_given(Receive).unwrap());
    card.put(Receive, 65_536 + id, 72);
    card.put(Receive, id, 72);
    assert!(driver.receive().is_some());
    assert!(driver.receive().is_none());
    check_given_up(&card, &mut driver, CardFault::Unknown(Receive));
}

/// Places that were never written hold descriptor 0, which it has; once.
#[test]
fn a_count_that_jumps_ends_it() {
    for by in [2, 256, 257, 1_000, 32_768, 65_535] {
        let (card, mut driver) = started();
        card.jump(Receive, by);
        assert!(driver.receive().is_some(), "{by}");
        assert!(driver.receive().is_none(), "{by}");
        assert_eq!(driver.faults().unknown, 1);
        check_given_up(&card, &mut driver, CardFault::Unknown(Receive));
    }
}

#[test]
fn a_count_that_jumps_on_the_way_out_ends_it() {
    for by in [2, TRANSMIT_BUFFERS as u16 + 1, 65_535] {
        let (card, mut driver) = started();
        for _ in 0..TRANSMIT_BUFFERS {
            send(&mut driver, &[0; 60]);
        }
        card.jump(Transmit, by);
        assert!(driver.can_transmit());
        check_given_up(&card, &mut driver, CardFault::Unknown(Transmit));
    }
}

/// The places behind a count that goes back hold what was taken already.
#[test]
fn a_count_that_goes_back_ends_it() {
    let (card, mut driver) = started();
    let mut held = Vec::new();
    for _ in 0..5 {
        assert!(card.receive(&[1; 60]));
        held.extend(driver.receive());
    }
    card.jump(Receive, 65_535);
    // The driver is at place 5, never written: descriptor 0, which is held.
    assert!(driver.receive().is_none());
    check_given_up(&card, &mut driver, CardFault::Unknown(Receive));
    assert_eq!(held.len(), 5);
}

/// However far ahead a count claims to be, each place is looked at once: what the stack
/// gives back between two is the card's again, and may come again.
#[test]
fn a_count_that_is_always_ahead_ends() {
    let (card, mut driver) = started();
    card.jump(Receive, 65_535);
    let mut frames = 0;
    while let Some(frame) = driver.receive() {
        assert!(frame.as_ref().is_empty());
        driver.recycle(frame);
        frames += 1;
    }
    assert_eq!(frames, 65_535);
    assert_eq!(driver.faults().short, 65_535);
}

#[test]
fn a_card_that_stops_holds_nobody_up() {
    let (card, mut driver) = started();
    let mut sent = 0;
    while driver.can_transmit() {
        send(&mut driver, &[0; 60]);
        sent += 1;
    }
    assert_eq!(sent, TRANSMIT_BUFFERS);
    // What is sent all the same is lost.
    send(&mut driver, &[0; 60]);
    driver.flush();
    assert!(driver.receive().is_none());
    assert_eq!(
        core::iter::from_fn(|| card.next_given(Transmit)).count(),
        sent
    );
    assert_eq!(driver.faults(), CardFaults::default());
}

#[test]
fn a_card_that_is_asleep_is_woken_by_a_frame_alone() {
    let (card, mut driver) = started();
    assert_eq!(driver.arm(), Arrivals::None);
    assert!(card.receive(&[1; 60]));
    assert_eq!(driver.arm(), Arrivals::Waiting);
    driver.acknowledge();
    assert_eq!(card.0.borrow().acknowledged, 1);
    assert!(driver.receive().is_some());
}

#[test]
fn directions_have_their_numbers() {
    let numbers = [Receive, Transmit].map(Direction::number);
    assert_eq!(numbers, [0, 1]);
}
