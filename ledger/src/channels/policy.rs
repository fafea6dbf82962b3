//! Channel policies: the quota of one identity over all its connections (keeps C1, C3).

use core::cell::Cell;
use core::hash::Hash;

use super::error::{ChannelError, PolicyError};
use super::manager::Channels;
use super::table::{IdentityTable, Line, Place};
use crate::counters::{bump, raise};

/// Channels that one identity may have open, where nothing else is said.
pub const CHANNELS_PER_IDENTITY: Channels = Channels::new(256);

/// Channels that one connection may have, whatever its identity may: a bound on memory.
pub const CHANNELS_PER_CONNECTION: Channels = Channels::new(256);

/// Asked before a channel is allocated, told after it is drained. A channel is a resource;
/// this is its quota.
///
/// One policy is shared by every connection that a service accepts: pass a reference to it,
/// or an `Rc` of it, for which the trait is implemented too. Both methods take `&self` so
/// that it can be.
pub trait ChannelLifecyclePolicy<I> {
    /// Counts one more channel of the direct caller.
    ///
    /// # Errors
    /// [`ChannelError::TooManyChannels`], and nothing is counted.
    fn check_open(&self, identity: &I) -> Result<(), ChannelError>;

    /// Counts one channel of that identity less.
    fn on_close(&self, identity: &I);
}

impl<I, P> ChannelLifecyclePolicy<I> for P
where
    P: core::ops::Deref<Target: ChannelLifecyclePolicy<I>>,
{
    fn check_open(&self, identity: &I) -> Result<(), ChannelError> {
        (**self).check_open(identity)
    }

    fn on_close(&self, identity: &I) {
        (**self).on_close(identity);
    }
}

/// No cap at all: an explicit choice, for tests and for one trusted peer. The bound of each
/// connection still holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoCap;

impl<I> ChannelLifecyclePolicy<I> for NoCap {
    fn check_open(&self, _identity: &I) -> Result<(), ChannelError> {
        Ok(())
    }

    fn on_close(&self, _identity: &I) {}
}

/// A cap for each identity, shared by all its connections.
///
/// An identity is a small value, not a name of any length: what an authenticated caller is
/// known by. The table holds `IDENTITIES` of them at once. A full table refuses further identities:
/// it never forgets a count to make room. For one thread at a time; threads share it behind
/// a lock of their own.
#[derive(Debug)]
pub struct PerIdentityChannelPolicy<I: Copy, const IDENTITIES: usize> {
    cap: u32,
    table: IdentityTable<I, IDENTITIES>,
    denied_at_cap: Cell<u64>,
    denied_table_full: Cell<u64>,
    opened: Cell<u64>,
    closed: Cell<u64>,
    high_water: Cell<u64>,
    faults: Cell<u64>,
}

/// A policy's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PolicyEvidence {
    /// Channels counted.
    pub opened: u64,
    /// Channels given back.
    pub closed: u64,
    /// Opens refused because the identity was at its cap.
    pub denied_at_cap: u64,
    /// Opens refused because the table had no line left for a new identity.
    pub denied_table_full: u64,
    /// Most channels that one identity had open.
    pub high_water: u64,
    /// Channels given back that were not counted: always zero.
    pub faults: u64,
}

impl<I: Copy + Eq + Hash, const IDENTITIES: usize> PerIdentityChannelPolicy<I, IDENTITIES> {
    /// The same cap for each identity. A cap of zero admits nothing.
    #[must_use]
    pub const fn new(cap: Channels) -> Self {
        PerIdentityChannelPolicy {
            cap: cap.count(),
            table: IdentityTable::new(),
            denied_at_cap: Cell::new(0),
            denied_table_full: Cell::new(0),
            opened: Cell::new(0),
            closed: Cell::new(0),
            high_water: Cell::new(0),
            faults: Cell::new(0),
        }
    }

