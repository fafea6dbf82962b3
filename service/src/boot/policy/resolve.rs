//! Markers over defaults, cut to the structural maxima, validated (INV-POLICY).

use core::fmt;

use ingress_ledger::{
    Bytes, Connections, IngressProfile, Lane, LaneLimits, LanePhases, Limits, Listener, PerLane,
    PhaseDeadlines, ProfileError, Quota, RateBudget, RatePolicy, Requests, Slots, Span, Tickets,
    ValidatedProfile,
};

use crate::boot::policy::defaults::{DEFAULT_DRAIN, DEFAULT_LIMITS, DRAIN_MAX, structural_maxima};
use crate::boot::policy::marker::{Field, Scope, Value};
use crate::boot::policy::set::{MarkerError, MarkerSet};

/// Everything that an operator decides, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The ledger's and the permits' profile.
    pub profile: ValidatedProfile,
    /// The phase deadlines of each lane.
    pub phases: PhaseDeadlines,
    /// How long a drained service still takes public connections.
    pub drain: Span,
    /// Whether more was asked for than [`DRAIN_MAX`](crate::boot::policy::DRAIN_MAX).
    pub drain_clamped: bool,
}

/// Why a policy cannot be served under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyError {
    /// A marker is at fault.
    Marker(MarkerError),
    /// A phase of an enabled lane would be over at once.
    ZeroPhase(Scope, Field),
    /// What the markers make of the defaults breaks a rule of the profile.
    Profile(ProfileError),
}

impl fmt::Display for PolicyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Marker(error) => error.fmt(out),
            Self::ZeroPhase(scope, field) => write!(
                out,
                "marker ingress_{}_{}=0 leaves no time at all",
                scope.word(),
                field.word()
            ),
            Self::Profile(error) => write!(out, "policy {error}"),
        }
    }
}

impl core::error::Error for PolicyError {}

impl From<MarkerError> for PolicyError {
    fn from(error: MarkerError) -> Self {
        Self::Marker(error)
    }
}

/// Lays the markers over the defaults for the lanes that were granted.
///
/// A lane without a listener has nothing, so that the others have what it would have kept.
///
/// # Errors
/// A marker that does not fit the grants, or a profile that breaks a rule.
pub fn resolve(markers: &MarkerSet, listeners: PerLane<Listener>) -> Result<Policy, PolicyError> {
    let mut limits = DEFAULT_LIMITS;
    for lane in Lane::ALL {
        let scope = Scope::Lane(lane);
        if listeners[lane] == Listener::Absent {
            if let Some(field) = markers.first_in(scope) {
                return Err(MarkerError::LaneNotGranted(scope, field).into());
            }
            limits.lanes[lane] = LaneLimits::NONE;
            continue;
        }
        let set = Settings { markers, scope };
        set.lane_limits(&mut limits.lanes[lane])?;
        set.phases(&mut limits.lanes[lane].phases)?;
    }
    follow_public(markers, listeners, &mut limits);
    let set = Settings {
        markers,
        scope: Scope::Total,
    };
    set.total_limits(&mut limits);
    let drain = set.milliseconds(Field::DrainMs).unwrap_or(DEFAULT_DRAIN);
    let quota = Quota { limits, listeners };
    let profile =
        IngressProfile::resolve(&structural_maxima(), &quota).map_err(PolicyError::Profile)?;
    Ok(Policy {
        phases: PerLane::from_fn(|lane| profile.lane(lane).phases),
        profile,
        drain: drain.min(DRAIN_MAX),
        drain_clamped: drain > DRAIN_MAX,
    })
}

