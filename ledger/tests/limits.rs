//! Clocks and numbers at their ends: nothing overflows, nothing is gained by a clock that
//! steps back, no rate drifts.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use ingress_ledger::{
    Bytes, ConnectionPermits, ConnectionUse, Connections, IngressFootprint, IngressLedger,
    IngressOverload, IngressProfile, Instant, Issuer, Lane, Owner, ProfileError, RateBudget,
    RatePolicy, Requests, Resource, Selected, Slots, Span, Tickets,
};
use support::profiles::{THREE_LANES, sound};

const FOOTPRINT: IngressFootprint = IngressFootprint::new(Bytes::new(1)).unwrap();

type Ledger<'a> = IngressLedger<'a, 32>;

/// Admits and completes one request of the provider lane.
fn serve(ledger: &mut Ledger<'_>, now: Instant) -> Result<(), IngressOverload> {
    let mut connection = ConnectionUse::new(Lane::ProviderHealth, Owner(0));
    let reservation = ledger.request(&mut connection, FOOTPRINT, Instant::MAX, Some(now))?;
    ledger.complete(reservation, &mut connection).unwrap();
    Ok(())
}

fn budgeted(burst: u32, per_second: u32) -> IngressProfile {
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::ProviderHealth].request_rate =
        RatePolicy::Budget(RateBudget { burst, per_second });
    profile
}

#[test]
fn clock_that_steps_back_stands_still() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(budgeted(1, 1)), &issuer).unwrap();
    let now = Instant::from_nanos(10_000_000_000);
    serve(&mut ledger, now).unwrap();
    // Neither budget nor deadline gains from a clock that goes back and forth.
    for _ in 0..100 {
        for early in [0, 5_000_000_000, 9_999_999_999] {
            let limited = serve(&mut ledger, Instant::from_nanos(early)).unwrap_err();
            assert_eq!(
                limited,
                IngressOverload::RateLimited {
                    ready_in: Span::from_secs(1)
                }
            );
        }
        serve(&mut ledger, now).unwrap_err();
    }
    assert_eq!(ledger.evidence().clock_steps_back, 300);
    let mut connection = ConnectionUse::new(Lane::Anonymous, Owner(0));
    let past = Instant::from_nanos(9_000_000_000);
    let late = ledger.request(&mut connection, FOOTPRINT, past, Some(Instant::ZERO));
    assert_eq!(late.unwrap_err(), IngressOverload::DeadlineExceeded);
    serve(&mut ledger, now.after(Span::from_secs(1))).unwrap();
}

#[test]
fn ticket_that_expired_stays_expired_when_the_clock_steps_back() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::Anonymous].slots = Slots::new(1);
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    let mut connection = ConnectionUse::new(Lane::Anonymous, Owner(0));
    let ask = |ledger: &mut Ledger<'_>, connection: &mut ConnectionUse| {
        let zero = Some(Instant::ZERO);
        let ticket = ledger.request(connection, FOOTPRINT, Instant::MAX, zero);
        std::mem::forget(ticket.unwrap());
    };
    ask(&mut ledger, &mut connection);
    ask(&mut ledger, &mut connection);
    ask(&mut ledger, &mut connection);
    let late = Instant::from_nanos(2_000_000_000);
    assert!(matches!(
        ledger.select_next(late),
        Some(Selected::Expired(_))
    ));
    // The second ticket is as late as the first, whatever the clock says now.
    assert!(matches!(
        ledger.select_next(Instant::ZERO),
        Some(Selected::Expired(_))
    ));
}

#[test]
fn rate_is_exact_over_a_long_time() {
    // Three a second is no whole number of nanoseconds a token.
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(budgeted(1, 3)), &issuer).unwrap();
    let mut served = 0_u64;
    let seconds = 10_000;
    // Asked so often that a rounded refill would be lost at each step.
    let step = 7_000_003;
    let mut now = 0;
    while now <= seconds * 1_000_000_000 {
        served += u64::from(serve(&mut ledger, Instant::from_nanos(now)).is_ok());
        now += step;
    }
    // A bucket of one token loses what refills past it: at most one step of each third.
    let most = 1 + 3 * seconds;
    assert!(served <= most, "{served} served of {most}");
    assert!(served >= most * 97 / 100, "{served} served of {most}");
}

