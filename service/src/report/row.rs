//! How a figure is read and where it is told; the rows stand in `table`.

use core::ops::Range;

use ingress_ledger::{Lane, LaneEvidence, LanePermitEvidence, OverloadKind};

use super::evidence::{Evidence, ServiceCounters};
use crate::http::status::Status;

/// How a lane's figure is read: one number, one for each label, or a word.
#[derive(Debug, Clone, Copy)]
pub enum LaneRead {
    /// One number.
    Number(fn(&LaneFigures<'_>) -> u64),
    /// One number a kind of overload.
    Overload(fn(&LaneFigures<'_>, OverloadKind) -> u64),
    /// One number a status; zeros are left out.
    Status(fn(&LaneFigures<'_>, Status) -> u64),
    /// A word.
    Word(fn(&LaneFigures<'_>) -> &'static str),
}

/// How a figure of the whole service is read.
#[derive(Debug, Clone, Copy)]
pub enum ServiceRead {
    /// One number.
    Number(fn(&Evidence) -> u64),
    /// One number a class of statuses.
    Class(fn(&Evidence, StatusClass) -> u64),
    /// A word.
    Word(fn(&Evidence) -> &'static str),
}

/// The hundreds of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusClass(pub u16);

impl StatusClass {
    /// Those that this service sends, or could.
    pub const ALL: [Self; 4] = [Self(2), Self(3), Self(4), Self(5)];
}

/// What a lane's rows are read from.
#[derive(Debug, Clone, Copy)]
pub struct LaneFigures<'a> {
    /// Its requests.
    pub requests: &'a LaneEvidence,
    /// Its connections.
    pub conns: &'a LanePermitEvidence,
    /// What the service counts beside the ledger.
    pub service: &'a ServiceCounters,
}

impl<'a> LaneFigures<'a> {
    /// Those of one lane.
    #[must_use]
    pub fn of(evidence: &'a Evidence, lane: Lane) -> Self {
        Self {
            requests: &evidence.ledger.lanes[lane],
            conns: &evidence.permits.lanes[lane],
            service: &evidence.service[lane],
        }
    }

    /// Refused connections that were closed without their answer: past the ceiling, or because
    /// it was not taken.
    #[must_use]
    pub fn refusals_unanswered(&self) -> u64 {
        let past_ceiling = self.conns.counters.refusals_unanswered;
        past_ceiling.saturating_add(self.service.refusals_unsent)
    }
}

/// Which lanes show a figure on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// Those that have a listener.
    Served,
    /// All: that a lane without one was never charged is worth seeing.
    Every,
}

/// One figure: how it is read, and where it is told.
#[derive(Debug, Clone, Copy)]
pub struct Row<R> {
    /// How it is read.
    pub read: R,
    /// Which lanes show it.
    pub shows: Shows,
    /// Its key on the evidence line, if it is there; a label and a lane may follow.
    pub line: Option<&'static str>,
    /// Its key in a lane's object of `GET /api/ingress`, if it is there.
    pub json: Option<&'static str>,
    /// Its first number in `evidence.capnp`, and the one past its last.
    pub(super) fields: (u16, u16),
}

impl<R> Row<R> {
    /// Its numbers in `evidence.capnp`, one for each number that it reads as; none if it is not
    /// there.
    #[must_use]
    pub const fn fields(&self) -> Range<u16> {
        self.fields.0..self.fields.1
    }
}
