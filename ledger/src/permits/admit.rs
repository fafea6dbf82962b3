//! The permits themselves: admission and release of connections (keeps P1, P2, L2, L3, L8).

use super::evidence::PermitCounters;
use super::refusal::{CloseUnanswered, PermitRefusal};
use super::token::{ConnectionPermit, RefusalPermit};
use crate::counters::{bump, raise};
use crate::issuer::{Issuer, Name, Seal};
use crate::lane::{Lane, PerLane};
use crate::ledger::OpenError;
use crate::partition::{Full, MISCOUNTED, OVERDRAWN, Partition};
use crate::profile::{Resource, ValidatedProfile};
use crate::rate::TokenBucket;
use crate::reservation::{Misuse, ReleaseRefused};
use crate::units::{Connections, Instant, Span};

/// Who may be connected. Like a ledger, constant until opened.
#[derive(Debug)]
pub struct ConnectionPermits<'a> {
    pub(super) issuer: &'a Issuer,
    name: Name,
    pub(super) partition: Partition,
    pub(super) rates: PerLane<TokenBucket>,
    refusal_limits: PerLane<u32>,
    pub(super) refusals: PerLane<u32>,
    refusal_deadline: Span,
    pub(super) counters: PerLane<PermitCounters>,
    pub(super) high_water: u64,
    pub(super) faults: u64,
}

impl<'a> ConnectionPermits<'a> {
    /// Permits without lanes. They refuse every connection until they are opened.
    #[must_use]
    pub const fn closed(issuer: &'a Issuer) -> Self {
        ConnectionPermits {
            issuer,
            name: None,
            partition: Partition::CLOSED,
            rates: PerLane([
                TokenBucket::UNMETERED,
                TokenBucket::UNMETERED,
                TokenBucket::UNMETERED,
            ]),
            refusal_limits: PerLane::all(0),
            refusals: PerLane::all(0),
            refusal_deadline: Span::ZERO,
            counters: PerLane::all(PermitCounters::ZERO),
            high_water: 0,
            faults: 0,
        }
    }

    /// Permits opened with `profile`.
    ///
    /// # Errors
    /// As [`ConnectionPermits::open`].
    pub fn new(profile: &ValidatedProfile, issuer: &'a Issuer) -> Result<Self, OpenError> {
        let mut permits = ConnectionPermits::closed(issuer);
        permits.open(profile)?;
        Ok(permits)
    }

    /// Opens the lanes that `profile` enables. Works in place, once.
    ///
    /// # Errors
    /// [`OpenError::AlreadyOpen`] or [`OpenError::IssuerSpent`]; the permits stay as they
    /// were.
    pub fn open(&mut self, profile: &ValidatedProfile) -> Result<(), OpenError> {
        if self.name.is_some() {
            return Err(OpenError::AlreadyOpen);
        }
        self.name = Some(self.issuer.enrol().ok_or(OpenError::IssuerSpent)?);
        self.partition = profile.partition(Resource::Connections).clone();
        self.refusal_deadline = profile.limits().refusal_deadline;
        for lane in Lane::ALL
            .into_iter()
            .filter(|lane| profile.is_enabled(*lane))
        {
            self.rates[lane] = TokenBucket::new(profile.lane(lane).accept_rate);
            self.refusal_limits[lane] = profile.lane(lane).refusals.count();
        }
        Ok(())
    }

