//! Each rule of a profile by name: broken, it fails closed with its own variant.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use ingress_ledger::{
    Bytes, ClampedField, Connections, Field, IngressProfile, Lane, LaneLimits, Listener, PerLane,
    ProfileError, Quota, RateBudget, RatePolicy, Requests, Resource, Slots, Span, StructuralMaxima,
    Tickets,
};
use support::profiles::{LANE, THREE_LANES, sound};

/// The error of the sound profile after one change.
fn broken(change: impl FnOnce(&mut IngressProfile)) -> ProfileError {
    let mut profile = THREE_LANES;
    change(&mut profile);
    profile.validate().expect_err("the change breaks a rule")
}

/// The same, for a change of each lane that has a listener, or each protected one.
fn broken_on(
    lanes: &[Lane],
    change: impl Fn(&mut LaneLimits),
    error: impl Fn(Lane) -> ProfileError,
) {
    for lane in lanes {
        assert_eq!(
            broken(|profile| change(&mut profile.limits.lanes[*lane])),
            error(*lane)
        );
    }
}

const PROTECTED: [Lane; 2] = [Lane::LocalHealth, Lane::ProviderHealth];

#[test]
fn no_listener() {
    let error = broken(|profile| profile.listeners = PerLane::all(Listener::Absent));
    assert_eq!(error, ProfileError::NoListener);
}

#[test]
fn zero_total() {
    // Without protected lanes, so that no reserve is there to be left over.
    let broken = |change: fn(&mut IngressProfile)| {
        broken(|profile| {
            for lane in PROTECTED {
                profile.listeners[lane] = Listener::Absent;
                profile.limits.lanes[lane] = LaneLimits::NONE;
            }
            change(profile);
        })
    };
    let error = broken(|profile| profile.limits.slots = Slots::ZERO);
    assert_eq!(error, ProfileError::ZeroTotal(Resource::Slots));
    let error = broken(|profile| profile.limits.connections = Connections::ZERO);
    assert_eq!(error, ProfileError::ZeroTotal(Resource::Connections));
    let error = broken(|profile| profile.limits.bytes_in_flight = Bytes::ZERO);
    assert_eq!(error, ProfileError::ZeroTotal(Resource::Bytes));
}

#[test]
fn zero_lane_share() {
    broken_on(
        &Lane::ALL,
        |lane| lane.slots = Slots::ZERO,
        |lane| ProfileError::ZeroLaneShare(lane, Resource::Slots),
    );
    broken_on(
        &Lane::ALL,
        |lane| lane.connections = Connections::ZERO,
        |lane| ProfileError::ZeroLaneShare(lane, Resource::Connections),
    );
}

#[test]
fn zero_footprint() {
    broken_on(
        &Lane::ALL,
        |lane| lane.footprint = Bytes::ZERO,
        ProfileError::ZeroFootprint,
    );
}

#[test]
fn zero_deadline() {
    broken_on(
        &Lane::ALL,
        |lane| lane.deadline = Span::ZERO,
        ProfileError::ZeroDeadline,
    );
}

/// A field, and the time that it names.
type Phase = (Field, fn(&mut LaneLimits) -> &mut Span);

const PHASES: [Phase; 4] = [
    (Field::Head, |lane| &mut lane.phases.head),
    (Field::Body, |lane| &mut lane.phases.body),
    (Field::Write, |lane| &mut lane.phases.write),
    (Field::Idle, |lane| &mut lane.phases.idle),
];

#[test]
fn zero_phase() {
    for (field, phase) in PHASES {
        broken_on(
            &Lane::ALL,
            |lane| *phase(lane) = Span::ZERO,
            |lane| ProfileError::ZeroPhase(lane, field),
        );
    }
}

#[test]
fn no_phase_of_a_protected_lane_is_longer_than_the_public_ones() {
    for (field, phase) in PHASES {
        let longer = |lane: &mut LaneLimits| {
            let time = phase(lane);
            *time = Span::from_nanos(time.as_nanos() + 1);
        };
        broken_on(&PROTECTED, longer, |lane| {
            ProfileError::PhaseTooLong(lane, field)
        });
        // Where both are longer, neither is the longer one; a protected one may be shorter.
        let mut profile = THREE_LANES;
        for lane in Lane::ALL {
            longer(&mut profile.limits.lanes[lane]);
        }
        *phase(&mut profile.limits.lanes[Lane::ProviderHealth]) = Span::from_nanos(1);
        sound(profile);
        // A public lane that does not exist has no say.
        let mut profile = THREE_LANES;
        longer(&mut profile.limits.lanes[Lane::LocalHealth]);
        profile.listeners[Lane::Anonymous] = Listener::Absent;
        profile.limits.lanes[Lane::Anonymous] = LaneLimits::NONE;
        sound(profile);
    }
    let error = ProfileError::PhaseTooLong(Lane::LocalHealth, Field::Head);
    let message = error.to_string();
    assert!(
        message.starts_with("phase_too_long of head on local_health: "),
        "{message}"
    );
}

