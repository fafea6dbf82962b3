//! Validation: every rule that a profile must meet before anything is served under it
//! (keeps L6: an enabled protected lane has a floor, and the general pool is not empty; P3).

use super::clamp::{Clamps, clamp};
use super::error::{ProfileError, Resource};
use super::limits::{LaneLimits, Limits, Listener, Quota, StructuralMaxima};
use crate::lane::{Lane, PerLane};
use crate::partition::{Partition, Share};
use crate::rate::RatePolicy;
use crate::units::{Span, Tickets};

/// A profile that nobody has checked yet: the numbers and the listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressProfile {
    /// The numbers.
    pub limits: Limits,
    /// The listener of each lane.
    pub listeners: PerLane<Listener>,
}

/// A profile that met every rule; the only kind that a ledger accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatedProfile {
    profile: IngressProfile,
    clamps: Clamps,
    slots: Partition,
    connections: Partition,
    bytes: Partition,
}

impl IngressProfile {
    /// The lesser of quota and structural maximum, field by field, validated. Which fields
    /// of the quota were cut can be read back from the result.
    ///
    /// # Errors
    /// The first rule that the profile breaks.
    pub fn resolve(
        maxima: &StructuralMaxima,
        quota: &Quota,
    ) -> Result<ValidatedProfile, ProfileError> {
        let (limits, clamps) = clamp(quota, &maxima.0);
        let profile = IngressProfile {
            limits,
            listeners: quota.listeners,
        };
        let validated = profile.validate()?;
        check_maxima(&maxima.0, quota)?;
        Ok(ValidatedProfile {
            clamps,
            ..validated
        })
    }

    /// Checks every rule.
    ///
    /// # Errors
    /// The first rule that the profile breaks.
    pub fn validate(self) -> Result<ValidatedProfile, ProfileError> {
        let IngressProfile { limits, listeners } = self;
        if Lane::ALL
            .iter()
            .all(|lane| listeners[*lane] == Listener::Absent)
        {
            return Err(ProfileError::NoListener);
        }
        if limits.refusal_deadline.as_nanos() == 0 {
            return Err(ProfileError::ZeroRefusalDeadline);
        }
        for lane in Lane::ALL {
            match listeners[lane] {
                Listener::Absent => check_absent(lane, &limits.lanes[lane])?,
                listener => check_lane(lane, &limits.lanes[lane], listener)?,
            }
        }
        check_deadlines(&limits, &listeners)?;
        check_phases(&limits, &listeners)?;
        let enabled = |lane: Lane| listeners[lane] != Listener::Absent;
        let slots = divide(Resource::Slots, limits.slots.count().into(), |lane| {
            let lane = enabled(lane).then_some(&limits.lanes[lane]);
            lane.map_or(Share::default(), |lane| Share {
                reserve: lane.slot_reserve.count().into(),
                ceiling: lane.slots.count().into(),
            })
        })?;
        let connections = divide(
            Resource::Connections,
            limits.connections.count().into(),
            |lane| {
                let lane = enabled(lane).then_some(&limits.lanes[lane]);
                lane.map_or(Share::default(), |lane| Share {
                    reserve: lane.connection_reserve.count().into(),
                    ceiling: lane.connections.count().into(),
                })
            },
        )?;
        let bytes = divide_bytes(&limits, enabled)?;
        Ok(ValidatedProfile {
            profile: self,
            clamps: Clamps::default(),
            slots,
            connections,
            bytes,
        })
    }
}

/// A lane without a listener must not keep anything from the others.
fn check_absent(lane: Lane, limits: &LaneLimits) -> Result<(), ProfileError> {
    if limits.slot_reserve.count() > 0 {
        return Err(ProfileError::ReserveWithoutListener(lane, Resource::Slots));
    }
    if limits.connection_reserve.count() > 0 {
        return Err(ProfileError::ReserveWithoutListener(
            lane,
            Resource::Connections,
        ));
    }
    Ok(())
}

