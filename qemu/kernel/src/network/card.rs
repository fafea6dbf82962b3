//! Network cards. A machine without one has the loopback alone.

use harness_net::FrameDevice;

/// A card that cannot be: no driver is linked in.
pub(crate) enum Card {}

impl FrameDevice for Card {
    type Frame = [u8; 0];

    fn mac(&self) -> [u8; 6] {
        match *self {}
    }

    fn receive(&mut self) -> Option<Self::Frame> {
        match *self {}
    }

    fn recycle(&mut self, _frame: Self::Frame) {
        match *self {}
    }

    fn can_transmit(&mut self) -> bool {
        match *self {}
    }

    fn transmit<R>(&mut self, _len: usize, _fill: impl FnOnce(&mut [u8]) -> R) -> R {
        match *self {}
    }

    fn flush(&mut self) {
        match *self {}
    }
}

/// Whether a halt would miss nothing of the card.
pub(crate) fn may_halt(card: &mut Card) -> bool {
    match *card {}
}

/// Adds the machine's cards to the network.
pub(crate) const fn add_cards(_network: &mut super::Network) {}
