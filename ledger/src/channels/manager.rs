//! The channel manager: the channels of one connection. Knows no identity (keeps C4: an id is
//! reused only after its channel has drained, and then as late as possible).

use super::error::{ChannelError, CloseError};
use super::policy::CHANNELS_PER_CONNECTION;

/// A number of channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channels(u32);

impl Channels {
    /// Wraps a plain number.
    #[must_use]
    pub const fn new(count: u32) -> Self {
        Channels(count)
    }

    /// The plain number.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0
    }
}

/// Names a channel on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(u32);

impl ChannelId {
    /// An id as it came over the wire; it may name no channel.
    #[must_use]
    pub const fn from_wire(id: u32) -> Self {
        ChannelId(id)
    }

    /// The id as it goes over the wire.
    #[must_use]
    pub const fn to_wire(self) -> u32 {
        self.0
    }
}

/// What a place is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nobody's; the place freed after it, if any.
    Free { next: u32 },
    /// Carries data.
    Open,
    /// Closed; bytes are still on their way out of it.
    Draining,
}

const NONE: u32 = u32::MAX;

/// At most `CHANNELS` channels of one connection.
///
/// ```text
///   Free --open--> Open --close--> Draining --drained--> Free
/// ```
#[derive(Debug)]
pub struct ChannelManager<const CHANNELS: usize = 256> {
    bound: u32,
    places: [State; CHANNELS],
    free_head: u32,
    free_tail: u32,
    fresh: u32,
    held: u32,
}

impl<const CHANNELS: usize> ChannelManager<CHANNELS> {
    /// A connection without channels. It may have `bound` of them, and at most `CHANNELS`.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "compared with u32::MAX first"
    )]
    pub const fn new(bound: Channels) -> Self {
        let most = if CHANNELS < NONE as usize {
            CHANNELS as u32
        } else {
            NONE
        };
        ChannelManager {
            bound: if bound.count() < most {
                bound.count()
            } else {
                most
            },
            places: [const { State::Free { next: NONE } }; CHANNELS],
            free_head: NONE,
            free_tail: NONE,
            fresh: 0,
            held: 0,
        }
    }

    /// Channels that hold memory: open ones and draining ones.
    #[must_use]
    pub const fn held(&self) -> Channels {
        Channels(self.held)
    }

    /// Whether one more channel fits.
    #[must_use]
    pub const fn can_open(&self) -> bool {
        self.held < self.bound
    }

    /// Opens a channel under an id that is not in use.
    ///
    /// # Errors
    /// [`ChannelError::TooManyChannels`] at the connection's bound.
    pub fn open(&mut self) -> Result<ChannelId, ChannelError> {
        if !self.can_open() {
            return Err(ChannelError::TooManyChannels);
        }
        // Ids never used go first, then the one that was freed longest ago.
        let id = if (self.fresh as usize) < CHANNELS {
            self.fresh
        } else {
            self.free_head
        };
        let place = self
            .places
            .get_mut(id as usize)
            .ok_or(ChannelError::TooManyChannels)?;
        let State::Free { next } = core::mem::replace(place, State::Open) else {
            debug_assert!(false, "a free place is free");
            return Err(ChannelError::TooManyChannels);
        };
        if id == self.fresh {
            self.fresh = self.fresh.wrapping_add(1);
        } else {
            self.free_head = next;
            if next == NONE {
                self.free_tail = NONE;
            }
        }
        self.held = self.held.wrapping_add(1);
        Ok(ChannelId(id))
    }

    /// Stops a channel. It drains, and counts, until [`ChannelManager::drained`].
    ///
    /// # Errors
    /// [`CloseError`] if no such channel is open.
    pub fn close(&mut self, channel: ChannelId) -> Result<(), CloseError> {
        match self.places.get_mut(channel.0 as usize) {
            Some(place @ State::Open) => {
                *place = State::Draining;
                Ok(())
            }
            Some(State::Draining) => Err(CloseError::AlreadyClosing),
            Some(State::Free { .. }) | None => Err(CloseError::UnknownChannel),
        }
    }

    /// Ends a channel whose bytes are all out. Its id may be reused from now on.
    ///
    /// # Errors
    /// [`CloseError`] if no such channel drains.
    pub fn drained(&mut self, channel: ChannelId) -> Result<(), CloseError> {
        match self.places.get_mut(channel.0 as usize) {
            Some(place @ State::Draining) => *place = State::Free { next: NONE },
            Some(State::Open) => return Err(CloseError::NotClosing),
            Some(State::Free { .. }) | None => return Err(CloseError::UnknownChannel),
        }
        match self.places.get_mut(self.free_tail as usize) {
            Some(State::Free { next }) => *next = channel.0,
            _ => self.free_head = channel.0,
        }
        self.free_tail = channel.0;
        self.held = self.held.wrapping_sub(1);
        Ok(())
    }

    /// Whether the channel is open or draining.
    #[must_use]
    pub fn is_held(&self, channel: ChannelId) -> bool {
        matches!(
            self.places.get(channel.0 as usize),
            Some(State::Open | State::Draining)
        )
    }

    /// Whether the channel carries data.
    #[must_use]
    pub fn is_open(&self, channel: ChannelId) -> bool {
        matches!(self.places.get(channel.0 as usize), Some(State::Open))
    }
}

impl<const CHANNELS: usize> Default for ChannelManager<CHANNELS> {
    fn default() -> Self {
        ChannelManager::new(CHANNELS_PER_CONNECTION)
    }
}
