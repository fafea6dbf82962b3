//! Raw Ethernet frames, well-formed and not, and the way to put them before a NIC.

pub(crate) mod attack;
mod build;
pub(crate) mod garbage;
mod injector;
mod relay;

pub(crate) use build::{Flags, Segment};
pub(crate) use injector::Injector;
pub(crate) use relay::{Badness, Relay};

/// The address of the guest's NIC `number`, set on the emulator's command line.
pub(crate) fn guest_mac(number: u8) -> [u8; 6] {
    [0x52, 0x54, 0x00, 0x00, 0x00, number]
}

/// The address that injected frames come from.
pub(crate) const PEER_MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x00, 0x77, 0x01];