    /// Admits a connection that `lane`'s listener accepted. `now` is `None` where the clock
    /// was lost.
    ///
    /// # Errors
    /// The first check that fails: clock, rate of accepts, lane, general pool. Nothing is
    /// charged then.
    #[inline]
    pub fn admit(
        &mut self,
        lane: Lane,
        now: Option<Instant>,
    ) -> Result<ConnectionPermit<'a>, PermitRefusal> {
        self.issuer.assert_unleaked();
        match self.check(lane, now) {
            Ok(now) => Ok(self.charge(lane, now)),
            Err(refusal) => {
                let counters = &mut self.counters[lane];
                bump(&mut counters.refused);
                bump(match refusal {
                    PermitRefusal::ClockLost => &mut counters.refused_clock_lost,
                    PermitRefusal::RateLimited { .. } => &mut counters.refused_rate_limited,
                    PermitRefusal::LaneFull(_) => &mut counters.refused_lane_full,
                    PermitRefusal::TotalFull(_) => &mut counters.refused_total_full,
                });
                Err(refusal)
            }
        }
    }

    #[inline]
    fn charge(&mut self, lane: Lane, now: Instant) -> ConnectionPermit<'a> {
        self.rates[lane].take(now);
        if !self.partition.charge(lane, 1) {
            self.fault(MISCOUNTED);
        }
        let counters = &mut self.counters[lane];
        bump(&mut counters.admitted);
        raise(&mut counters.high_water, self.partition.used(lane));
        raise(&mut self.high_water, self.partition.total_used());
        ConnectionPermit {
            seal: Seal::new(self.issuer, self.name),
            lane,
        }
    }

    /// Whether there is room for one more connection of `lane` now, so that the caller may
    /// make some before it admits. Counts nothing.
    #[must_use]
    pub fn can_admit(&self, lane: Lane) -> bool {
        self.partition.check(lane, 1).is_ok()
    }

    /// Whether there is room for so many more connections of `lane` now. Counts nothing.
    #[must_use]
    pub fn has_room(&self, lane: Lane, more: Connections) -> bool {
        self.partition.check(lane, u64::from(more.count())).is_ok()
    }

    /// Whether a connection of `lane` would be admitted now, and if not, why. Counts nothing.
    ///
    /// # Errors
    /// What [`ConnectionPermits::admit`] would refuse it with.
    pub fn would_admit(&self, lane: Lane, now: Option<Instant>) -> Result<(), PermitRefusal> {
        self.check(lane, now).map(drop)
    }

    /// Every check in its order; hands out the instant at which they passed.
    #[inline]
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
    #[inline]
    #[track_caller]
    pub fn release(
        &mut self,
        permit: ConnectionPermit<'a>,
    ) -> Result<(), ReleaseRefused<ConnectionPermit<'a>>> {
        self.issuer.assert_unleaked();
        if !permit.seal.is_of(self.issuer, self.name) {
            return Err(ReleaseRefused::new(permit, Misuse::ForeignToken));
        }
        let ConnectionPermit { seal, lane } = permit;
        seal.open();
        bump(&mut self.counters[lane].released);
        if !self.partition.release(lane, 1) {
            self.fault(OVERDRAWN);
        }
        Ok(())
    }

    /// Lets a refused connection of `lane` be answered, if few enough are being answered.
    /// (Without a clock no answer can be timed: close what was refused for
    /// [`PermitRefusal::ClockLost`].)
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
            seal: Seal::new(self.issuer, self.name),
            lane,
            deadline,
        })
    }

    /// Whether as many more connections of `lane` could all be refused with an answer, so that
    /// the caller may put off accepting those that could not. A lane that answers no refusal at
    /// all has nothing to wait for.
    #[must_use]
    pub fn can_answer_refusals(&self, lane: Lane, more: Connections) -> bool {
        let limit = self.refusal_limits[lane];
        limit == 0 || self.refusals[lane].saturating_add(more.count()) <= limit
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
        if !permit.seal.is_of(self.issuer, self.name) {
            return Err(ReleaseRefused::new(permit, Misuse::ForeignToken));
        }
        let RefusalPermit { seal, lane, .. } = permit;
        seal.open();
        match self.refusals[lane].checked_sub(1) {
            Some(refusals) => self.refusals[lane] = refusals,
            None => self.fault(OVERDRAWN),
        }
        Ok(())
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
    use super::ConnectionPermits;
    use crate::issuer::{Issuer, Seal};
    use crate::lane::Lane;
    use crate::permits::token::{ConnectionPermit, RefusalPermit};
    use crate::units::Instant;

    // Permits that were never charged, which no caller can make.

    #[test]
    #[cfg_attr(
        debug_assertions,
        should_panic(expected = "released more than was charged")
    )]
    fn release_of_an_uncharged_permit_is_a_fault() {
        let issuer = Issuer::new();
        let mut permits = ConnectionPermits::closed(&issuer);
        let seal = Seal::new(&issuer, permits.name);
        permits
            .release(ConnectionPermit {
                seal,
                lane: Lane::Anonymous,
            })
            .unwrap();
        assert_eq!(permits.evidence().faults, 1);
    }

    #[test]
    #[cfg_attr(
        debug_assertions,
        should_panic(expected = "released more than was charged")
    )]
    fn release_of_an_uncharged_refusal_is_a_fault() {
        let issuer = Issuer::new();
        let mut permits = ConnectionPermits::closed(&issuer);
        let seal = Seal::new(&issuer, permits.name);
        let (lane, deadline) = (Lane::Anonymous, Instant::MAX);
        permits
            .release_refusal(RefusalPermit {
                seal,
                lane,
                deadline,
            })
            .unwrap();
        assert_eq!(permits.evidence().faults, 1);
    }
}
