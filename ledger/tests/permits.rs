//! Connection permits: each refusal by name, the refusal path's own bounds, phase deadlines,
//! accept failures.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use ingress_ledger::{
    AcceptBackoff, AcceptFailure, BackoffError, BackoffLimits, CloseUnanswered, ConnectionPermit,
    ConnectionPermits, Connections, Instant, Issuer, Lane, Occupancy, Owner, PermitRefusal,
    PhaseDeadline, RateBudget, RatePolicy, SessionMode, SessionPhase, SessionPhases, Span, Status,
    ZeroPhaseDeadline,
};
use support::profiles::{THREE_LANES, sound};

const NOW: Instant = Instant::from_nanos(1_000_000_000);

fn open(issuer: &Issuer) -> ConnectionPermits<'_> {
    ConnectionPermits::new(&sound(THREE_LANES), issuer).unwrap()
}

fn take<'a>(
    permits: &mut ConnectionPermits<'a>,
    lane: Lane,
    count: usize,
) -> Vec<ConnectionPermit<'a>> {
    (0..count)
        .map(|_| permits.admit(lane, Some(NOW)).unwrap())
        .collect()
}

fn release_all<'a>(permits: &mut ConnectionPermits<'a>, held: Vec<ConnectionPermit<'a>>) {
    for permit in held {
        permits.release(permit).unwrap();
    }
    assert_eq!(permits.evidence().in_use, 0);
    assert!(permits.evidence().release_balanced());
}

#[test]
fn clock_lost() {
    let issuer = Issuer::new();
    let mut permits = open(&issuer);
    let refusal = permits.admit(Lane::Anonymous, None).unwrap_err();
    assert_eq!(refusal, PermitRefusal::ClockLost);
    assert_eq!(refusal.status(), Status::SERVICE_UNAVAILABLE);
    let counters = permits.evidence().lanes[Lane::Anonymous].counters;
    assert_eq!((counters.refused, counters.refused_clock_lost), (1, 1));
}

#[test]
fn accepts_are_rate_limited() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::ProviderHealth].accept_rate = RatePolicy::Budget(RateBudget {
        burst: 2,
        per_second: 1,
    });
    let mut permits = ConnectionPermits::new(&sound(profile), &issuer).unwrap();
    for _ in 0..2 {
        let permit = permits.admit(Lane::ProviderHealth, Some(NOW)).unwrap();
        permits.release(permit).unwrap();
    }
    let refusal = permits.admit(Lane::ProviderHealth, Some(NOW)).unwrap_err();
    assert_eq!(
        refusal,
        PermitRefusal::RateLimited {
            ready_in: Span::from_secs(1)
        }
    );
    assert_eq!(refusal.status(), Status::TOO_MANY_REQUESTS);
    assert_eq!(
        refusal.to_string(),
        "accept_rate_limited (ready in 1000 ms)"
    );
    assert_eq!(
        permits.evidence().lanes[Lane::ProviderHealth]
            .counters
            .refused_rate_limited,
        1
    );
}

#[test]
fn lane_full_names_its_ceiling_as_the_count() {
    let issuer = Issuer::new();
    let mut permits = open(&issuer);
    let mut held = take(&mut permits, Lane::Anonymous, 11);
    assert!(permits.can_admit(Lane::Anonymous));
    held.extend(take(&mut permits, Lane::Anonymous, 1));
    assert!(!permits.can_admit(Lane::Anonymous));
    assert!(permits.can_admit(Lane::LocalHealth));
    let refusal = permits.admit(Lane::Anonymous, Some(NOW)).unwrap_err();
    let occupancy = Occupancy {
        in_use: 12,
        limit: 12,
    };
    assert_eq!(refusal, PermitRefusal::LaneFull(occupancy));
    assert_eq!(refusal.occupancy(), Some(occupancy));
    assert_eq!(refusal.status(), Status::TOO_MANY_REQUESTS);
    assert_eq!(
        refusal.to_string(),
        "lane_at_capacity (12 of 12 connections)"
    );
    // The reserves are there for their lanes.
    let local = take(&mut permits, Lane::LocalHealth, 2);
    let provider = take(&mut permits, Lane::ProviderHealth, 2);
    assert_eq!(permits.evidence().in_use, 16);
    release_all(
        &mut permits,
        held.into_iter().chain(local).chain(provider).collect(),
    );
    assert_eq!(permits.evidence().high_water, 16);
}

