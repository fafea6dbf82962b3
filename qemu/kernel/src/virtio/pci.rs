//! The PCI bus, as far as finding network cards goes: configuration space
//! through the two ports that every PC has.

use crate::cpu::{port_read32, port_write32};
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::pci::bus::{Command, ConfigurationAccess, DeviceFunction, PciRoot};
use virtio_drivers::transport::pci::{PciTransport, VirtioPciError, virtio_device_type};

use super::memory::KernelMemory;

const ADDRESS_PORT: u16 = 0xcf8;
const DATA_PORT: u16 = 0xcfc;
const ENABLE: u32 = 1 << 31;

/// Offset of the register that names the interrupt line.
const INTERRUPT_OFFSET: u8 = 0x3c;

/// Configuration space through its address and data ports.
pub(crate) struct Ports(());

fn select(function: DeviceFunction, offset: u8) {
    let place = u32::from_be_bytes([
        0,
        function.bus,
        (function.device << 3) | function.function,
        offset & !3,
    ]);
    port_write32(ADDRESS_PORT, ENABLE | place);
}

impl ConfigurationAccess for Ports {
    fn read_word(&self, function: DeviceFunction, offset: u8) -> u32 {
        select(function, offset);
        port_read32(DATA_PORT)
    }

    fn write_word(&mut self, function: DeviceFunction, offset: u8, data: u32) {
        select(function, offset);
        port_write32(DATA_PORT, data);
    }

    unsafe fn unsafe_clone(&self) -> Self {
        Self(())
    }
}

/// A network card that was found, not set up yet.
pub(crate) struct Found {
    root: PciRoot<Ports>,
    function: DeviceFunction,
    line: u8,
}

impl Found {
    /// The interrupt controller's line that it raises.
    pub(crate) fn line(&self) -> u8 {
        self.line
    }

    /// Lets the card use memory and interrupts, and maps its registers.
    ///
    /// The registers answer only after their places have been measured: every
    /// change of what answers where costs the emulator about a millisecond.
    pub(super) fn transport(mut self) -> Result<PciTransport, VirtioPciError> {
        let (_, command) = self.root.get_status_command(self.function);
        let silent = command.difference(Command::IO_SPACE | Command::MEMORY_SPACE);
        self.root.set_command(self.function, silent);
        let transport = PciTransport::new::<KernelMemory, Ports>(&mut self.root, self.function)?;
        let answering = (silent | Command::MEMORY_SPACE | Command::BUS_MASTER)
            .difference(Command::INTERRUPT_DISABLE);
        self.root.set_command(self.function, answering);
        Ok(transport)
    }
}

/// The network cards on bus 0, in the order of their slots.
pub(crate) fn network_cards() -> impl Iterator<Item = Found> {
    PciRoot::new(Ports(()))
        .enumerate_bus(0)
        .filter(|(_, info)| virtio_device_type(info) == Some(DeviceType::Network))
        .map(|(function, _)| {
            let [line, ..] = Ports(())
                .read_word(function, INTERRUPT_OFFSET)
                .to_le_bytes();
            Found {
                root: PciRoot::new(Ports(())),
                function,
                line,
            }
        })
}