#[test]
fn no_structural_rate() {
    type Rate = fn(&mut LaneLimits) -> &mut RatePolicy;
    let rates: [Rate; 2] = [|lane| &mut lane.request_rate, |lane| &mut lane.accept_rate];
    let budget = RatePolicy::Budget(RateBudget {
        burst: u32::MAX,
        per_second: u32::MAX,
    });
    for lane in PROTECTED {
        for rate in rates {
            let mut quota = Quota {
                limits: THREE_LANES.limits,
                listeners: THREE_LANES.listeners,
            };
            *rate(&mut quota.limits.lanes[lane]) = budget;
            let mut maxima = StructuralMaxima(THREE_LANES.limits);
            let profile = IngressProfile::resolve(&maxima, &quota).unwrap();
            let mut granted = *profile.lane(lane);
            assert_eq!(*rate(&mut granted), *rate(&mut maxima.0.lanes[lane]));
            // Without a maximum, any number would be granted.
            for none in [RatePolicy::Unmetered, RatePolicy::LoopbackExempt] {
                *rate(&mut maxima.0.lanes[lane]) = none;
                let error = IngressProfile::resolve(&maxima, &quota).unwrap_err();
                assert_eq!(error, ProfileError::NoStructuralRate(lane));
            }
            quota.listeners[lane] = Listener::Absent;
            quota.limits.lanes[lane] = LaneLimits::NONE;
            *rate(&mut maxima.0.lanes[lane]) = budget;
            let profile = IngressProfile::resolve(&maxima, &quota).unwrap();
            assert!(profile.clamps().is_empty(), "nothing is cut for nobody");
        }
    }
}

#[test]
fn footprint_below_worst_case() {
    for lane in Lane::ALL {
        let mut quota = Quota {
            limits: THREE_LANES.limits,
            listeners: THREE_LANES.listeners,
        };
        quota.limits.lanes[lane].footprint = Bytes::new(99);
        let maxima = StructuralMaxima(THREE_LANES.limits);
        let error = IngressProfile::resolve(&maxima, &quota).unwrap_err();
        assert_eq!(error, ProfileError::FootprintBelowWorstCase(lane));
        quota.listeners[lane] = Listener::Absent;
        quota.limits.lanes[lane] = LaneLimits::NONE;
        IngressProfile::resolve(&maxima, &quota).unwrap();
    }
}

#[test]
fn zero_refusal_deadline() {
    let error = broken(|profile| profile.limits.refusal_deadline = Span::ZERO);
    assert_eq!(error, ProfileError::ZeroRefusalDeadline);
}

#[test]
fn zero_per_connection() {
    broken_on(
        &Lane::ALL,
        |lane| lane.per_connection = Requests::ZERO,
        ProfileError::ZeroPerConnection,
    );
}

#[test]
fn deadline_too_long() {
    broken_on(
        &PROTECTED,
        |lane| lane.deadline = Span::from_nanos(1_000_000_001),
        ProfileError::DeadlineTooLong,
    );
    let error = broken(|profile| {
        profile.limits.lanes[Lane::LocalHealth].deadline = Span::from_millis(300);
        profile.limits.lanes[Lane::ProviderHealth].deadline = Span::from_millis(301);
    });
    assert_eq!(error, ProfileError::DeadlineTooLong(Lane::ProviderHealth));
    // A lane that does not exist has no say.
    let mut profile = THREE_LANES;
    profile.listeners[Lane::LocalHealth] = Listener::Absent;
    profile.limits.lanes[Lane::LocalHealth] = LaneLimits::NONE;
    sound(profile);
}

#[test]
fn zero_rate_budget() {
    for (burst, per_second) in [(0, 1), (1, 0), (0, 0)] {
        let rate = RatePolicy::Budget(RateBudget { burst, per_second });
        broken_on(
            &Lane::ALL,
            |lane| lane.request_rate = rate,
            ProfileError::ZeroRateBudget,
        );
        broken_on(
            &Lane::ALL,
            |lane| lane.accept_rate = rate,
            ProfileError::ZeroRateBudget,
        );
    }
}