#[test]
fn total_full_names_the_shared_pool_as_the_count() {
    let issuer = Issuer::new();
    let mut permits = open(&issuer);
    let mut held = take(&mut permits, Lane::LocalHealth, 5);
    held.extend(take(&mut permits, Lane::Anonymous, 9));
    let refusal = permits.admit(Lane::Anonymous, Some(NOW)).unwrap_err();
    let occupancy = Occupancy {
        in_use: 12,
        limit: 12,
    };
    assert_eq!(refusal, PermitRefusal::TotalFull(occupancy));
    assert_eq!(refusal.code(), "at_capacity");
    let counters = permits.evidence().lanes[Lane::Anonymous].counters;
    assert_eq!((counters.refused, counters.refused_total_full), (1, 1));
    release_all(&mut permits, held);
}

#[test]
fn refusals_have_their_own_ceiling_and_deadline_on_each_lane() {
    let issuer = Issuer::new();
    let mut permits = open(&issuer);
    let first = permits.admit_refusal(Lane::Anonymous, NOW).unwrap();
    let second = permits.admit_refusal(Lane::Anonymous, NOW).unwrap();
    assert_eq!(first.deadline(), NOW.after(Span::from_millis(500)));
    assert_eq!(first.lane(), Lane::Anonymous);
    assert_eq!(
        permits.admit_refusal(Lane::Anonymous, NOW).unwrap_err(),
        CloseUnanswered
    );
    let other = permits.admit_refusal(Lane::ProviderHealth, NOW).unwrap();
    permits.release_refusal(first).unwrap();
    let third = permits.admit_refusal(Lane::Anonymous, NOW).unwrap();
    let evidence = permits.evidence().lanes[Lane::Anonymous];
    assert_eq!(evidence.counters.refusals_admitted, 3);
    assert_eq!(evidence.counters.refusals_unanswered, 1);
    assert_eq!(evidence.refusals_in_use, 2);
    for permit in [second, third, other] {
        permits.release_refusal(permit).unwrap();
    }
    assert_eq!(permits.evidence().lanes[Lane::Anonymous].refusals_in_use, 0);
}

#[test]
fn permits_that_are_not_open_refuse_everybody() {
    let issuer = Issuer::new();
    let mut permits = ConnectionPermits::closed(&issuer);
    let refusal = permits.admit(Lane::Anonymous, Some(NOW)).unwrap_err();
    assert_eq!(
        refusal,
        PermitRefusal::LaneFull(Occupancy {
            in_use: 0,
            limit: 0
        })
    );
    assert_eq!(
        permits.admit_refusal(Lane::Anonymous, NOW).unwrap_err(),
        CloseUnanswered
    );
}

#[test]
fn one_thousand_and_twenty_four_connections_and_not_one_more() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    profile.limits.connections = Connections::new(1_024);
    for lane in Lane::ALL {
        profile.limits.lanes[lane].connections = Connections::new(1_024);
    }
    let mut permits = ConnectionPermits::new(&sound(profile), &issuer).unwrap();
    let mut held = take(&mut permits, Lane::Anonymous, 1_020);
    held.extend(take(&mut permits, Lane::LocalHealth, 2));
    held.extend(take(&mut permits, Lane::ProviderHealth, 2));
    for lane in Lane::ALL {
        assert!(permits.admit(lane, Some(NOW)).is_err());
    }
    assert_eq!(permits.evidence().in_use, 1_024);
    release_all(&mut permits, held);
}

#[test]
fn permit_carries_its_lane_to_the_connections_requests() {
    let issuer = Issuer::new();
    let mut permits = open(&issuer);
    let permit = permits.admit(Lane::ProviderHealth, Some(NOW)).unwrap();
    let connection = permit.connection_use(Owner(9));
    assert_eq!(
        (connection.lane(), connection.owner()),
        (Lane::ProviderHealth, Owner(9))
    );
    permits.release(permit).unwrap();
}

#[test]
fn status_rows_give_each_lane_and_all() {
    let issuer = Issuer::new();
    let mut permits = open(&issuer);
    let held = take(&mut permits, Lane::LocalHealth, 3);
    let rows = permits
        .status_rows()
        .map(|row| (row.resource, row.lane, row.in_use, row.limit));
    let expected = [
        ("connections", Some(Lane::Anonymous), 0, 12),
        ("connections", Some(Lane::LocalHealth), 3, 14),
        ("connections", Some(Lane::ProviderHealth), 0, 14),
        ("connections", None, 3, 16),
    ];
    assert_eq!(rows, expected);
    release_all(&mut permits, held);
}

