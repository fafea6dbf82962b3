//! The machine's network cards, as transports of the stack.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use harness_kernel::virtio::card::Arrivals;
use harness_kernel::virtio::faults::CardFaults;
use harness_net::{NetStack, NicConfig, TRANSPORTS_MAX};

pub(crate) use crate::cards::Card;
use crate::cards::network_cards;
use crate::device::console::print_line;

/// The network over the machine's cards.
pub(crate) type Network = harness_kernel::sockets::network::Network<NetStack<Card>>;

const PREFIX: u8 = 24;

/// Starts the machine's cards, in the order of their slots. One that cannot be
/// used is told of and ends the list: were those behind it to move up, a listen
/// grant would silently mean another card. A grant on a card that is not in the
/// list refuses the boot.
pub(crate) fn start_cards() -> Vec<Card> {
    let mut cards = Vec::new();
    // One more than the network takes, which then says so.
    for (number, card) in (1_u8..).zip(network_cards().take(TRANSPORTS_MAX)) {
        match card {
            Ok(card) => cards.push(card),
            Err(error) => {
                print_line!("nic{number} unusable: {error}");
                break;
            }
        }
    }
    cards
}

/// Adds the cards to the network, in their order; as above, one that cannot be
/// added ends the list.
pub(crate) fn add_cards(network: &mut Network, cards: Vec<Card>) {
    for (number, card) in (1_u8..).zip(cards) {
        let line = card.line();
        let address = address_of(number, 15);
        let config = NicConfig {
            address,
            prefix_len: PREFIX,
            gateway: Some(address_of(number, 2)),
        };
        match network.stack.add_nic(config, card) {
            Ok(transport) => {
                network.add_interrupt_line(line);
                print_line!("{transport} address={address}/{PREFIX} line={line}");
            }
            Err(error) => {
                print_line!("nic{number} unusable: {error}");
                return;
            }
        }
    }
}

/// Addresses are fixed: card n is in 10.0.(1+n).0/24.
const fn address_of(number: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, number.saturating_add(1), host)
}

/// Lets the card interrupt; false if frames are there already.
pub(crate) fn arm(card: &mut Card) -> bool {
    card.arm() == Arrivals::None
}

/// Prints what a card did that it must not, if it did.
pub(crate) fn print_faults(card: &Card) {
    let faults = card.faults();
    if faults != CardFaults::default() {
        print_line!(
            "network card line={} unknown={} short={} long={} full={}",
            card.line(),
            faults.unknown,
            faults.short,
            faults.long,
            faults.full
        );
    }
}
