//! Connection permits: how many accepted connections there may be (keeps P1: a permit is
//! held from accept to the connection's one end; P2: a refusal names its ceiling as the
//! count).
//!
//! Divided among the lanes as slots are. A connection past the bound is refused, which costs
//! something too: answering a refusal has a small ceiling and a deadline of its own.

mod accept;
mod phases;

pub use accept::{AcceptBackoff, AcceptFailure, BackoffLimits};
pub use phases::{
    LanePhases, PhaseDeadline, PhaseDeadlines, SessionMode, SessionPhase, SessionPhases,
    ZeroPhaseDeadline,
};

use core::fmt;

use crate::counters::{bump, raise};
use crate::issuer::{Issuer, Seal};
use crate::lane::{Lane, PerLane};
use crate::ledger::{OpenError, StatusRow};
use crate::overload::Status;
use crate::partition::{Full, Partition};
use crate::profile::{Resource, ValidatedProfile};
use crate::rate::{RatePolicy, TokenBucket};
use crate::reservation::{ConnectionUse, Misuse, ReleaseRefused};
use crate::units::{Instant, Occupancy, Owner, Span};

/// One accepted connection, on its lane. Released at the connection's one end.
///
/// Dropping it instead leaks the connection's place, which is counted and fails a debug
/// build.
#[must_use = "a permit must be released"]
#[derive(Debug)]
pub struct ConnectionPermit<'a> {
    seal: Seal<'a>,
    lane: Lane,
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
    seal: Seal<'a>,
    lane: Lane,
    deadline: Instant,
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

/// Why a connection got no permit. It may still be answered: see
/// [`ConnectionPermits::admit_refusal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PermitRefusal {
    /// The caller has no clock, so no deadline can be kept.
    ClockLost,
    /// The lane's budget of accepts is spent.
    RateLimited {
        /// Until the budget holds one accept again.
        ready_in: Span,
    },
    /// The lane holds every connection that it may have.
    LaneFull(Occupancy),
    /// The lane may hold more, but the general pool is taken.
    TotalFull(Occupancy),
}

impl PermitRefusal {
    /// The one status of this refusal. No request was read, so only the rate of accepts is
    /// the callers' doing.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            PermitRefusal::RateLimited { .. } => Status::TOO_MANY_REQUESTS,
            PermitRefusal::ClockLost | PermitRefusal::LaneFull(_) | PermitRefusal::TotalFull(_) => {
                Status::SERVICE_UNAVAILABLE
            }
        }
    }

    /// Stable code for problem documents and counters.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            PermitRefusal::ClockLost => "clock_lost",
            PermitRefusal::RateLimited { .. } => "accept_rate_limited",
            PermitRefusal::LaneFull(_) => "lane_at_capacity",
            PermitRefusal::TotalFull(_) => "at_capacity",
        }
    }

    /// What it means and what an operator can do about it.
    #[must_use]
    pub const fn explain(&self) -> &'static str {
        match self {
            PermitRefusal::ClockLost => {
                "the monotonic clock could not be read, so no deadline can be kept; \
                 if it persists, restart the service"
            }
            PermitRefusal::RateLimited { .. } => {
                "connections to this lane come faster than its budget; \
                 keep connections alive, or raise the lane's accept rate"
            }
            PermitRefusal::LaneFull(_) => {
                "this lane holds every connection that it may have; \
                 close one, or raise the lane's connections"
            }
            PermitRefusal::TotalFull(_) => {
                "all lanes together hold every shared connection; \
                 close one, or raise the total connections"
            }
        }
    }

    /// Count and limit, where the refusal is one of capacity. The count is the ceiling: the
    /// failed admission itself saw every permit held.
    #[must_use]
    pub const fn occupancy(&self) -> Option<Occupancy> {
        match self {
            PermitRefusal::LaneFull(occupancy) | PermitRefusal::TotalFull(occupancy) => {
                Some(*occupancy)
            }
            PermitRefusal::ClockLost | PermitRefusal::RateLimited { .. } => None,
        }
    }
}

