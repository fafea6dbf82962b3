//! The bus, and cards that lie about where their registers are.

use crate::ram::Ram;
use harness_kernel::virtio::error::CardError;
use harness_kernel::virtio::pci::network_cards;
use proptest::prelude::*;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use virtio_drivers::transport::pci::VirtioPciError;
use virtio_drivers::transport::pci::bus::{ConfigurationAccess, DeviceFunction};

const PLACES: Range<u64> = 0x4000_0000..1 << 52;

const CARD: DeviceFunction = DeviceFunction {
    bus: 0,
    device: 3,
    function: 0,
};

/// Where the four kinds of capabilities of an honest card stand.
const COMMON: usize = 0x40;
const INTERRUPT: usize = 0x54;
const CONFIGURATION: usize = 0x64;
const NOTIFY: usize = 0x74;

/// A bus with one function, whose configuration space is these words; those at 0x10 to
/// 0x24 keep the bits of a mask.
struct Space {
    words: [u32; 64],
    masks: [u32; 6],
    accesses: usize,
}

/// A handle to it; clones are the same bus.
#[derive(Clone)]
struct Bus(Rc<RefCell<Space>>);

impl ConfigurationAccess for Bus {
    fn read_word(&self, function: DeviceFunction, at: u8) -> u32 {
        let mut space = self.0.borrow_mut();
        space.accesses += 1;
        if function != CARD {
            return u32::MAX;
        }
        space.words[usize::from(at / 4)]
    }

    fn write_word(&mut self, function: DeviceFunction, at: u8, value: u32) {
        let mut space = self.0.borrow_mut();
        space.accesses += 1;
        assert_eq!(function, CARD);
        let word = usize::from(at / 4);
        match word {
            1 => space.words[1] = space.words[1] & 0xffff_0000 | value & 0xffff,
            4..10 => {
                let mask = space.masks[word - 4];
                space.words[word] = space.words[word] & !mask | value & mask;
            }
            _ => panic!("writes {at:#x}"),
        }
    }

    #[expect(unsafe_code, reason = "a declaration that asks for it")]
    unsafe fn unsafe_clone(&self) -> Self {
        self.clone()
    }
}

/// A card as QEMU has them: four kinds of registers in one wide range.
fn honest() -> Space {
    let mut words = [0; 64];
    words[0] = 0x1041_1af4;
    words[1] = 0x0010_0403;
    words[8] = 0xfe00_000c;
    words[9] = 0x0000_0001;
    words[0x34 / 4] = 0x40;
    words[0x3c / 4] = 0x0000_010b;
    for (at, kind, offset, bytes, next) in [
        (COMMON, 1, 0, 0x1000, 0x54),
        (INTERRUPT, 3, 0x1000, 0x1000, 0x64),
        (CONFIGURATION, 4, 0x2000, 0x1000, 0x74),
        (NOTIFY, 2, 0x3000, 0x1000, 0x00),
    ] {
        let word = at / 4;
        words[word] = 0x09 | next << 8 | 20 << 16 | kind << 24;
        words[word + 1] = 4;
        words[word + 2] = offset;
        words[word + 3] = bytes;
    }
    words[NOTIFY / 4 + 4] = 4;
    let masks = [0, 0, 0, 0, 0xffff_c000, 0xffff_ffff];
    Space {
        words,
        masks,
        accesses: 0,
    }
}

/// Opens the one card of a bus: whether it can be, and what the bus is like then.
fn open(space: Space) -> (Result<(), CardError>, Space) {
    Ram::renew(None);
    let bus = Bus(Rc::new(RefCell::new(space)));
    let found = network_cards(bus.clone()).next().unwrap();
    bus.0.borrow_mut().accesses = 0;
    let opened = found.open::<Ram>(&PLACES).map(drop);
    (opened, Rc::into_inner(bus.0).unwrap().into_inner())
}

/// The fault of a card of which something was changed.
fn fault(change: impl FnOnce(&mut Space)) -> CardError {
    let mut space = honest();
    change(&mut space);
    let (opened, space) = open(space);
    assert!(space.accesses < 1_000, "{}", space.accesses);
    opened.err().unwrap()
}

#[test]
fn finds_a_card_and_where_its_registers_are() {
    let before = honest().words;
    let (opened, space) = open(honest());
    assert_eq!(opened, Ok(()));
    let mapped = [0, 0x3000, 0x1000, 0x2000].map(|offset| {
        let start = 0x1_fe00_0000 + offset;
        start..start + 0x1000
    });
    assert_eq!(Ram::mapped(), mapped);
    assert_eq!(
        space.words[4..10],
        before[4..10],
        "the ranges are as they were"
    );
    assert_eq!(
        space.words[1], 0x0010_0006,
        "answers in memory, masters the bus, interrupts"
    );
    let bus = Bus(Rc::new(RefCell::new(space)));
    assert_eq!(network_cards(bus).next().unwrap().line(), 11);
}

