//! One card's registers, through a transport of `virtio-drivers`. Whatever the card
//! answers, every wait for it ends.
//!
//! Invariants: VIRTIO-TRUST.

use crate::virtio::direction::Direction;
use crate::virtio::error::CardError;
use crate::virtio::queue::Queue;
use core::mem::ManuallyDrop;
use virtio_drivers::Hal;
use virtio_drivers::transport::{DeviceStatus, Transport};

/// How often a card is asked whether it is reset, or for a configuration that stands
/// still, before it is given up.
const PATIENCE: u16 = 1_000;

/// Status: the guest has found the card, and has a driver for it (2.1).
const KNOWN: DeviceStatus = DeviceStatus::ACKNOWLEDGE.union(DeviceStatus::DRIVER);

/// The registers of one card. A transport that is dropped waits until its card is reset,
/// which may be never, so none is.
pub(super) struct Registers<T>(ManuallyDrop<T>);

impl<T: Transport> Registers<T> {
    /// The card behind this transport, reset.
    pub(super) fn reset(transport: T) -> Result<Self, CardError> {
        let mut registers = Self(ManuallyDrop::new(transport));
        registers.give_up();
        let is_reset = (0..PATIENCE).any(|_| registers.0.get_status().is_empty());
        is_reset.then_some(registers).ok_or(CardError::Reset)
    }

    /// Resets the card: whatever it was lent, it touches no more.
    pub(super) fn give_up(&mut self) {
        self.0.set_status(DeviceStatus::empty());
    }

    /// Agrees upon exactly these features (3.1.1).
    pub(super) fn negotiate(&mut self, wanted: u64) -> Result<(), CardError> {
        self.0.set_status(KNOWN);
        if self.0.read_device_features() & wanted != wanted {
            return Err(CardError::Features);
        }
        self.0.write_driver_features(wanted);
        self.0.set_status(KNOWN | DeviceStatus::FEATURES_OK);
        if self.0.get_status().contains(DeviceStatus::FEATURES_OK) {
            Ok(())
        } else {
            Err(CardError::Refused)
        }
    }

    /// The hardware address, as it stood at one moment (2.5.3).
    pub(super) fn hardware_address(&self) -> Result<[u8; 6], CardError> {
        for _ in 0..PATIENCE {
            let before = self.0.read_config_generation();
            let address = self.0.read_config_space(0)?;
            if self.0.read_config_generation() == before {
                return Ok(address);
            }
        }
        Err(CardError::Unsteady)
    }

    /// Sets a queue up.
    pub(super) fn queue<H: Hal, const SIZE: usize>(
        &mut self,
        direction: Direction,
    ) -> virtio_drivers::Result<Queue<H, SIZE>> {
        Queue::new(&mut *self.0, direction)
    }

    /// Has the card work.
    pub(super) fn start(&mut self) {
        self.0.finish_init();
    }

    /// Notifies the card that a queue has news.
    pub(super) fn notify(&mut self, direction: Direction) {
        self.0.notify(direction.number());
    }

    /// Lowers the interrupt line: reading says why it was raised, and does that.
    pub(super) fn acknowledge_interrupt(&mut self) {
        let _reason = self.0.ack_interrupt();
    }
}