fn check_lane(lane: Lane, limits: &LaneLimits, listener: Listener) -> Result<(), ProfileError> {
    let shares = [
        (
            Resource::Slots,
            limits.slot_reserve.count(),
            limits.slots.count(),
        ),
        (
            Resource::Connections,
            limits.connection_reserve.count(),
            limits.connections.count(),
        ),
    ];
    for (resource, reserve, ceiling) in shares {
        if ceiling == 0 {
            return Err(ProfileError::ZeroLaneShare(lane, resource));
        }
        match (lane.is_protected(), reserve) {
            (true, 0) => return Err(ProfileError::ZeroReserve(lane, resource)),
            (false, 1..) => return Err(ProfileError::ReserveOnAnonymousLane(resource)),
            _ if reserve > ceiling => return Err(ProfileError::ReserveAboveShare(lane, resource)),
            _ => {}
        }
    }
    if limits.footprint.count() == 0 {
        return Err(ProfileError::ZeroFootprint(lane));
    }
    if limits.deadline.as_nanos() == 0 {
        return Err(ProfileError::ZeroDeadline(lane));
    }
    if limits.per_connection.count() == 0 {
        return Err(ProfileError::ZeroPerConnection(lane));
    }
    check_rate(lane, limits.request_rate, listener)?;
    check_rate(lane, limits.accept_rate, listener)
}

/// No lane gets a longer deadline for being protected; the provider's is the shortest.
fn check_deadlines(limits: &Limits, listeners: &PerLane<Listener>) -> Result<(), ProfileError> {
    let mut shortest = Span::from_nanos(u64::MAX);
    for lane in Lane::ALL
        .into_iter()
        .filter(|lane| listeners[*lane] != Listener::Absent)
    {
        let deadline = limits.lanes[lane].deadline;
        if deadline > shortest {
            return Err(ProfileError::DeadlineTooLong(lane));
        }
        shortest = deadline;
    }
    Ok(())
}

/// Every phase has some time, and no protected lane's is longer than the public one's: a slow
/// peer that found a protected lane holds its connection no longer there than in public.
fn check_phases(limits: &Limits, listeners: &PerLane<Listener>) -> Result<(), ProfileError> {
    let enabled = |lane: &Lane| listeners[*lane] != Listener::Absent;
    let public = limits.lanes[Lane::Anonymous].phases.by_field();
    for lane in Lane::ALL.into_iter().filter(enabled) {
        let phases = limits.lanes[lane].phases.by_field();
        for ((field, time), (_, longest)) in phases.into_iter().zip(public) {
            if time == Span::ZERO {
                return Err(ProfileError::ZeroPhase(lane, field));
            }
            if time > longest && enabled(&Lane::Anonymous) {
                return Err(ProfileError::PhaseTooLong(lane, field));
            }
        }
    }
    Ok(())
}

/// What clamping cannot mend: a maximum that is none, and a quota that charges too little.
fn check_maxima(maxima: &Limits, quota: &Quota) -> Result<(), ProfileError> {
    let enabled = |lane: &Lane| quota.listeners[*lane] != Listener::Absent;
    for lane in Lane::ALL.into_iter().filter(enabled) {
        let most = &maxima.lanes[lane];
        let is_budget = |rate| matches!(rate, RatePolicy::Budget(_));
        if lane.is_protected() && !(is_budget(most.request_rate) && is_budget(most.accept_rate)) {
            return Err(ProfileError::NoStructuralRate(lane));
        }
        if quota.limits.lanes[lane].footprint < most.footprint {
            return Err(ProfileError::FootprintBelowWorstCase(lane));
        }
    }
    Ok(())
}

fn check_rate(lane: Lane, rate: RatePolicy, listener: Listener) -> Result<(), ProfileError> {
    match rate {
        RatePolicy::Budget(budget) if budget.burst == 0 || budget.per_second == 0 => {
            Err(ProfileError::ZeroRateBudget(lane))
        }
        RatePolicy::Budget(_) => Ok(()),
        RatePolicy::LoopbackExempt if listener == Listener::Loopback => Ok(()),
        RatePolicy::LoopbackExempt => Err(ProfileError::RateExemptOffLoopback(lane)),
        RatePolicy::Unmetered if lane.is_protected() => Err(ProfileError::NoRateBudget(lane)),
        RatePolicy::Unmetered => Ok(()),
    }
}