impl fmt::Display for PermitRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())?;
        match (self, self.occupancy()) {
            (PermitRefusal::RateLimited { ready_in }, _) => {
                write!(
                    f,
                    " (ready in {} ms)",
                    ready_in.as_nanos().div_ceil(1_000_000)
                )
            }
            (_, Some(occupancy)) => write!(f, " ({occupancy} connections)"),
            (_, None) => Ok(()),
        }
    }
}

impl core::error::Error for PermitRefusal {}

/// The refusal path's ceiling is reached: close the socket without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CloseUnanswered;

/// One lane's connections since the permits were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PermitCounters {
    /// Connections admitted.
    pub admitted: u64,
    /// Connections that ended.
    pub released: u64,
    /// Connections refused: the sum of the four below.
    pub refused: u64,
    /// Refused for [`PermitRefusal::ClockLost`].
    pub refused_clock_lost: u64,
    /// Refused for [`PermitRefusal::RateLimited`].
    pub refused_rate_limited: u64,
    /// Refused for [`PermitRefusal::LaneFull`].
    pub refused_lane_full: u64,
    /// Refused for [`PermitRefusal::TotalFull`].
    pub refused_total_full: u64,
    /// Refused connections that were to be answered.
    pub refusals_admitted: u64,
    /// Refused connections closed unanswered at the ceiling of refusals.
    pub refusals_unanswered: u64,
    /// Most connections held at once.
    pub high_water: u64,
}

impl PermitCounters {
    const ZERO: PermitCounters = PermitCounters {
        admitted: 0,
        released: 0,
        refused: 0,
        refused_clock_lost: 0,
        refused_rate_limited: 0,
        refused_lane_full: 0,
        refused_total_full: 0,
        refusals_admitted: 0,
        refusals_unanswered: 0,
        high_water: 0,
    };
}

/// One lane's counters and present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LanePermitEvidence {
    /// What happened since the permits were opened.
    pub counters: PermitCounters,
    /// Connections held now.
    pub in_use: u64,
    /// Connections that the lane can reach.
    pub limit: u64,
    /// Connections that only this lane can hold.
    pub reserve: u64,
    /// Refused connections being answered now.
    pub refusals_in_use: u64,
    /// How the lane's accepts are bounded over time.
    pub rate: RatePolicy,
}

/// All counters and the present state of the permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PermitEvidence {
    /// Each lane's.
    pub lanes: PerLane<LanePermitEvidence>,
    /// Connections held now.
    pub in_use: u64,
    /// Connections in all.
    pub limit: u64,
    /// Most connections held at once by all lanes together.
    pub high_water: u64,
    /// Tokens of the issuer that were dropped unreleased.
    pub leaked: u64,
    /// Accounting faults: always zero.
    pub faults: u64,
}

impl PermitEvidence {
    /// Whether `released + in use == admitted` on every lane, and nothing leaked or failed.
    #[must_use]
    pub fn release_balanced(&self) -> bool {
        self.leaked == 0
            && self.faults == 0
            && self.lanes.iter().all(|(_, lane)| {
                lane.counters.released.checked_add(lane.in_use) == Some(lane.counters.admitted)
            })
    }
}

/// Who may be connected. Like a ledger, constant until opened.
#[derive(Debug)]
pub struct ConnectionPermits<'a> {
    issuer: &'a Issuer,
    serial: u32,
    partition: Partition,
    rates: PerLane<TokenBucket>,
    refusal_limits: PerLane<u32>,
    refusals: PerLane<u32>,
    refusal_deadline: Span,
    counters: PerLane<PermitCounters>,
    high_water: u64,
    faults: u64,
}

