//! When cards interrupt.

use harness_net::TransportId;

use super::card::{self, Network};

fn transports(network: &Network) -> impl Iterator<Item = TransportId> + use<> {
    let count = u8::try_from(network.stack.transport_count()).unwrap_or(u8::MAX);
    (0..count).map(TransportId)
}

/// Lowers the lines of the cards that interrupted over `lines`; whether any may
/// have.
pub(crate) fn acknowledge(network: &mut Network, lines: u32) -> bool {
    if lines & u32::from(network.interrupt_lines()) == 0 {
        return false;
    }
    for transport in transports(network) {
        if let Some(card) = network.stack.device_mut(transport)
            && lines >> (card.line() & 15) & 1 == 1
        {
            card.acknowledge();
        }
    }
    true
}

/// Lets the cards that do not rest interrupt at their next frame; false if one
/// has received meanwhile.
pub(crate) fn arm_cards(network: &mut Network, now: u64) -> bool {
    let resting = network.resting(now);
    transports(network).all(|transport| {
        resting.contains(transport) || network.stack.device_mut(transport).is_none_or(card::arm)
    })
}