/// Divides `total` into the lanes' reserves and what is left, the general pool. A lane's
/// ceiling is lowered to what it can reach.
fn divide(
    resource: Resource,
    total: u64,
    share_of: impl Fn(Lane) -> Share,
) -> Result<Partition, ProfileError> {
    if total == 0 {
        return Err(ProfileError::ZeroTotal(resource));
    }
    let overflow = ProfileError::ArithmeticOverflow(resource);
    let reserved = Lane::ALL
        .into_iter()
        .try_fold(0_u64, |sum, lane| sum.checked_add(share_of(lane).reserve))
        .ok_or(overflow)?;
    let general = total
        .checked_sub(reserved)
        .filter(|general| *general > 0)
        .ok_or(ProfileError::ReserveLeavesNoAnonymousCapacity {
            resource,
            reserved,
            total,
        })?;
    let shares = PerLane::from_fn(|lane| {
        let Share { reserve, ceiling } = share_of(lane);
        // Never above `total`, as `reserve + general <= total`.
        Share {
            reserve,
            ceiling: ceiling.min(reserve.saturating_add(general)),
        }
    });
    Ok(Partition::new(shares, general))
}

/// Divides the byte budget so that a lane inside its slot reserve always finds its bytes.
fn divide_bytes(
    limits: &Limits,
    enabled: impl Fn(Lane) -> bool,
) -> Result<Partition, ProfileError> {
    for lane in Lane::ALL.into_iter().filter(|lane| enabled(*lane)) {
        let LaneLimits {
            slot_reserve,
            footprint,
            ..
        } = limits.lanes[lane];
        u64::from(slot_reserve.count())
            .checked_mul(footprint.count())
            .ok_or(ProfileError::ArithmeticOverflow(Resource::Bytes))?;
    }
    let bytes = divide(Resource::Bytes, limits.bytes_in_flight.count(), |lane| {
        let LaneLimits {
            slot_reserve,
            footprint,
            ..
        } = limits.lanes[lane];
        if enabled(lane) {
            // Fits: just checked.
            let reserve = u64::from(slot_reserve.count()).saturating_mul(footprint.count());
            Share {
                reserve,
                ceiling: u64::MAX,
            }
        } else {
            Share::default()
        }
    })?;
    for lane in Lane::ALL.into_iter().filter(|lane| enabled(*lane)) {
        let Share { ceiling, .. } = bytes.share(lane);
        if ceiling < limits.lanes[lane].footprint.count() {
            return Err(ProfileError::ByteBudgetBelowFootprint(lane));
        }
    }
    Ok(bytes)
}

impl ValidatedProfile {
    /// The numbers in force.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.profile.limits
    }

    /// The lane's numbers in force.
    #[must_use]
    pub fn lane(&self, lane: Lane) -> &LaneLimits {
        &self.profile.limits.lanes[lane]
    }

    /// The lane's listener.
    #[must_use]
    pub fn listener(&self, lane: Lane) -> Listener {
        self.profile.listeners[lane]
    }

    /// Whether the lane exists.
    #[must_use]
    pub fn is_enabled(&self, lane: Lane) -> bool {
        self.listener(lane) != Listener::Absent
    }

    /// Which fields of the quota were cut to their structural maxima.
    #[must_use]
    pub const fn clamps(&self) -> &Clamps {
        &self.clamps
    }

    /// What all lanes share of a resource, beyond their reserves; never zero.
    #[must_use]
    pub fn general_pool(&self, resource: Resource) -> u64 {
        self.partition(resource).general()
    }

    /// What `lane` can reach of a resource: the least of its share and of its reserve
    /// together with the general pool. Zero for a lane that does not exist.
    #[must_use]
    pub fn ceiling(&self, lane: Lane, resource: Resource) -> u64 {
        self.partition(resource).share(lane).ceiling
    }

    /// Entries that a ledger's ticket table needs: every slot and every queue place.
    /// `None` if the number does not fit.
    #[must_use]
    pub fn tickets_needed(&self) -> Option<Tickets> {
        Lane::ALL
            .into_iter()
            .filter(|lane| self.is_enabled(*lane))
            .try_fold(self.limits().slots.count(), |sum, lane| {
                sum.checked_add(self.lane(lane).queue.count())
            })
            .map(Tickets::new)
    }

    pub(crate) const fn partition(&self, resource: Resource) -> &Partition {
        match resource {
            Resource::Slots => &self.slots,
            Resource::Connections => &self.connections,
            Resource::Bytes => &self.bytes,
        }
    }
}
