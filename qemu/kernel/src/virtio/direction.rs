//! The two directions of a card, each with a queue of its own.

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The card writes buffers.
    Receive,
    /// The card reads buffers.
    Transmit,
}

impl Direction {
    /// The queue's number on a network card (5.1.2).
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::Receive => 0,
            Self::Transmit => 1,
        }
    }
}