impl<'a> ConnectionPermits<'a> {
    /// Permits without lanes. They refuse every connection until they are opened.
    #[must_use]
    pub const fn closed(issuer: &'a Issuer) -> Self {
        ConnectionPermits {
            issuer,
            serial: 0,
            partition: Partition::CLOSED,
            rates: PerLane {
                anonymous: TokenBucket::UNMETERED,
                local_health: TokenBucket::UNMETERED,
                provider_health: TokenBucket::UNMETERED,
            },
            refusal_limits: PerLane::all(0),
            refusals: PerLane::all(0),
            refusal_deadline: Span::ZERO,
            counters: PerLane::all(PermitCounters::ZERO),
            high_water: 0,
            faults: 0,
        }
    }

    /// Permits opened with `profile`.
    #[must_use]
    pub fn new(profile: &ValidatedProfile, issuer: &'a Issuer) -> Self {
        let mut permits = ConnectionPermits::closed(issuer);
        permits.configure(profile);
        permits
    }

    /// Opens the lanes that `profile` enables. Works in place, once.
    ///
    /// # Errors
    /// [`OpenError::AlreadyOpen`]; the permits stay as they were.
    pub fn open(&mut self, profile: &ValidatedProfile) -> Result<(), OpenError> {
        if self.serial != 0 {
            return Err(OpenError::AlreadyOpen);
        }
        self.configure(profile);
        Ok(())
    }

    fn configure(&mut self, profile: &ValidatedProfile) {
        self.serial = self.issuer.enrol();
        self.partition = profile.partition(Resource::Connections).clone();
        self.refusal_deadline = profile.limits().refusal_deadline;
        for lane in Lane::ALL
            .into_iter()
            .filter(|lane| profile.is_enabled(*lane))
        {
            self.rates[lane] = TokenBucket::new(profile.lane(lane).accept_rate);
            self.refusal_limits[lane] = profile.lane(lane).refusals.count();
        }
    }

