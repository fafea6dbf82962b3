//! Permits: the move-only tokens of one served and of one refused connection (keeps P1).

use crate::issuer::Seal;
use crate::lane::Lane;
use crate::reservation::ConnectionUse;
use crate::units::{Instant, Owner};

/// One accepted connection, on its lane. Released at the connection's one end.
///
/// Dropping it instead leaks the connection's place, which is counted and fails a debug
/// build.
#[must_use = "a permit must be released"]
#[derive(Debug)]
pub struct ConnectionPermit<'a> {
    pub(super) seal: Seal<'a>,
    pub(super) lane: Lane,
}

impl ConnectionPermit<'_> {
    /// The lane of the listener that accepted the connection.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// The connection's count of requests, on the permit's lane. One a connection.
    #[must_use]
    pub const fn connection_use(&self, owner: Owner) -> ConnectionUse {
        ConnectionUse::new(self.lane, owner)
    }
}

/// The right to answer one refused connection until a deadline. Released like a permit.
#[must_use = "a refusal permit must be released"]
#[derive(Debug)]
pub struct RefusalPermit<'a> {
    pub(super) seal: Seal<'a>,
    pub(super) lane: Lane,
    pub(super) deadline: Instant,
}

impl RefusalPermit<'_> {
    /// The lane of the listener that accepted the refused connection.
    #[must_use]
    pub const fn lane(&self) -> Lane {
        self.lane
    }

    /// When the connection is closed, answered or not.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }
}
