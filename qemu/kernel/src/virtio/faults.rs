//! What a card does that no card may, by name.

use crate::virtio::direction::Direction;

/// One thing that a card must not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardFault {
    /// It returned a buffer that it does not have: never given, or returned before.
    Unknown(Direction),
    /// It claims a frame shorter than the header before every frame.
    Short,
    /// It claims to have written more than it was lent.
    Long,
    /// The queue has no room for a buffer of its own.
    Full(Direction),
}

impl CardFault {
    /// One sentence for the console.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Unknown(Direction::Receive) => {
                "it returned a receive buffer that it was not given"
            }
            Self::Unknown(Direction::Transmit) => {
                "it returned a transmit buffer that it was not given"
            }
            Self::Short => "it received less than a header",
            Self::Long => "it received more than it was lent",
            Self::Full(Direction::Receive) => {
                "its receive queue has no room for a buffer of its own"
            }
            Self::Full(Direction::Transmit) => {
                "its transmit queue has no room for a buffer of its own"
            }
        }
    }
}

/// How often a card did each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CardFaults {
    /// [`CardFault::Unknown`].
    pub unknown: u64,
    /// [`CardFault::Short`].
    pub short: u64,
    /// [`CardFault::Long`].
    pub long: u64,
    /// [`CardFault::Full`].
    pub full: u64,
}

impl CardFaults {
    pub(super) fn count(&mut self, fault: CardFault) {
        let counter = match fault {
            CardFault::Unknown(_) => &mut self.unknown,
            CardFault::Short => &mut self.short,
            CardFault::Long => &mut self.long,
            CardFault::Full(_) => &mut self.full,
        };
        *counter = counter.saturating_add(1);
    }
}
