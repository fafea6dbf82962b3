//! Network cards as the kernel uses them: found and addressed at boot, polled
//! while processes run, armed to interrupt before a halt.

use core::net::Ipv4Addr;

use harness_net::NicConfig;

use super::Network;
use crate::device::console::print_line;
use crate::virtio::card::{Arrivals, NetworkCard};
use crate::virtio::pci;

/// The cards that there can be.
pub(crate) type Card = NetworkCard;

/// Whether a halt would miss nothing of the card: from here on it interrupts.
pub(crate) fn may_halt(card: &mut Card) -> bool {
    card.arm() == Arrivals::None
}

/// Adds the machine's cards to the network, as transports 1, 2, … in the order
/// of their slots. One that cannot be used is named on the console and left out.
pub(crate) fn add_cards(network: &mut Network) {
    for found in pci::network_cards() {
        let card = match NetworkCard::start(found) {
            Ok(card) => card,
            Err(error) => {
                print_line!("{error}");
                continue;
            }
        };
        let line = card.line();
        let config = address_of(network.stack.transport_count());
        match network.stack.add_nic(config, card) {
            Ok(transport) => {
                network.add_interrupt_line(line);
                print_line!("{transport} address={} line={line}", config.address);
            }
            Err(error) => print_line!("network card: {error}"),
        }
    }
}

/// The fixed address of the card that becomes transport `number`.
fn address_of(number: usize) -> NicConfig {
    let subnet = u8::try_from(number).unwrap_or(u8::MAX).saturating_add(1);
    NicConfig {
        address: Ipv4Addr::new(10, 0, subnet, 15),
        prefix_len: 24,
        gateway: Some(Ipv4Addr::new(10, 0, subnet, 2)),
    }
}