    /// [`CHANNELS_PER_IDENTITY`] for each identity but those named.
    ///
    /// # Errors
    /// As [`PerIdentityChannelPolicy::with_caps`].
    pub fn with_per_identity_caps(caps: &[(I, Channels)]) -> Result<Self, PolicyError> {
        PerIdentityChannelPolicy::default().with_caps(caps)
    }

    /// The same policy with caps of their own for the identities named: for instance more
    /// for a relay, which opens channels for many. Their lines stay in the table.
    ///
    /// # Errors
    /// [`PolicyError`] if the table does not hold the named identities, once each.
    pub fn with_caps(self, caps: &[(I, Channels)]) -> Result<Self, PolicyError> {
        for (identity, cap) in caps {
            let (place, line) = self.find(identity).ok_or(PolicyError::TableTooSmall)?;
            if line.own_cap.is_some() {
                return Err(PolicyError::DuplicateIdentity);
            }
            let own_cap = Some(cap.count());
            self.table.set(place, Line { own_cap, ..line });
        }
        Ok(self)
    }

    /// Channels that the identity has open.
    #[must_use]
    pub fn open(&self, identity: &I) -> Channels {
        Channels::new(self.find(identity).map_or(0, |(_, line)| line.open))
    }

    /// The identity's line, or the one that it would be given. `None` if the table is full.
    #[inline]
    fn find(&self, identity: &I) -> Option<(usize, Line<I>)> {
        let new = Line {
            identity: *identity,
            open: 0,
            own_cap: None,
        };
        match self.table.find(identity) {
            Place::Taken(place) => Some((place, self.table.line(place)?)),
            Place::Vacant(place) => Some((place, new)),
            Place::Full => None,
        }
    }

    /// Identities that have a line: with a channel open, or with a cap of their own.
    #[must_use]
    pub fn identities(&self) -> usize {
        self.table.iter().count()
    }

    /// All counters.
    #[must_use]
    pub fn evidence(&self) -> PolicyEvidence {
        PolicyEvidence {
            opened: self.opened.get(),
            closed: self.closed.get(),
            denied_at_cap: self.denied_at_cap.get(),
            denied_table_full: self.denied_table_full.get(),
            high_water: self.high_water.get(),
            faults: self.faults.get(),
        }
    }

    #[cold]
    fn deny(counter: &Cell<u64>) -> ChannelError {
        counter.set(counter.get().wrapping_add(1));
        ChannelError::TooManyChannels
    }
}

impl<I: Copy + Eq + Hash, const IDENTITIES: usize> Default
    for PerIdentityChannelPolicy<I, IDENTITIES>
{
    fn default() -> Self {
        PerIdentityChannelPolicy::new(CHANNELS_PER_IDENTITY)
    }
}

impl<I: Copy + Eq + Hash, const IDENTITIES: usize> ChannelLifecyclePolicy<I>
    for PerIdentityChannelPolicy<I, IDENTITIES>
{
    fn check_open(&self, identity: &I) -> Result<(), ChannelError> {
        let Some((place, line)) = self.find(identity) else {
            return Err(Self::deny(&self.denied_table_full));
        };
        if line.open >= line.own_cap.unwrap_or(self.cap) {
            return Err(Self::deny(&self.denied_at_cap));
        }
        let open = line.open.wrapping_add(1);
        self.table.set(place, Line { open, ..line });
        update(&self.opened, bump);
        update(&self.high_water, |mark| raise(mark, open.into()));
        Ok(())
    }

    fn on_close(&self, identity: &I) {
        let found = self.find(identity);
        let counted =
            found.and_then(|(place, line)| Some((place, line, line.open.checked_sub(1)?)));
        let Some((place, line, open)) = counted else {
            update(&self.faults, bump);
            debug_assert!(false, "a channel was given back that was not counted");
            return;
        };
        if open == 0 && line.own_cap.is_none() {
            self.table.remove(place);
        } else {
            self.table.set(place, Line { open, ..line });
        }
        update(&self.closed, bump);
    }
}

fn update(cell: &Cell<u64>, change: impl FnOnce(&mut u64)) {
    let mut value = cell.get();
    change(&mut value);
    cell.set(value);
}
