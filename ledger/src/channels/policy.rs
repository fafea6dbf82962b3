//! Channel policies: the quota of one identity over all its connections (keeps C1, C3).

use core::sync::atomic::{AtomicU32, Ordering};

use super::error::{ChannelError, PolicyError};
use super::identity::Identity;
use super::lock::{Counter, Lock, Turn};
use super::manager::Channels;
use super::table::{IdentityTable, Line, Place};

/// Channels that one identity may have open, where nothing else is said.
pub const CHANNELS_PER_IDENTITY: Channels = Channels::new(256);

/// Channels that one connection may have, whatever its identity may: a bound on memory.
pub const CHANNELS_PER_CONNECTION: Channels = Channels::new(256);

/// Asked after access control and before a channel is allocated, told after it is drained. A
/// channel is a resource; this is its quota.
///
/// One policy is shared by every connection that a service accepts, whichever thread serves it:
/// pass an `Arc` of it or a reference to a `static`, for which the trait is implemented too.
pub trait ChannelLifecyclePolicy: Send + Sync + 'static {
    /// Counts one more channel of the direct caller.
    ///
    /// # Errors
    /// [`ChannelError::TooManyChannels`], and nothing is counted.
    fn check_open(&self, identity: &Identity) -> Result<(), ChannelError>;

    /// Counts one channel of that identity less.
    fn on_close(&self, identity: &Identity);
}

impl<P> ChannelLifecyclePolicy for P
where
    P: core::ops::Deref<Target: ChannelLifecyclePolicy> + Send + Sync + 'static,
{
    fn check_open(&self, identity: &Identity) -> Result<(), ChannelError> {
        (**self).check_open(identity)
    }

    fn on_close(&self, identity: &Identity) {
        (**self).on_close(identity);
    }
}

/// No cap at all: an explicit choice, for tests and for one trusted peer. The bound of each
/// connection still holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoCap;

impl ChannelLifecyclePolicy for NoCap {
    fn check_open(&self, _identity: &Identity) -> Result<(), ChannelError> {
        Ok(())
    }

    fn on_close(&self, _identity: &Identity) {}
}

/// A cap for each identity, shared by all its connections and by all threads that serve them.
///
/// The table holds `IDENTITIES` at once. A full table refuses further identities: it never
/// forgets a count to make room.
///
/// Whoever finds another thread at the table spins for as long as that one searches it. So a
/// handler of interrupts must not call it, nor a thread that never lets the one run that it
/// interrupted.
#[derive(Debug)]
pub struct PerIdentityChannelPolicy<const IDENTITIES: usize> {
    cap: u32,
    lock: Lock,
    table: IdentityTable<IDENTITIES>,
    denied_at_cap: Counter,
    denied_table_full: Counter,
    opened: Counter,
    closed: Counter,
    high_water: AtomicU32,
    faults: Counter,
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

impl<const IDENTITIES: usize> PerIdentityChannelPolicy<IDENTITIES> {
    /// The same cap for each identity. A cap of zero admits nothing.
    #[must_use]
    pub const fn new(cap: Channels) -> Self {
        PerIdentityChannelPolicy {
            cap: cap.count(),
            lock: Lock::free(),
            table: IdentityTable::new(),
            denied_at_cap: Counter::zero(),
            denied_table_full: Counter::zero(),
            opened: Counter::zero(),
            closed: Counter::zero(),
            high_water: AtomicU32::new(0),
            faults: Counter::zero(),
        }
    }

    /// [`CHANNELS_PER_IDENTITY`] for each identity but those named.
    ///
    /// # Errors
    /// As [`PerIdentityChannelPolicy::with_caps`].
    pub fn with_per_identity_caps(caps: &[(Identity, Channels)]) -> Result<Self, PolicyError> {
        PerIdentityChannelPolicy::default().with_caps(caps)
    }

