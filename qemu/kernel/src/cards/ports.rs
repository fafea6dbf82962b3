//! PCI configuration space through the two ports that every PC has.

use crate::cpu::{port_read32, port_write32};
use virtio_drivers::transport::pci::bus::{ConfigurationAccess, DeviceFunction};

const ADDRESS_PORT: u16 = 0xcf8;
const DATA_PORT: u16 = 0xcfc;
const ENABLE: u32 = 1 << 31;

/// Configuration space through its address and data ports.
#[derive(Clone, Copy)]
pub(super) struct Ports;

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
        *self
    }
}
