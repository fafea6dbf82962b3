//! Cards that cannot be set up, each by its name, and one that can.

use crate::device::{Card, HONEST, MAC, Manners};
use crate::ram::Ram;
use harness_kernel::virtio::error::CardError;
use harness_net::FrameDevice;
use virtio_drivers::Error;
use virtio_drivers::transport::DeviceStatus;

#[test]
fn an_honest_card_is_set_up() {
    let card = Card::new(HONEST);
    let driver = card.start().unwrap();
    assert_eq!(driver.mac(), MAC);
    let device = card.0.borrow();
    assert_eq!(device.queue_sizes(), [256, 128]);
    assert_eq!(device.status.bits(), 0x0f);
    assert_eq!(device.accepted, HONEST.features);
    assert_eq!(device.notified, [0], "its buffers were made known");
}

fn fault(manners: Manners) -> CardError {
    let card = Card::new(manners);
    let fault = card.start().err().unwrap();
    if manners.resets {
        assert!(card.0.borrow().status.is_empty(), "left as it was");
    }
    fault
}

#[test]
fn one_that_does_not_reset() {
    let resets = false;
    assert_eq!(fault(Manners { resets, ..HONEST }), CardError::Reset);
}

#[test]
fn one_without_an_address_or_of_an_older_kind() {
    for features in [0, 1 << 5, 1 << 32, !(1 << 5), !(1 << 32)] {
        assert_eq!(fault(Manners { features, ..HONEST }), CardError::Features);
    }
}

#[test]
fn one_that_offers_everything_is_asked_for_two_things() {
    let features = u64::MAX;
    let card = Card::new(Manners { features, ..HONEST });
    assert!(card.start().is_ok());
    assert_eq!(card.0.borrow().accepted, HONEST.features);
}

#[test]
fn one_that_goes_back_on_its_offer() {
    let agrees = false;
    assert_eq!(fault(Manners { agrees, ..HONEST }), CardError::Refused);
}

#[test]
fn one_with_small_queues_or_queues_of_somebody_elses() {
    for queue_size in [0, 1, 128, 255] {
        let small = Manners {
            queue_size,
            ..HONEST
        };
        assert_eq!(fault(small), CardError::Device(Error::InvalidParam));
    }
    let queues_in_use = true;
    let taken = Manners {
        queues_in_use,
        ..HONEST
    };
    assert_eq!(fault(taken), CardError::Device(Error::AlreadyUsed));
}

#[test]
fn one_whose_queues_could_be_larger() {
    for queue_size in [512, 32_768, 65_535, u32::MAX] {
        let large = Manners {
            queue_size,
            ..HONEST
        };
        let card = Card::new(large);
        assert!(card.start().is_ok());
        assert_eq!(card.0.borrow().queue_sizes(), [256, 128]);
    }
}

#[test]
fn one_whose_configuration_never_stands_still_or_is_too_short() {
    let stands_still = false;
    let moving = Manners {
        stands_still,
        ..HONEST
    };
    assert_eq!(fault(moving), CardError::Unsteady);
    for (configuration_bytes, error) in [
        (0, Error::ConfigSpaceMissing),
        (5, Error::ConfigSpaceTooSmall),
    ] {
        let short = Manners {
            configuration_bytes,
            ..HONEST
        };
        assert_eq!(fault(short), CardError::Device(error));
    }
}

#[test]
fn a_machine_without_memory_for_all_of_it() {
    // Two areas a queue, a page for two buffers.
    let enough = 2 * 2 + (256 + 128) / 2 + 1;
    for left in [0, 1, 3, 4, 100, 132, enough - 1] {
        Ram::renew(Some(left));
        assert_eq!(fault(HONEST), CardError::Memory, "{left}");
    }
    Ram::renew(Some(enough));
    assert!(Card::new(HONEST).start().is_ok());
}

#[test]
fn a_status_that_means_nothing_is_no_reset() {
    let card = Card::new(Manners {
        resets: false,
        ..HONEST
    });
    card.0.borrow_mut().status = DeviceStatus::from_bits_retain(1 << 30);
    assert_eq!(card.start().err(), Some(CardError::Reset));
}