    /// The same policy with caps of their own for the identities named: for instance more
    /// for a relay, which opens channels for many. Their lines stay in the table.
    ///
    /// # Errors
    /// [`PolicyError`] if the table does not hold the named identities, once each.
    pub fn with_caps(self, caps: &[(Identity, Channels)]) -> Result<Self, PolicyError> {
        let turn = self.lock.take();
        for (identity, cap) in caps {
            let (place, line) = self
                .find(&turn, identity)
                .ok_or(PolicyError::TableTooSmall)?;
            if line.own_cap.is_some() {
                return Err(PolicyError::DuplicateIdentity);
            }
            let own_cap = Some(cap.count());
            self.table.set(&turn, place, Line { own_cap, ..line });
        }
        drop(turn);
        Ok(self)
    }

    /// Channels that the identity has open.
    #[must_use]
    pub fn open(&self, identity: &Identity) -> Channels {
        let found = self.find(&self.lock.take(), identity);
        Channels::new(found.map_or(0, |(_, line)| line.open))
    }

    /// The identity's line, or the one that it would be given. `None` if the table is full.
    #[inline]
    fn find(&self, turn: &Turn<'_>, identity: &Identity) -> Option<(usize, Line)> {
        let new = Line {
            identity: *identity,
            open: 0,
            own_cap: None,
        };
        match self.table.find(turn, identity) {
            Place::Taken(place) => Some((place, self.table.line(turn, place)?)),
            Place::Vacant(place) => Some((place, new)),
            Place::Full => None,
        }
    }

    /// Identities that have a line: with a channel open, or with a cap of their own.
    #[must_use]
    pub fn identities(&self) -> usize {
        self.table.lines(&self.lock.take())
    }

    /// All counters, as they were at one moment.
    #[must_use]
    pub fn evidence(&self) -> PolicyEvidence {
        let turn = self.lock.take();
        PolicyEvidence {
            opened: self.opened.count(&turn),
            closed: self.closed.count(&turn),
            denied_at_cap: self.denied_at_cap.count(&turn),
            denied_table_full: self.denied_table_full.count(&turn),
            high_water: self.high_water.load(Ordering::Relaxed).into(),
            faults: self.faults.count(&turn),
        }
    }

    /// Counts one channel of the identity less. False, and without effect, if it has none.
    fn give_back(&self, turn: &Turn<'_>, identity: &Identity) -> bool {
        let found = self.find(turn, identity);
        let counted =
            found.and_then(|(place, line)| Some((place, line, line.open.checked_sub(1)?)));
        let Some((place, line, open)) = counted else {
            self.faults.bump(turn);
            return false;
        };
        if open == 0 && line.own_cap.is_none() {
            self.table.remove(turn, place);
        } else {
            self.table.set(turn, place, Line { open, ..line });
        }
        self.closed.bump(turn);
        true
    }
}

impl<const IDENTITIES: usize> Default for PerIdentityChannelPolicy<IDENTITIES> {
    fn default() -> Self {
        PerIdentityChannelPolicy::new(CHANNELS_PER_IDENTITY)
    }
}

impl<const IDENTITIES: usize> ChannelLifecyclePolicy for PerIdentityChannelPolicy<IDENTITIES> {
    fn check_open(&self, identity: &Identity) -> Result<(), ChannelError> {
        let turn = self.lock.take();
        let Some((place, line)) = self.find(&turn, identity) else {
            self.denied_table_full.bump(&turn);
            return Err(ChannelError::TooManyChannels);
        };
        if line.open >= line.own_cap.unwrap_or(self.cap) {
            self.denied_at_cap.bump(&turn);
            return Err(ChannelError::TooManyChannels);
        }
        let open = line.open.wrapping_add(1);
        self.table.set(&turn, place, Line { open, ..line });
        self.opened.bump(&turn);
        let high_water = self.high_water.load(Ordering::Relaxed).max(open);
        self.high_water.store(high_water, Ordering::Relaxed);
        Ok(())
    }

    fn on_close(&self, identity: &Identity) {
        let counted = self.give_back(&self.lock.take(), identity);
        debug_assert!(counted, "a channel was given back that was not counted");
    }
}