#[test]
fn no_rate_budget() {
    let rate = RatePolicy::Unmetered;
    broken_on(
        &PROTECTED,
        |lane| lane.request_rate = rate,
        ProfileError::NoRateBudget,
    );
    broken_on(
        &PROTECTED,
        |lane| lane.accept_rate = rate,
        ProfileError::NoRateBudget,
    );
}

#[test]
fn rate_exempt_off_loopback() {
    let rate = RatePolicy::LoopbackExempt;
    let networked = [Lane::Anonymous, Lane::ProviderHealth];
    broken_on(
        &networked,
        |lane| lane.request_rate = rate,
        ProfileError::RateExemptOffLoopback,
    );
    broken_on(
        &networked,
        |lane| lane.accept_rate = rate,
        ProfileError::RateExemptOffLoopback,
    );
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::LocalHealth].request_rate = rate;
    profile.limits.lanes[Lane::LocalHealth].accept_rate = rate;
    sound(profile);
    profile.listeners[Lane::LocalHealth] = Listener::Network;
    let error = profile.validate().unwrap_err();
    assert_eq!(
        error,
        ProfileError::RateExemptOffLoopback(Lane::LocalHealth)
    );
}

#[test]
fn zero_reserve() {
    broken_on(
        &PROTECTED,
        |lane| lane.slot_reserve = Slots::ZERO,
        |lane| ProfileError::ZeroReserve(lane, Resource::Slots),
    );
    broken_on(
        &PROTECTED,
        |lane| lane.connection_reserve = Connections::ZERO,
        |lane| ProfileError::ZeroReserve(lane, Resource::Connections),
    );
}

#[test]
fn reserve_without_listener() {
    for lane in Lane::ALL {
        let error = broken(|profile| {
            profile.listeners[lane] = Listener::Absent;
            profile.limits.lanes[lane] = LaneLimits {
                slot_reserve: Slots::new(1),
                ..LaneLimits::NONE
            };
        });
        assert_eq!(
            error,
            ProfileError::ReserveWithoutListener(lane, Resource::Slots)
        );
        let error = broken(|profile| {
            profile.listeners[lane] = Listener::Absent;
            profile.limits.lanes[lane] = LaneLimits {
                connection_reserve: Connections::new(1),
                ..LaneLimits::NONE
            };
        });
        assert_eq!(
            error,
            ProfileError::ReserveWithoutListener(lane, Resource::Connections)
        );
    }
}

#[test]
fn reserve_on_anonymous_lane() {
    let error =
        broken(|profile| profile.limits.lanes[Lane::Anonymous].slot_reserve = Slots::new(1));
    assert_eq!(error, ProfileError::ReserveOnAnonymousLane(Resource::Slots));
    let error = broken(|profile| {
        profile.limits.lanes[Lane::Anonymous].connection_reserve = Connections::new(1)
    });
    assert_eq!(
        error,
        ProfileError::ReserveOnAnonymousLane(Resource::Connections)
    );
}

#[test]
fn reserve_above_share() {
    broken_on(
        &PROTECTED,
        |lane| lane.slots = Slots::new(1),
        |lane| ProfileError::ReserveAboveShare(lane, Resource::Slots),
    );
    broken_on(
        &PROTECTED,
        |lane| lane.connections = Connections::new(1),
        |lane| ProfileError::ReserveAboveShare(lane, Resource::Connections),
    );
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::LocalHealth].slots =
        profile.limits.lanes[Lane::LocalHealth].slot_reserve;
    sound(profile);
}

#[test]
fn reserve_leaves_no_anonymous_capacity() {
    for total in [4, 3] {
        let error = broken(|profile| profile.limits.slots = Slots::new(total));
        let resource = Resource::Slots;
        let total = total.into();
        let expected = ProfileError::ReserveLeavesNoAnonymousCapacity {
            resource,
            reserved: 4,
            total,
        };
        assert_eq!(error, expected);
    }
    let error = broken(|profile| profile.limits.connections = Connections::new(4));
    let resource = Resource::Connections;
    let expected = ProfileError::ReserveLeavesNoAnonymousCapacity {
        resource,
        reserved: 4,
        total: 4,
    };
    assert_eq!(error, expected);
    let error = broken(|profile| profile.limits.bytes_in_flight = Bytes::new(400));
    let resource = Resource::Bytes;
    let expected = ProfileError::ReserveLeavesNoAnonymousCapacity {
        resource,
        reserved: 400,
        total: 400,
    };
    assert_eq!(error, expected);
    let mut profile = THREE_LANES;
    profile.limits.slots = Slots::new(5);
    assert_eq!(sound(profile).general_pool(Resource::Slots), 1);
}