#[test]
fn a_card_that_does_not_say_where_its_registers_are() {
    let common = CardError::Pci(VirtioPciError::MissingCommonConfig);
    assert_eq!(fault(|space| space.words[1] = 3), common);
    assert_eq!(fault(|space| space.words[0x34 / 4] = 0), common);
    assert_eq!(fault(|space| space.words[COMMON / 4] ^= 1), common);
    assert_eq!(fault(|space| space.words[COMMON / 4] ^= 28 << 16), common);
    let notify = CardError::Pci(VirtioPciError::MissingNotifyConfig);
    assert_eq!(fault(|space| space.words[NOTIFY / 4] ^= 1), notify);
    assert_eq!(fault(|space| space.words[NOTIFY / 4] ^= 28 << 16), notify);
    let interrupt = CardError::Pci(VirtioPciError::MissingIsrConfig);
    assert_eq!(fault(|space| space.words[INTERRUPT / 4] ^= 1), interrupt);
}

#[test]
fn a_list_that_runs_in_a_circle_ends() {
    let alone = 0x4009 | 20 << 16;
    assert_eq!(
        fault(|space| space.words[COMMON / 4] = alone),
        CardError::EndlessList
    );
    let back = |space: &mut Space| space.words[NOTIFY / 4] |= 0x4000;
    assert_eq!(fault(back), CardError::EndlessList);
}

#[test]
fn a_capability_that_ends_behind_the_configuration_space() {
    for (at, kind) in [(0xf4, 1), (0xf0, 2), (0xfc, 3), (0xf8, 9)] {
        let last = |space: &mut Space| {
            space.words[NOTIFY / 4] |= at << 8;
            space.words[at as usize / 4] = 0x09 | 20 << 16 | kind << 24;
        };
        assert_eq!(fault(last), CardError::Place, "{at:#x}");
    }
}

#[test]
fn registers_where_the_card_has_no_memory() {
    let outside = CardError::Pci(VirtioPciError::BarOffsetOutOfRange);
    for capability in [COMMON, INTERRUPT, CONFIGURATION, NOTIFY] {
        let word = capability / 4;
        for bar in [6, 7, 0x3f, 0xff, 0, 5] {
            let other = |space: &mut Space| space.words[word + 1] = bar;
            assert_eq!(fault(other), CardError::Place, "{bar}");
        }
        // The last two would be within the range, were the sum cut off at 32 bits.
        for (offset, error) in [
            (0x4000, &outside),
            (0x3ff0, &outside),
            (u32::MAX, &CardError::Place),
            (0xffff_f000, &CardError::Place),
        ] {
            let far = |space: &mut Space| space.words[word + 2] = offset;
            assert_eq!(fault(far), *error, "{offset:#x}");
        }
        let long = |space: &mut Space| space.words[word + 3] = u32::MAX;
        assert_eq!(fault(long), CardError::Place);
        let empty = |space: &mut Space| space.words[word + 3] = 0;
        assert_eq!(fault(empty), outside);
    }
    let short = |space: &mut Space| space.words[COMMON / 4 + 3] = 55;
    assert_eq!(fault(short), outside);
}

#[test]
fn registers_in_the_machines_memory_or_nowhere() {
    for (low, high) in [
        (0xc, 0),
        (0x10_000c, 0),
        (0x3fff_c00c, 0),
        (0xffff_c00c, u32::MAX),
    ] {
        let moved = |space: &mut Space| (space.words[8], space.words[9]) = (low, high);
        assert_eq!(fault(moved), CardError::Place, "{high:#x} {low:#x}");
    }
    let ports = |space: &mut Space| space.words[8] = 0xfe00_c001;
    assert_eq!(
        fault(ports),
        CardError::Pci(VirtioPciError::UnexpectedIoBar)
    );
}

#[test]
fn a_card_that_is_refused_does_not_answer() {
    let mut space = honest();
    space.words[NOTIFY / 4 + 3] = u32::MAX;
    let (opened, space) = open(space);
    assert_eq!(opened, Err(CardError::Place));
    assert_eq!(space.words[1] & 7, 0, "nor does it master the bus");
}

proptest! {
    #[test]
    fn any_configuration_is_answered(
        words in proptest::collection::vec(any::<u32>(), 64),
        masks: [u32; 6],
        honest_to in 1_usize..64,
    ) {
        let mut space = honest();
        space.words[honest_to..].copy_from_slice(&words[honest_to..]);
        space.words[3] &= 0xff7f_ffff;
        space.masks = masks;
        let (opened, space) = open(space);
        prop_assert!(space.accesses < 1_000);
        let mapped = Ram::mapped();
        prop_assert!(opened.is_err() || mapped.len() >= 3);
        for region in mapped {
            prop_assert!(region.start >= PLACES.start && region.end <= PLACES.end);
            prop_assert!(region.end - region.start <= 0x1_0000);
        }
    }

    #[test]
    fn any_words_in_the_capabilities_are_answered(
        changes in proptest::collection::vec((4_usize..34, any::<u32>()), 1..4),
    ) {
        let mut space = honest();
        for (word, value) in changes {
            // Of the card's own, or of the kind that it has there.
            space.words[word] = if value % 3 == 0 { value >> 20 } else { value };
        }
        let (_, space) = open(space);
        prop_assert!(space.accesses < 1_000);
        for region in Ram::mapped() {
            prop_assert!(region.start >= PLACES.start && region.end <= PLACES.end);
        }
    }
}
