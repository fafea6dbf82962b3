//! Reservations: the move-only token of one admitted request, and a connection's count of
//! them (keeps L5).

use crate::issuer::Seal;
use crate::lane::Lane;
use crate::units::{Owner, Requests};

/// Names a reservation without holding it: what dispatch reports. Compare it with
/// [`IngressReservation::ticket`]; a copy that outlives its reservation names nothing, until
/// its place in the table has been given away 2^32 times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TicketId {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// One admitted request. Waits as a ticket until it holds a slot; ends once, by
/// [`complete`](crate::IngressLedger::complete) or [`cancel`](crate::IngressLedger::cancel).
///
/// Dropping it instead leaks its charge, which is counted and fails a debug build.
#[must_use = "a reservation must be completed or cancelled"]
#[derive(Debug)]
pub struct IngressReservation<'a> {
    pub(crate) seal: Seal<'a>,
    pub(crate) ticket: TicketId,
}

impl IngressReservation<'_> {
    /// The ticket under which dispatch reports this reservation.
    #[must_use]
    pub const fn ticket(&self) -> TicketId {
        self.ticket
    }
}

/// What one connection has outstanding. Kept by the caller beside the connection; fixes the
/// connection's lane and tag for its whole life.
#[derive(Debug, PartialEq, Eq)]
pub struct ConnectionUse {
    lane: Lane,
    owner: Owner,
    pub(crate) outstanding: u32,
}

impl ConnectionUse {
    /// A connection without requests, accepted on `lane`. `owner` is the caller's own tag,
    /// by which a ledger tells a token's connection from others: one that is alive has it
    /// alone.
    #[must_use]
    pub const fn new(lane: Lane, owner: Owner) -> Self {
        ConnectionUse {
            lane,
            owner,
            outstanding: 0,
        }
    }

    /// The lane that every request of this connection is charged to.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// The caller's tag.
    #[must_use]
    pub const fn owner(&self) -> Owner {
        self.owner
    }

    /// Requests admitted and not yet ended.
    #[must_use]
    pub const fn outstanding(&self) -> Requests {
        Requests::new(self.outstanding)
    }
}

/// How the API was misused; nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misuse {
    /// The token belongs to another ledger.
    ForeignToken,
    /// The reservation was admitted on another connection.
    WrongConnection,
    /// A request that never held a slot cannot have been served; cancel it.
    NotServing,
}

impl Misuse {
    /// What the calling code does wrong.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Misuse::ForeignToken => "the token was issued by another ledger; release it there",
            Misuse::WrongConnection => {
                "the reservation was admitted on another connection; release it with that one"
            }
            Misuse::NotServing => {
                "the reservation holds no slot, so nothing was served; cancel it instead"
            }
        }
    }
}

impl core::fmt::Display for Misuse {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.explain())
    }
}

impl core::error::Error for Misuse {}

/// A release that was refused without effect, with the token, which is still to be released:
/// passed on as an error and dropped, it is a leak. A debug build panics instead.
#[must_use = "holds a token that is still to be released"]
#[derive(Debug)]
pub struct ReleaseRefused<T> {
    /// The token, unchanged.
    pub token: T,
    /// What was wrong.
    pub misuse: Misuse,
}

impl<T> ReleaseRefused<T> {
    /// Fails a debug build; else hands the token back.
    #[track_caller]
    #[cold]
    pub(crate) fn new(token: T, misuse: Misuse) -> Self {
        debug_assert!(false, "{}", misuse.explain());
        ReleaseRefused { token, misuse }
    }
}

impl<T> core::fmt::Display for ReleaseRefused<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(&self.misuse, f)
    }
}

impl<T: core::fmt::Debug> core::error::Error for ReleaseRefused<T> {}
