//! The PCI bus, as far as finding network cards and their registers goes. What a card
//! says of its registers is looked at before `virtio-drivers` goes by it.
//!
//! Invariants: VIRTIO-TRUST.

use crate::virtio::error::CardError;
use core::ops::Range;
use virtio_drivers::Hal;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::pci::bus::{
    Command, ConfigurationAccess, DeviceFunction, PCI_CAP_ID_VNDR, PciRoot,
};
use virtio_drivers::transport::pci::{
    PciTransport, VIRTIO_PCI_CAP_COMMON_CFG, VIRTIO_PCI_CAP_DEVICE_CFG, VIRTIO_PCI_CAP_NOTIFY_CFG,
    virtio_device_type,
};

/// Offset of the register that names the interrupt line.
const INTERRUPT_OFFSET: u8 = 0x3c;

/// Offset of the first base address.
const BAR_OFFSET: u8 = 0x10;

/// A function has so many base addresses.
const BARS: u8 = 6;

/// More capabilities than this do not fit in the configuration space.
const CAPABILITIES_MAX: usize = 48;

/// No card has more registers of one kind, and to map them costs tables.
const REGION_BYTES_MAX: u32 = 0x1_0000;

/// A network card that was found, not set up yet.
pub struct Found<C: ConfigurationAccess> {
    access: C,
    function: DeviceFunction,
}

impl<C: ConfigurationAccess + Clone> Found<C> {
    /// The interrupt controller's line that it raises.
    pub fn line(&self) -> u8 {
        let [line, ..] = self.word(INTERRUPT_OFFSET).to_le_bytes();
        line
    }

    /// Lets the card use memory and interrupts, and maps its registers, which must lie
    /// within `places`.
    ///
    /// The registers answer only after their places have been measured: every
    /// change of what answers where costs the emulator about a millisecond.
    ///
    /// # Errors
    /// What the card says of its registers cannot be.
    pub fn open<H: Hal>(self, places: &Range<u64>) -> Result<PciTransport, CardError> {
        let mut root = PciRoot::new(self.access.clone());
        let (_, command) = root.get_status_command(self.function);
        let silent = command.difference(Command::IO_SPACE | Command::MEMORY_SPACE);
        root.set_command(self.function, silent);
        self.check(&root, places)?;
        let transport = PciTransport::new::<H, C>(&mut root, self.function)?;
        let answering = (silent | Command::MEMORY_SPACE | Command::BUS_MASTER)
            .difference(Command::INTERRUPT_DISABLE);
        root.set_command(self.function, answering);
        Ok(transport)
    }

    /// Walks the list that `virtio-drivers` is going to walk, which has no bound there,
    /// nor do the sums of what stands in it.
    fn check(&self, root: &PciRoot<C>, places: &Range<u64>) -> Result<(), CardError> {
        let mut left = CAPABILITIES_MAX;
        for capability in root.capabilities(self.function) {
            left = left.checked_sub(1).ok_or(CardError::EndlessList)?;
            if capability.id == PCI_CAP_ID_VNDR {
                let [_, kind] = capability.private_header.to_le_bytes();
                self.check_region(capability.offset, kind, places)
                    .ok_or(CardError::Place)?;
            }
        }
        Ok(())
    }

    /// `Some` if the capability is all there, and registers can be where it says (4.1.4).
    fn check_region(&self, capability: u8, kind: u8, places: &Range<u64>) -> Option<()> {
        let bytes: u8 = if kind == VIRTIO_PCI_CAP_NOTIFY_CFG {
            20
        } else {
            16
        };
        capability.checked_add(bytes.wrapping_sub(1))?;
        if !(VIRTIO_PCI_CAP_COMMON_CFG..=VIRTIO_PCI_CAP_DEVICE_CFG).contains(&kind) {
            return Some(());
        }
        let word = |at| self.word(capability.wrapping_add(at));
        let [bar, ..] = word(4).to_le_bytes();
        let (offset, length) = (word(8), word(12));
        if length > REGION_BYTES_MAX {
            return None;
        }
        let end = offset.checked_add(length)?;
        let base = self.base_address(bar)?;
        let end = base.checked_add(u64::from(end))?;
        (base >= places.start && end <= places.end).then_some(())
    }

    /// Where a base address register points; ports are what `virtio-drivers` refuses.
    fn base_address(&self, bar: u8) -> Option<u64> {
        if bar >= BARS {
            return None;
        }
        let at = BAR_OFFSET.wrapping_add(bar.wrapping_mul(4));
        let low = self.word(at);
        let is_wide = low & 0b111 == 0b100;
        let high = if is_wide {
            self.word(at.wrapping_add(4))
        } else {
            0
        };
        Some(u64::from(high) << 32 | u64::from(low & !0b1111))
    }

    fn word(&self, at: u8) -> u32 {
        self.access.read_word(self.function, at)
    }
}

/// The network cards on bus 0, in the order of their slots.
pub fn network_cards<C: ConfigurationAccess + Clone>(access: C) -> impl Iterator<Item = Found<C>> {
    PciRoot::new(access.clone())
        .enumerate_bus(0)
        .filter(|(_, info)| virtio_device_type(info) == Some(DeviceType::Network))
        .map(move |(function, _)| Found {
            access: access.clone(),
            function,
        })
}