#[test]
fn refusals_explain_themselves() {
    let occupancy = Occupancy {
        in_use: 1,
        limit: 1,
    };
    let all = [
        PermitRefusal::ClockLost,
        PermitRefusal::RateLimited {
            ready_in: Span::ZERO,
        },
        PermitRefusal::LaneFull(occupancy),
        PermitRefusal::TotalFull(occupancy),
    ];
    let codes: std::collections::BTreeSet<_> = all.iter().map(PermitRefusal::code).collect();
    assert_eq!(codes.len(), all.len());
    assert!(all.iter().all(|refusal| refusal.explain().len() > 30));
}

#[test]
fn session_phases_are_timed_unless_silence_is_their_purpose() {
    let phases = SessionPhases::default().validate().unwrap();
    let within = |seconds| PhaseDeadline::Within(Span::from_secs(seconds));
    assert_eq!(phases.deadline(SessionPhase::Preface), within(2));
    assert_eq!(phases.deadline(SessionPhase::Hello), within(5));
    for mode in [SessionMode::Window, SessionMode::Observer] {
        assert_eq!(
            phases.deadline(SessionPhase::FirstOperation(mode)),
            within(30)
        );
    }
    let ops = phases.deadline(SessionPhase::FirstOperation(SessionMode::Ops));
    assert_eq!(ops, PhaseDeadline::Exempt);
    assert_eq!(ops.from(NOW), None);
    assert_eq!(
        within(2).from(NOW),
        Some(Instant::from_nanos(3_000_000_000))
    );
}

#[test]
fn phases_without_time_are_refused() {
    for broken in [
        SessionPhases {
            preface: Span::ZERO,
            ..SessionPhases::DEFAULT
        },
        SessionPhases {
            hello: Span::ZERO,
            ..SessionPhases::DEFAULT
        },
        SessionPhases {
            first_operation: Span::ZERO,
            ..SessionPhases::DEFAULT
        },
    ] {
        assert_eq!(broken.validate(), Err(ZeroPhaseDeadline));
    }
}

#[test]
fn accept_failure_that_spins_backs_off_longer_each_time_on_its_lane_only() {
    let mut backoff = AcceptBackoff::new(BackoffLimits::DEFAULT);
    let mut now = NOW;
    let mut delays = Vec::new();
    for _ in 0..9 {
        let until = backoff
            .failed(Lane::Anonymous, AcceptFailure::Spins, now)
            .unwrap();
        assert!(!backoff.may_accept(Lane::Anonymous, now));
        assert!(backoff.may_accept(Lane::ProviderHealth, now));
        assert_eq!(backoff.resumes(Lane::Anonymous), Some(until));
        delays.push(until.since(now).as_millis());
        now = until;
        assert!(backoff.may_accept(Lane::Anonymous, now));
    }
    assert_eq!(delays, [10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
    assert_eq!(backoff.spun(Lane::Anonymous), 9);
    assert_eq!(backoff.spun(Lane::ProviderHealth), 0);
    backoff.accepted(Lane::Anonymous);
    assert_eq!(backoff.resumes(Lane::Anonymous), None);
    let until = backoff
        .failed(Lane::Anonymous, AcceptFailure::Spins, now)
        .unwrap();
    assert_eq!(until.since(now), Span::from_millis(10));
}

#[test]
fn backoff_without_a_delay_is_refused() {
    let (zero, some) = (Span::ZERO, Span::from_nanos(1));
    assert_eq!(
        BackoffLimits::new(zero, some),
        Err(BackoffError::ZeroFirst),
        "a failing accept would spin"
    );
    assert_eq!(
        BackoffLimits::new(some, zero),
        Err(BackoffError::LongestBelowFirst)
    );
    let mut backoff = AcceptBackoff::new(BackoffLimits::new(some, some).unwrap());
    for _ in 0..100 {
        backoff.failed(Lane::Anonymous, AcceptFailure::Spins, NOW);
        assert!(!backoff.may_accept(Lane::Anonymous, NOW));
    }
}

#[test]
fn accept_failure_that_consumed_its_entry_does_not_back_off() {
    let mut backoff = AcceptBackoff::new(BackoffLimits::DEFAULT);
    for _ in 0..100 {
        assert_eq!(
            backoff.failed(Lane::Anonymous, AcceptFailure::Consumed, NOW),
            None
        );
        assert!(backoff.may_accept(Lane::Anonymous, NOW));
    }
    assert_eq!(backoff.consumed(Lane::Anonymous), 100);
    // It also shows that accepting works again.
    backoff
        .failed(Lane::Anonymous, AcceptFailure::Spins, NOW)
        .unwrap();
    assert_eq!(
        backoff.failed(Lane::Anonymous, AcceptFailure::Consumed, NOW),
        None
    );
    assert!(backoff.may_accept(Lane::Anonymous, NOW));
}