#[test]
fn rate_never_exceeds_burst_and_refill_in_any_window() {
    let issuer = Issuer::new();
    let (burst, per_second) = (5, 7);
    let mut ledger = Ledger::new(&sound(budgeted(burst, per_second)), &issuer).unwrap();
    let mut draw = support::profiles::Draw(1);
    let mut now = 0_u64;
    let mut times = Vec::new();
    for _ in 0..3_000 {
        now += draw.below(200_000_000);
        if serve(&mut ledger, Instant::from_nanos(now)).is_ok() {
            times.push(now);
        }
    }
    assert!(times.len() > 500);
    for (first, from) in times.iter().enumerate() {
        for (last, to) in times.iter().enumerate().skip(first) {
            let served = (last - first + 1) as u128;
            let window = u128::from(to - from) * u128::from(per_second);
            assert!(served * 1_000_000_000 <= u128::from(burst) * 1_000_000_000 + window);
        }
    }
}

#[test]
fn rates_at_the_ends_of_their_types() {
    for (burst, per_second) in [(u32::MAX, u32::MAX), (u32::MAX, 1), (1, u32::MAX), (1, 1)] {
        let issuer = Issuer::new();
        let mut ledger = Ledger::new(&sound(budgeted(burst, per_second)), &issuer).unwrap();
        serve(&mut ledger, Instant::ZERO).unwrap();
        serve(&mut ledger, Instant::from_nanos(u64::MAX - 1)).unwrap();
        assert_eq!(ledger.evidence().faults, 0);
    }
}

#[test]
fn clock_at_its_end_admits_nothing_that_could_not_be_timed() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    assert_eq!(
        serve(&mut ledger, Instant::MAX),
        Err(IngressOverload::DeadlineExceeded)
    );
    let last = Instant::from_nanos(u64::MAX - 1);
    let mut permits = ConnectionPermits::new(&sound(THREE_LANES), &issuer).unwrap();
    let refusal = permits.admit_refusal(Lane::Anonymous, last).unwrap();
    assert_eq!(refusal.deadline(), Instant::MAX);
    permits.release_refusal(refusal).unwrap();
}

#[test]
fn profile_at_the_ends_of_its_types() {
    let mut profile = THREE_LANES;
    profile.limits.slots = Slots::new(u32::MAX);
    profile.limits.connections = Connections::new(u32::MAX);
    profile.limits.bytes_in_flight = Bytes::new(u64::MAX);
    for lane in Lane::ALL {
        let limits = &mut profile.limits.lanes[lane];
        limits.slots = Slots::new(u32::MAX);
        limits.connections = Connections::new(u32::MAX);
        limits.queue = Tickets::new(u32::MAX);
        limits.per_connection = Requests::new(u32::MAX);
        limits.deadline = Span::from_nanos(u64::MAX);
    }
    let valid = profile.validate().unwrap();
    assert_eq!(
        valid.tickets_needed(),
        None,
        "does not fit, and no table is large enough"
    );
    let issuer = Issuer::new();
    assert!(Ledger::new(&valid, &issuer).is_err());
    assert_eq!(
        valid.ceiling(Lane::Anonymous, Resource::Slots),
        u64::from(u32::MAX) - 4,
        "everything but the reserves"
    );
}

#[test]
fn footprints_beyond_all_bytes_overflow() {
    let mut profile = THREE_LANES;
    profile.limits.bytes_in_flight = Bytes::new(u64::MAX);
    profile.limits.lanes[Lane::LocalHealth].footprint = Bytes::new(u64::MAX / 2 + 1);
    let overflow = Err(ProfileError::ArithmeticOverflow(Resource::Bytes));
    assert_eq!(profile.validate(), overflow, "one product");
    profile.limits.lanes[Lane::LocalHealth].footprint = Bytes::new(u64::MAX / 2);
    profile.limits.lanes[Lane::ProviderHealth].footprint = Bytes::new(u64::MAX / 2);
    assert_eq!(profile.validate(), overflow, "the sum of two products");
}

#[test]
fn bytes_at_the_end_of_their_type() {
    let mut profile = THREE_LANES;
    profile.limits.bytes_in_flight = Bytes::new(u64::MAX);
    profile.limits.lanes[Lane::Anonymous].footprint = Bytes::new(u64::MAX - 400);
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    let all = IngressFootprint::new(Bytes::new(u64::MAX - 400)).unwrap();
    let mut connection = ConnectionUse::new(Lane::Anonymous, Owner(0));
    let now = Some(Instant::ZERO);
    let held = ledger
        .request(&mut connection, all, Instant::MAX, now)
        .unwrap();
    let full = ledger
        .request(&mut connection, all, Instant::MAX, now)
        .unwrap_err();
    assert!(matches!(full, IngressOverload::ByteBudgetExhausted(_)));
    ledger.complete(held, &mut connection).unwrap();
    assert_eq!(ledger.evidence().bytes_high_water, u64::MAX - 400);
}
