//! Cards without any order: whatever they do, in whatever sequence, the driver keeps
//! its buffers apart and gives up what cannot be.

use crate::device::{Card, Driver, Manners, told};
use crate::ram::Ram;
use crate::returns::started;
use harness_kernel::virtio::card::ReceivedFrame;
use harness_kernel::virtio::direction::Direction::{self, Receive, Transmit};
use harness_net::FrameDevice;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// One thing that a card or the stack does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Arrive(u16),
    Complete,
    Put { sent: bool, id: u32, length: u32 },
    Jump { sent: bool, by: u16 },
    Receive,
    Recycle(usize),
    Send(usize),
    Flush,
    Arm,
}

fn acts() -> impl Strategy<Value = Act> {
    let lie = prop_oneof![
        (any::<bool>(), 0_u32..300, any::<u32>()).prop_map(|(sent, id, length)| Act::Put {
            sent,
            id,
            length
        }),
        (any::<bool>(), any::<u32>(), 0_u32..4_096).prop_map(|(sent, id, length)| Act::Put {
            sent,
            id,
            length
        }),
        (any::<bool>(), any::<u16>()).prop_map(|(sent, by)| Act::Jump { sent, by }),
    ];
    prop_oneof![
        8 => (0_u16..1_500).prop_map(Act::Arrive),
        8 => Just(Act::Complete),
        8 => Just(Act::Receive),
        8 => (0_usize..8).prop_map(Act::Recycle),
        8 => (0_usize..3_000).prop_map(Act::Send),
        2 => Just(Act::Flush),
        1 => Just(Act::Arm),
        1 => lie,
    ]
}

fn side(sent: bool) -> Direction {
    if sent { Transmit } else { Receive }
}

fn run(card: &Card, driver: &mut Driver, acts: &[Act]) {
    let mut held = Vec::new();
    for &act in acts {
        match act {
            Act::Arrive(length) => {
                card.receive(&vec![7; usize::from(length)]);
            }
            Act::Complete => {
                if let Some(id) = card.next_given(Transmit) {
                    card.put(Transmit, u32::from(id), 0);
                }
            }
            Act::Put { sent, id, length } => card.put(side(sent), id, length),
            Act::Jump { sent, by } => card.jump(side(sent), by),
            Act::Receive => held.extend(driver.receive()),
            Act::Recycle(at) if !held.is_empty() => {
                driver.recycle(held.swap_remove(at % held.len()));
            }
            Act::Recycle(_) => {}
            Act::Send(length) => {
                driver.can_transmit();
                driver.transmit(length, |room| room.fill(3));
            }
            Act::Flush => driver.flush(),
            Act::Arm => drop(driver.arm()),
        }
        check_held(&held);
    }
}

/// Fails if the stack holds a buffer that the card has, or one of them twice.
fn check_held(held: &[ReceivedFrame]) {
    let mut starts = BTreeSet::new();
    for frame in held {
        let bytes = frame.as_ref();
        assert!(bytes.len() <= 2_036);
        // Behind its header: what is left of 2,048 bytes.
        let start = bytes.as_ptr().addr() as u64;
        assert!(!Ram::is_lent(start, 2_036));
        assert!(starts.insert(start));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_sequence_ends_well(sequence in proptest::collection::vec(acts(), 0..400)) {
        let (card, mut driver) = started();
        run(&card, &mut driver, &sequence);
        // It was given up at most once, and counted then.
        let faults = driver.faults();
        let given_up = u64::try_from(told().len()).unwrap();
        prop_assert!(given_up <= 1);
        prop_assert_eq!(faults.unknown + faults.full, given_up);
    }

    #[test]
    fn any_manners_are_answered(
        features: u64,
        [resets, agrees, queues_in_use, stands_still]: [bool; 4],
        queue_size: u32,
        configuration_bytes in 0_usize..7,
    ) {
        let manners = Manners {
            features: features | 1 << 5 | 1 << 32,
            resets,
            agrees,
            queue_size,
            queues_in_use,
            stands_still,
            configuration_bytes,
        };
        let is_sound = resets && agrees && !queues_in_use && stands_still
            && queue_size >= 256 && configuration_bytes >= 6;
        prop_assert_eq!(Card::new(manners).start().is_ok(), is_sound);
    }
}