/// A protected lane may take no longer than the public one; where the operator asks for a shorter
/// public deadline or phase and says nothing of a protected lane's, that follows.
fn follow_public(markers: &MarkerSet, listeners: PerLane<Listener>, limits: &mut Limits) {
    if listeners[Lane::Anonymous] == Listener::Absent {
        return;
    }
    let mut public = limits.lanes[Lane::Anonymous];
    for lane in [Lane::LocalHealth, Lane::ProviderHealth] {
        let set = Settings {
            markers,
            scope: Scope::Lane(lane),
        };
        if set.number(Field::DeadlineMs).is_none() && set.number(Field::DeadlineS).is_none() {
            let deadline = &mut limits.lanes[lane].deadline;
            *deadline = public.deadline.min(*deadline);
        }
        let protected = phase_fields(&mut limits.lanes[lane].phases);
        for ((field, time), (_, longest)) in
            protected.into_iter().zip(phase_fields(&mut public.phases))
        {
            if set.number(field).is_none() {
                *time = (*longest).min(*time);
            }
        }
    }
}

/// The markers of one scope.
struct Settings<'a> {
    markers: &'a MarkerSet,
    scope: Scope,
}

impl Settings<'_> {
    fn number(&self, field: Field) -> Option<u32> {
        self.markers.number(self.scope, field)
    }

    fn milliseconds(&self, field: Field) -> Option<Span> {
        self.number(field)
            .map(|number| Span::from_millis(number.into()))
    }

    fn total_limits(&self, limits: &mut Limits) {
        put(&mut limits.slots, self.number(Field::Slots).map(Slots::new));
        put(
            &mut limits.connections,
            self.number(Field::Conns).map(Connections::new),
        );
        put(
            &mut limits.bytes_in_flight,
            self.number(Field::Bytes).map(u64::from).map(Bytes::new),
        );
        put(
            &mut limits.refusal_deadline,
            self.milliseconds(Field::RefusalMs),
        );
    }

    fn lane_limits(&self, limits: &mut LaneLimits) -> Result<(), MarkerError> {
        put(&mut limits.slots, self.number(Field::Slots).map(Slots::new));
        put(
            &mut limits.slot_reserve,
            self.number(Field::Reserve).map(Slots::new),
        );
        put(
            &mut limits.queue,
            self.number(Field::Queue).map(Tickets::new),
        );
        put(
            &mut limits.connections,
            self.number(Field::Conns).map(Connections::new),
        );
        put(
            &mut limits.connection_reserve,
            self.number(Field::ConnReserve).map(Connections::new),
        );
        put(
            &mut limits.refusals,
            self.number(Field::Refusals).map(Connections::new),
        );
        put(
            &mut limits.per_connection,
            self.number(Field::PerConn).map(Requests::new),
        );
        put(&mut limits.deadline, self.milliseconds(Field::DeadlineMs));
        put(
            &mut limits.deadline,
            self.number(Field::DeadlineS)
                .map(|number| Span::from_secs(number.into())),
        );
        if self.markers.value(self.scope, Field::Rate) == Some(Value::Exempt) {
            limits.request_rate = RatePolicy::LoopbackExempt;
            limits.accept_rate = RatePolicy::LoopbackExempt;
            return Ok(());
        }
        self.rate(Field::Rate, Field::Burst, &mut limits.request_rate)?;
        self.rate(
            Field::AcceptRate,
            Field::AcceptBurst,
            &mut limits.accept_rate,
        )
    }

    /// A rate without a burst may be spent twice over at once; a burst alone changes a budget, and
    /// means nothing where there is none.
    fn rate(&self, rate: Field, burst: Field, policy: &mut RatePolicy) -> Result<(), MarkerError> {
        *policy = match (self.number(rate), self.number(burst), *policy) {
            (Some(per_second), burst, _) => RatePolicy::Budget(RateBudget {
                burst: burst.unwrap_or(per_second.saturating_mul(2)),
                per_second,
            }),
            (None, Some(burst), RatePolicy::Budget(budget)) => {
                RatePolicy::Budget(RateBudget { burst, ..budget })
            }
            (None, Some(_), _) => return Err(MarkerError::BurstWithoutRate(self.scope, burst)),
            (None, None, unchanged) => unchanged,
        };
        Ok(())
    }

    fn phases(&self, phases: &mut LanePhases) -> Result<(), PolicyError> {
        for (field, phase) in phase_fields(phases) {
            if self.number(field) == Some(0) {
                return Err(PolicyError::ZeroPhase(self.scope, field));
            }
            put(phase, self.milliseconds(field));
        }
        Ok(())
    }
}