#[test]
fn byte_budget_below_footprint() {
    let error = broken(|profile| profile.limits.bytes_in_flight = Bytes::new(499));
    assert_eq!(
        error,
        ProfileError::ByteBudgetBelowFootprint(Lane::Anonymous)
    );
    let mut profile = THREE_LANES;
    profile.limits.bytes_in_flight = Bytes::new(500);
    sound(profile);
}

#[test]
fn quota_above_the_structural_maximum_is_clamped_and_reported() {
    let maxima = StructuralMaxima(THREE_LANES.limits);
    let mut asked = THREE_LANES.limits;
    asked.slots = Slots::new(9);
    asked.lanes[Lane::LocalHealth].queue = Tickets::new(5);
    asked.lanes[Lane::Anonymous].deadline = Span::from_secs(2);
    asked.lanes[Lane::ProviderHealth].request_rate = RatePolicy::Budget(RateBudget {
        burst: 51,
        per_second: 9,
    });
    let quota = Quota {
        limits: asked,
        listeners: THREE_LANES.listeners,
    };
    let profile = IngressProfile::resolve(&maxima, &quota).unwrap();
    let shared = |field| ClampedField { lane: None, field };
    let on = |lane, field| ClampedField {
        lane: Some(lane),
        field,
    };
    let clamped: Vec<_> = profile.clamps().iter().collect();
    let expected = [
        shared(Field::Slots),
        on(Lane::Anonymous, Field::Deadline),
        on(Lane::LocalHealth, Field::Queue),
        on(Lane::ProviderHealth, Field::RequestRate),
    ];
    assert_eq!(clamped, expected);
    assert!(profile.clamps().contains(expected[0]));
    assert!(!profile.clamps().contains(shared(Field::Connections)));
    assert!(!profile.clamps().is_empty());
    assert_eq!(profile.limits().slots, Slots::new(8));
    assert_eq!(profile.lane(Lane::LocalHealth).queue, Tickets::new(4));
    let granted = RatePolicy::Budget(RateBudget {
        burst: 50,
        per_second: 9,
    });
    assert_eq!(profile.lane(Lane::ProviderHealth).request_rate, granted);
}

/// A field, and a change that asks for too much of it.
type Excess = (Field, fn(&mut LaneLimits));

#[test]
fn every_field_is_clamped_by_itself() {
    let maxima = StructuralMaxima(THREE_LANES.limits);
    let more: [Excess; 14] = [
        (Field::Slots, |lane| lane.slots = Slots::new(99)),
        (Field::Queue, |lane| lane.queue = Tickets::new(99)),
        (Field::SlotReserve, |lane| lane.slot_reserve = Slots::new(3)),
        (Field::Connections, |lane| {
            lane.connections = Connections::new(99)
        }),
        (Field::ConnectionReserve, |lane| {
            lane.connection_reserve = Connections::new(3)
        }),
        (Field::Refusals, |lane| lane.refusals = Connections::new(99)),
        (Field::PerConnection, |lane| {
            lane.per_connection = Requests::new(99)
        }),
        (Field::Footprint, |lane| lane.footprint = Bytes::new(101)),
        (Field::Deadline, |lane| lane.deadline = Span::from_secs(2)),
        (Field::Head, |lane| lane.phases.head = Span::from_secs(9)),
        (Field::Body, |lane| lane.phases.body = Span::from_secs(9)),
        (Field::Write, |lane| lane.phases.write = Span::from_secs(9)),
        (Field::Idle, |lane| lane.phases.idle = Span::from_secs(9)),
        (Field::AcceptRate, |lane| {
            lane.accept_rate = RatePolicy::Budget(RateBudget {
                burst: 50,
                per_second: 11,
            });
        }),
    ];
    for (field, change) in more {
        let mut limits = THREE_LANES.limits;
        change(&mut limits.lanes[Lane::LocalHealth]);
        let quota = Quota {
            limits,
            listeners: THREE_LANES.listeners,
        };
        let profile = IngressProfile::resolve(&maxima, &quota).unwrap();
        let clamped: Vec<_> = profile.clamps().iter().collect();
        assert_eq!(
            clamped,
            [ClampedField {
                lane: Some(Lane::LocalHealth),
                field
            }]
        );
        assert_eq!(*profile.limits(), THREE_LANES.limits, "{}", field.name());
    }
    let mut limits = THREE_LANES.limits;
    limits.connections = Connections::new(99);
    limits.bytes_in_flight = Bytes::new(99_999);
    limits.refusal_deadline = Span::from_secs(9);
    let quota = Quota {
        limits,
        listeners: THREE_LANES.listeners,
    };
    let profile = IngressProfile::resolve(&maxima, &quota).unwrap();
    let clamped: Vec<_> = profile
        .clamps()
        .iter()
        .map(|clamped| clamped.field)
        .collect();
    assert_eq!(
        clamped,
        [
            Field::Connections,
            Field::BytesInFlight,
            Field::RefusalDeadline
        ]
    );
    assert_eq!(*profile.limits(), THREE_LANES.limits);
}

