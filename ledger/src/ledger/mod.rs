//! The ledger: admission, dispatch and release of requests (keeps L1 to L7).
//!
//! `admission` decides and charges, `denial` charges what is answered without it, `dispatch`
//! gives slots to waiting tickets, `release` ends a reservation; `evidence` reports.

mod admission;
mod denial;
mod dispatch;
mod evidence;
#[cfg(test)]
mod explore;
mod fair;
mod release;
mod table;

pub use dispatch::{Chosen, Selected};
pub use evidence::{EvidenceSnapshot, LaneEvidence, StatusRow};

use crate::counters::LaneCounters;
use crate::issuer::{Issuer, Name};
use crate::lane::{Lane, PerLane};
use crate::partition::Partition;
use crate::profile::{Resource, ValidatedProfile};
use crate::rate::TokenBucket;
use crate::units::{IngressFootprint, Instant, Span, Tickets};
use fair::FairArbiter;
use table::TicketTable;

/// What a lane's requests must keep to, copied out of the profile.
#[derive(Clone, Copy, Debug)]
struct LaneRules {
    deadline: Span,
    footprint: u64,
    queue: u32,
    per_connection: u32,
}

impl LaneRules {
    /// A lane that does not exist: its share, of nothing, is what refuses.
    const CLOSED: LaneRules = LaneRules {
        deadline: Span::ZERO,
        footprint: 0,
        queue: 0,
        per_connection: u32::MAX,
    };
}

/// What the ledger keeps of one lane, beside its shares.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
struct Books {
    rules: LaneRules,
    rate: TokenBucket,
    waiting: u32,
    counters: LaneCounters,
}

impl Books {
    const CLOSED: Books = Books {
        rules: LaneRules::CLOSED,
        rate: TokenBucket::UNMETERED,
        waiting: 0,
        counters: LaneCounters::ZERO,
    };
}

/// Who may be served: the one ledger of record for the requests of all lanes.
///
/// `TICKETS` is the size of its table: slots and queue places of the profile together. A
/// ledger is constant until it is opened, so that it can live in a `static`:
///
/// ```
/// use ingress_ledger::{IngressLedger, Issuer};
/// static ISSUER: Issuer = Issuer::new();
/// const CLOSED: IngressLedger<'static, 256> = IngressLedger::closed(&ISSUER);
/// ```
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct IngressLedger<'a, const TICKETS: usize> {
    issuer: &'a Issuer,
    name: Name,
    latest: Instant,
    slots: Partition,
    bytes: Partition,
    arbiter: FairArbiter,
    books: PerLane<Books>,
    slots_high_water: u64,
    bytes_high_water: u64,
    clock_steps_back: u64,
    faults: u64,
    table: TicketTable<TICKETS>,
}

/// Why a ledger was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenError {
    /// The table holds fewer tickets than the profile's slots and queues.
    TableTooSmall {
        /// What the profile needs; `None` if that does not fit a number.
        needed: Option<Tickets>,
    },
    /// Already open; a ledger keeps its profile for life.
    AlreadyOpen,
    /// The issuer has opened 2^32 - 1 ledgers, and can tell no more of them apart.
    IssuerSpent,
}

impl OpenError {
    /// What is wrong and how to mend it.
    #[must_use]
    pub const fn explain(&self) -> &'static str {
        match self {
            OpenError::TableTooSmall { .. } => {
                "the table is too small for the profile's slots and queues; \
                 enlarge TICKETS or lower the structural maxima"
            }
            OpenError::AlreadyOpen => "the ledger is open and keeps its profile",
            OpenError::IssuerSpent => {
                "the issuer can tell no more ledgers apart; open this one with another issuer"
            }
        }
    }
}

impl core::fmt::Display for OpenError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.explain())?;
        match self {
            OpenError::TableTooSmall {
                needed: Some(needed),
            } => write!(f, " (it needs {needed})"),
            _ => Ok(()),
        }
    }
}

impl core::error::Error for OpenError {}