/// Each phase, under its marker's field.
fn phase_fields(phases: &mut LanePhases) -> [(Field, &mut Span); 4] {
    [
        (Field::HeadMs, &mut phases.head),
        (Field::BodyMs, &mut phases.body),
        (Field::WriteMs, &mut phases.write),
        (Field::IdleMs, &mut phases.idle),
    ]
}

fn put<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingress_ledger::Resource;

    const THREE: PerLane<Listener> =
        PerLane([Listener::Network, Listener::Loopback, Listener::Network]);

    fn resolved(listeners: PerLane<Listener>, names: &[&str]) -> Result<Policy, PolicyError> {
        let mut markers = MarkerSet::new();
        for name in names {
            markers.add(name.as_bytes())?;
        }
        resolve(&markers, listeners)
    }

    #[test]
    fn defaults_are_valid_for_every_choice_of_lanes() {
        for anonymous in [Listener::Absent, Listener::Network] {
            for local_health in [Listener::Absent, Listener::Loopback, Listener::Network] {
                for provider_health in [Listener::Absent, Listener::Network] {
                    let listeners = PerLane([anonymous, local_health, provider_health]);
                    let none = listeners == PerLane::all(Listener::Absent);
                    match resolved(listeners, &[]) {
                        Ok(policy) => assert!(!none && policy.profile.clamps().is_empty()),
                        Err(error) => assert!(none, "{listeners:?}: {error}"),
                    }
                }
            }
        }
    }

    #[test]
    fn markers_override_defaults() {
        let policy = resolved(
            THREE,
            &[
                "ingress_total_slots=20",
                "ingress_provider_reserve=3",
                "ingress_provider_deadline_s=4",
                "ingress_public_rate=9",
                "ingress_local_burst=7",
                "ingress_public_head_ms=55",
                "ingress_total_drain_ms=0",
            ],
        )
        .unwrap();
        assert_eq!(policy.profile.limits().slots, Slots::new(20));
        assert_eq!(policy.profile.general_pool(Resource::Slots), 20 - 8 - 3);
        assert_eq!(
            policy.profile.lane(Lane::ProviderHealth).deadline,
            Span::from_secs(4)
        );
        assert_eq!(
            policy.profile.lane(Lane::Anonymous).request_rate,
            RatePolicy::Budget(RateBudget {
                burst: 18,
                per_second: 9
            })
        );
        assert_eq!(
            policy.profile.lane(Lane::LocalHealth).request_rate,
            RatePolicy::Budget(RateBudget {
                burst: 7,
                per_second: 50
            })
        );
        assert_eq!(policy.phases[Lane::Anonymous].head, Span::from_millis(55));
        assert_eq!(policy.drain, Span::ZERO);
    }

    #[test]
    fn protected_deadlines_follow_a_shorter_public_one() {
        let policy = resolved(THREE, &["ingress_public_deadline_ms=1500"]).unwrap();
        for lane in Lane::ALL {
            assert_eq!(policy.profile.lane(lane).deadline, Span::from_millis(1500));
        }
        let longer = [
            "ingress_public_deadline_ms=1500",
            "ingress_local_deadline_s=2",
        ];
        assert!(matches!(
            resolved(THREE, &longer),
            Err(PolicyError::Profile(_))
        ));
    }

    #[test]
    fn protected_phases_follow_a_shorter_public_one_and_are_never_longer() {
        for word in ["head", "body", "write", "idle"] {
            let public = format!("ingress_public_{word}_ms=1500");
            let policy = resolved(THREE, &[&public]).unwrap();
            let limits = policy.profile.limits().lanes;
            let mut followed = limits[Lane::Anonymous].phases;
            for lane in [Lane::LocalHealth, Lane::ProviderHealth] {
                let mut phases = limits[lane].phases;
                for ((_, time), (_, longest)) in phase_fields(&mut phases)
                    .into_iter()
                    .zip(phase_fields(&mut followed))
                {
                    assert!(*time <= *longest, "{word} of {lane:?}");
                }
            }
            let longer = format!("ingress_local_{word}_ms=1501");
            let error = resolved(THREE, &[&public, &longer]).unwrap_err();
            assert!(
                matches!(
                    error,
                    PolicyError::Profile(ProfileError::PhaseTooLong(Lane::LocalHealth, _))
                ),
                "{error}"
            );
        }
    }

    #[test]
    fn no_marker_of_a_protected_lane_is_without_a_maximum() {
        // As many digits as a marker's name holds.
        let words = ["head_ms", "body_ms", "write_ms", "idle_ms", "rate", "burst"];
        for scope in ["local", "provider"] {
            for word in words {
                let public = |word| format!("ingress_public_{word}=999999");
                let names = ["head_ms", "body_ms", "write_ms", "idle_ms"].map(public);
                let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
                let marker = format!("ingress_{scope}_{word}=999999");
                names.push(&marker);
                let policy = resolved(THREE, &names).unwrap();
                // A burst is cut with its rate.
                let reported = format!("{scope}_{}", word.replace("burst", "rate"));
                let cut: Vec<_> = policy
                    .clamped()
                    .map(|(scope, word)| format!("{}_{word}", scope.word()))
                    .collect();
                assert!(cut.contains(&reported), "{reported} in {cut:?}");
            }
        }
        let policy = resolved(THREE, &["ingress_local_accept_rate=999999"]).unwrap();
        let cut = (Scope::Lane(Lane::LocalHealth), "accept_rate");
        assert!(policy.clamped().eq([cut]));
        let policy = resolved(THREE, &["ingress_total_drain_ms=600001"]).unwrap();
        assert_eq!((policy.drain, policy.drain_clamped), (DRAIN_MAX, true));
        assert!(policy.to_string().ends_with(" clamped=total_drain_ms"));
    }

    #[test]
    fn what_is_above_the_structural_maxima_is_cut_and_reported() {
        let policy = resolved(THREE, &["ingress_total_conns=5000"]).unwrap();
        assert_eq!(
            policy.profile.limits().connections,
            Connections::new(STRUCTURAL)
        );
        assert!(!policy.profile.clamps().is_empty());
    }
    const STRUCTURAL: u32 = crate::boot::policy::STRUCTURAL_CONNECTIONS;

    #[test]
    fn a_marker_for_a_lane_without_listener_is_refused() {
        let listeners = THREE.with(Lane::LocalHealth, Listener::Absent);
        let error = resolved(listeners, &["ingress_local_slots=5"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "marker ingress_local_slots is about a lane that was granted no listener"
        );
    }

    #[test]
    fn an_exempt_rate_is_for_loopback_only() {
        let policy = resolved(THREE, &["ingress_local_rate=exempt"]).unwrap();
        assert_eq!(
            policy.profile.lane(Lane::LocalHealth).request_rate,
            RatePolicy::LoopbackExempt
        );
        let listeners = THREE.with(Lane::LocalHealth, Listener::Network);
        assert_eq!(
            resolved(listeners, &["ingress_local_rate=exempt"]),
            Err(PolicyError::Profile(ProfileError::RateExemptOffLoopback(
                Lane::LocalHealth
            )))
        );
    }

    #[test]
    fn a_burst_without_a_rate_is_refused() {
        assert_eq!(
            resolved(THREE, &["ingress_public_burst=5"]),
            Err(MarkerError::BurstWithoutRate(Scope::Lane(Lane::Anonymous), Field::Burst).into())
        );
    }

    #[test]
    fn a_phase_of_no_time_is_refused() {
        let error = resolved(THREE, &["ingress_public_idle_ms=0"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "marker ingress_public_idle_ms=0 leaves no time at all"
        );
    }

    #[test]
    fn reserves_that_leave_nothing_public_are_refused() {
        let error = resolved(THREE, &["ingress_total_slots=16"]).unwrap_err();
        assert!(matches!(
            error,
            PolicyError::Profile(ProfileError::ReserveLeavesNoAnonymousCapacity { .. })
        ));
        let error = resolved(THREE, &["ingress_local_reserve=0"]).unwrap_err();
        assert!(matches!(
            error,
            PolicyError::Profile(ProfileError::ZeroReserve(..))
        ));
    }
}