    /// Admits a connection that `lane`'s listener accepted. `now` is `None` where the clock
    /// was lost.
    ///
    /// # Errors
    /// The first check that fails: clock, rate of accepts, lane, general pool. Nothing is
    /// charged then.
    pub fn admit(
        &mut self,
        lane: Lane,
        now: Option<Instant>,
    ) -> Result<ConnectionPermit<'a>, PermitRefusal> {
        self.issuer.assert_unleaked();
        let now = match self.check(lane, now) {
            Ok(now) => now,
            Err(refusal) => {
                let counters = &mut self.counters[lane];
                bump(&mut counters.refused);
                bump(match refusal {
                    PermitRefusal::ClockLost => &mut counters.refused_clock_lost,
                    PermitRefusal::RateLimited { .. } => &mut counters.refused_rate_limited,
                    PermitRefusal::LaneFull(_) => &mut counters.refused_lane_full,
                    PermitRefusal::TotalFull(_) => &mut counters.refused_total_full,
                });
                return Err(refusal);
            }
        };
        self.rates[lane].take(now);
        self.partition.charge(lane, 1);
        let counters = &mut self.counters[lane];
        bump(&mut counters.admitted);
        raise(&mut counters.high_water, self.partition.used(lane));
        raise(&mut self.high_water, self.partition.total_used());
        Ok(ConnectionPermit {
            seal: Seal::new(self.issuer, self.serial),
            lane,
        })
    }

    fn check(&self, lane: Lane, now: Option<Instant>) -> Result<Instant, PermitRefusal> {
        let now = now.ok_or(PermitRefusal::ClockLost)?;
        self.rates[lane]
            .check(now)
            .map_err(|ready_in| PermitRefusal::RateLimited { ready_in })?;
        self.partition.check(lane, 1).map_err(|full| match full {
            Full::Lane(occupancy) => PermitRefusal::LaneFull(occupancy),
            Full::Aggregate(occupancy) => PermitRefusal::TotalFull(occupancy),
        })?;
        Ok(now)
    }

    /// Ends a connection, however it ended.
    ///
    /// # Errors
    /// [`Misuse::ForeignToken`], without effect and with the token; a debug build panics.
    #[track_caller]
    pub fn release(
        &mut self,
        permit: ConnectionPermit<'a>,
    ) -> Result<(), ReleaseRefused<ConnectionPermit<'a>>> {
        self.issuer.assert_unleaked();
        if !permit.seal.is_of(self.issuer, self.serial) {
            return Err(ReleaseRefused::new(permit, Misuse::ForeignToken));
        }
        let ConnectionPermit { seal, lane } = permit;
        seal.open();
        bump(&mut self.counters[lane].released);
        if !self.partition.release(lane, 1) {
            self.fault();
        }
        Ok(())
    }

    /// Lets a refused connection of `lane` be answered, if few enough are being answered.
    ///
    /// # Errors
    /// [`CloseUnanswered`] at the ceiling, which is counted.
    pub fn admit_refusal(
        &mut self,
        lane: Lane,
        now: Instant,
    ) -> Result<RefusalPermit<'a>, CloseUnanswered> {
        self.issuer.assert_unleaked();
        if self.refusals[lane] >= self.refusal_limits[lane] {
            bump(&mut self.counters[lane].refusals_unanswered);
            return Err(CloseUnanswered);
        }
        self.refusals[lane] = self.refusals[lane].wrapping_add(1);
        bump(&mut self.counters[lane].refusals_admitted);
        let deadline = now.after(self.refusal_deadline);
        Ok(RefusalPermit {
            seal: Seal::new(self.issuer, self.serial),
            lane,
            deadline,
        })
    }

    /// Ends the answering of a refused connection.
    ///
    /// # Errors
    /// [`Misuse::ForeignToken`], without effect and with the token; a debug build panics.
    #[track_caller]
    pub fn release_refusal(
        &mut self,
        permit: RefusalPermit<'a>,
    ) -> Result<(), ReleaseRefused<RefusalPermit<'a>>> {
        self.issuer.assert_unleaked();
        if !permit.seal.is_of(self.issuer, self.serial) {
            return Err(ReleaseRefused::new(permit, Misuse::ForeignToken));
        }
        let RefusalPermit { seal, lane, .. } = permit;
        seal.open();
        match self.refusals[lane].checked_sub(1) {
            Some(refusals) => self.refusals[lane] = refusals,
            None => self.fault(),
        }
        Ok(())
    }

    /// All counters and the present state.
    #[must_use]
    pub fn evidence(&self) -> PermitEvidence {
        PermitEvidence {
            lanes: PerLane::from_fn(|lane| LanePermitEvidence {
                counters: self.counters[lane],
                in_use: self.partition.used(lane),
                limit: self.partition.share(lane).ceiling,
                reserve: self.partition.share(lane).reserve,
                refusals_in_use: self.refusals[lane].into(),
                rate: self.rates[lane].policy(),
            }),
            in_use: self.partition.total_used(),
            limit: self.partition.total(),
            high_water: self.high_water,
            leaked: self.issuer.leaked(),
            faults: self.faults,
        }
    }

    /// Each lane's connections, then all.
    #[must_use]
    pub fn status_rows(&self) -> [StatusRow; 4] {
        let row = |lane| StatusRow {
            resource: "connections",
            lane: Some(lane),
            in_use: self.partition.used(lane),
            limit: self.partition.share(lane).ceiling,
        };
        let [a, b, c] = Lane::ALL;
        let all = StatusRow {
            resource: "connections",
            lane: None,
            in_use: self.partition.total_used(),
            limit: self.partition.total(),
        };
        [row(a), row(b), row(c), all]
    }

    /// Counts an accounting fault, which no caller can bring about; fails a debug build.
    #[cold]
    fn fault(&mut self) {
        self.faults = self.faults.wrapping_add(1);
        debug_assert!(false, "released more than was charged");
    }
}