impl<'a, const TICKETS: usize> IngressLedger<'a, TICKETS> {
    /// A ledger without lanes. It refuses every request until it is opened.
    #[must_use]
    pub const fn closed(issuer: &'a Issuer) -> Self {
        IngressLedger {
            issuer,
            name: None,
            latest: Instant::ZERO,
            slots: Partition::CLOSED,
            bytes: Partition::CLOSED,
            arbiter: FairArbiter::NEW,
            books: PerLane([Books::CLOSED, Books::CLOSED, Books::CLOSED]),
            slots_high_water: 0,
            bytes_high_water: 0,
            clock_steps_back: 0,
            faults: 0,
            table: TicketTable::EMPTY,
        }
    }

    /// A ledger opened with `profile`.
    ///
    /// # Errors
    /// As [`IngressLedger::open`].
    pub fn new(profile: &ValidatedProfile, issuer: &'a Issuer) -> Result<Self, OpenError> {
        let mut ledger = IngressLedger::closed(issuer);
        ledger.open(profile)?;
        Ok(ledger)
    }

    /// Opens the lanes that `profile` enables. Works in place, once.
    ///
    /// # Errors
    /// [`OpenError`]; the ledger stays as it was.
    pub fn open(&mut self, profile: &ValidatedProfile) -> Result<(), OpenError> {
        if self.name.is_some() {
            return Err(OpenError::AlreadyOpen);
        }
        let needed = profile.tickets_needed();
        if needed.is_none_or(|needed| needed.count() as usize > TICKETS) {
            return Err(OpenError::TableTooSmall { needed });
        }
        self.name = Some(self.issuer.enrol().ok_or(OpenError::IssuerSpent)?);
        self.slots = profile.partition(Resource::Slots).clone();
        self.bytes = profile.partition(Resource::Bytes).clone();
        for lane in Lane::ALL
            .into_iter()
            .filter(|lane| profile.is_enabled(*lane))
        {
            let limits = profile.lane(lane);
            self.books[lane].rules = LaneRules {
                deadline: limits.deadline,
                footprint: limits.footprint.count(),
                queue: limits.queue.count(),
                per_connection: limits.per_connection.count(),
            };
            self.books[lane].rate = TokenBucket::new(limits.request_rate);
        }
        Ok(())
    }

    /// The lane's worst case, as its profile has it. `None` for a lane that does not exist.
    #[must_use]
    pub fn footprint(&self, lane: Lane) -> Option<IngressFootprint> {
        IngressFootprint::new(crate::units::Bytes::new(self.books[lane].rules.footprint))
    }

    /// The clock as the ledger sees it: never earlier than before.
    #[inline]
    fn observe(&mut self, now: Instant) -> Instant {
        if now < self.latest {
            self.clock_steps_back = self.clock_steps_back.wrapping_add(1);
        } else {
            self.latest = now;
        }
        self.latest
    }

    /// Counts an accounting fault, which no caller can bring about; fails a debug build.
    #[cold]
    fn fault(&mut self, what: &str) {
        self.faults = self.faults.wrapping_add(1);
        debug_assert!(false, "{what}");
    }
}

#[cfg(test)]
mod tests {
    use super::explore::SMALL;
    use super::{IngressLedger, OpenError};
    use crate::issuer::Issuer;
    use crate::permits::ConnectionPermits;

    #[test]
    fn no_two_ledgers_of_an_issuer_ever_have_one_name() {
        let issuer = Issuer::almost_spent();
        let profile = SMALL.validate().unwrap();
        let mut last = IngressLedger::<'_, 12>::new(&profile, &issuer).unwrap();
        let mut ledger = IngressLedger::<'_, 12>::closed(&issuer);
        let mut permits = ConnectionPermits::closed(&issuer);
        for _ in 0..3 {
            assert_eq!(ledger.open(&profile), Err(OpenError::IssuerSpent));
            assert_eq!(permits.open(&profile), Err(OpenError::IssuerSpent));
            assert_eq!(last.open(&profile), Err(OpenError::AlreadyOpen));
        }
        assert_eq!(ledger.evidence().general_pool, 0, "it stays closed");
        assert_eq!(permits.evidence().limit, 0, "they stay closed");
    }
}
