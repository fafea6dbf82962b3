//! Raw Ethernet frames, well-formed and not, and the way to put them before a NIC.

use std::net::Ipv4Addr;

pub(crate) mod attack;
mod build;
pub(crate) mod capture;
pub(crate) mod flow;
pub(crate) mod garbage;
mod injector;
pub(crate) mod peer;
mod raw;
mod relay;

pub(crate) use build::{Flags, MORE_FRAGMENTS, Segment};
pub(crate) use flow::Flow;
pub(crate) use injector::Injector;
pub(crate) use peer::Peer;
pub(crate) use raw::RawSender;
pub(crate) use relay::{Badness, Relay};

/// The address of the guest's NIC `number`, set on the emulator's command line.
pub(crate) fn guest_mac(number: u8) -> [u8; 6] {
    [0x52, 0x54, 0x00, 0x00, 0x00, number]
}

/// The address, in the public NIC's network, of a peer that the harness plays.
pub(crate) const PEER_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 77);

/// The hardware address that injected frames come from.
pub(crate) const PEER_MAC: [u8; 6] = [0x02, 0x00, 0x00, 0x00, 0x77, 0x01];