#[test]
fn quota_within_the_maxima_is_granted_as_asked() {
    let quota = Quota {
        limits: THREE_LANES.limits,
        listeners: THREE_LANES.listeners,
    };
    let profile = IngressProfile::resolve(&StructuralMaxima(THREE_LANES.limits), &quota).unwrap();
    assert!(profile.clamps().is_empty());
    assert_eq!(profile.clamps().iter().count(), 0);
    assert_eq!(profile.clamps(), sound(THREE_LANES).clamps());
}

#[test]
fn unmetered_rate_is_cut_to_the_maximum_and_an_exemption_is_not() {
    let mut maxima = StructuralMaxima(THREE_LANES.limits);
    let budget = RatePolicy::Budget(RateBudget {
        burst: 5,
        per_second: 6,
    });
    maxima.0.lanes[Lane::Anonymous].request_rate = budget;
    let mut limits = THREE_LANES.limits;
    limits.lanes[Lane::LocalHealth].request_rate = RatePolicy::LoopbackExempt;
    let quota = Quota {
        limits,
        listeners: THREE_LANES.listeners,
    };
    let profile = IngressProfile::resolve(&maxima, &quota).unwrap();
    assert_eq!(profile.lane(Lane::Anonymous).request_rate, budget);
    assert_eq!(
        profile.lane(Lane::LocalHealth).request_rate,
        RatePolicy::LoopbackExempt
    );
    let clamped: Vec<_> = profile.clamps().iter().collect();
    let field = Field::RequestRate;
    assert_eq!(
        clamped,
        [ClampedField {
            lane: Some(Lane::Anonymous),
            field
        }]
    );
}

#[test]
fn readback_names_what_each_lane_can_reach() {
    let profile = sound(THREE_LANES);
    assert_eq!(profile.general_pool(Resource::Slots), 4);
    assert_eq!(profile.ceiling(Lane::Anonymous, Resource::Slots), 4);
    assert_eq!(profile.ceiling(Lane::LocalHealth, Resource::Slots), 6);
    assert_eq!(
        profile.ceiling(Lane::ProviderHealth, Resource::Connections),
        14
    );
    assert_eq!(profile.general_pool(Resource::Bytes), 9_600);
    assert!(Lane::ALL.iter().all(|lane| profile.is_enabled(*lane)));
    let mut alone = THREE_LANES;
    for lane in PROTECTED {
        alone.listeners[lane] = Listener::Absent;
        alone.limits.lanes[lane] = LaneLimits::NONE;
    }
    let alone = sound(alone);
    assert_eq!(alone.ceiling(Lane::Anonymous, Resource::Slots), 8);
    assert_eq!(alone.ceiling(Lane::LocalHealth, Resource::Slots), 0);
    assert!(!alone.is_enabled(Lane::LocalHealth));
    assert_eq!(alone.tickets_needed(), Some(Tickets::new(12)));
}

#[test]
fn messages_name_lane_and_resource() {
    let error = ProfileError::ZeroReserve(Lane::LocalHealth, Resource::Slots);
    let message = error.to_string();
    assert!(
        message.starts_with("zero_reserve of slots on local_health: "),
        "{message}"
    );
    let error = ProfileError::ReserveLeavesNoAnonymousCapacity {
        resource: Resource::Connections,
        reserved: 9,
        total: 8,
    };
    assert!(
        error
            .to_string()
            .contains("of connections: 9 reserved of 8")
    );
    assert_eq!(LANE.queue, Tickets::new(4));
}
