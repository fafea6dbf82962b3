//! Denials: what a lane answers without admitting it draws on the budget that admissions draw
//! on, and past that it is not answered for ever.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use ingress_ledger::{
    Bytes, ConnectionUse, IngressFootprint, IngressLedger, IngressOverload, IngressProfile,
    Instant, Issuer, Lane, OverloadKind, Owner, RateBudget, RatePolicy, Slots, Span, Tickets,
};
use support::profiles::{THREE_LANES, sound};

const NOW: Instant = Instant::from_nanos(1_000_000_000);
const FOOTPRINT: IngressFootprint = IngressFootprint::new(Bytes::new(100)).unwrap();
const PROVIDER: Lane = Lane::ProviderHealth;

type Ledger<'a> = IngressLedger<'a, 32>;

fn budgeted(burst: u32, per_second: u32) -> IngressProfile {
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::ProviderHealth].request_rate =
        RatePolicy::Budget(RateBudget { burst, per_second });
    profile
}

fn serve(ledger: &mut Ledger<'_>, now: Instant) -> Result<(), IngressOverload> {
    let mut connection = ConnectionUse::new(PROVIDER, Owner(0));
    let reservation = ledger.request(&mut connection, FOOTPRINT, Instant::MAX, Some(now))?;
    ledger.complete(reservation, &mut connection).unwrap();
    Ok(())
}

#[test]
fn flood_of_denials_ends_with_the_budget() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(budgeted(3, 2)), &issuer).unwrap();
    for _ in 0..3 {
        ledger.charge_denial(PROVIDER, Some(NOW)).unwrap();
    }
    let ready_in = Span::from_millis(500);
    for unpaid in 1..=100 {
        let mut expected = ledger.evidence();
        let over = ledger.charge_denial(PROVIDER, Some(NOW)).unwrap_err();
        assert_eq!(over, IngressOverload::RateLimited { ready_in });
        expected.lanes[Lane::ProviderHealth].counters.denials_unpaid = unpaid;
        assert_eq!(ledger.evidence(), expected, "and nothing else changed");
    }
    assert_eq!(
        ledger.evidence().lanes[Lane::ProviderHealth]
            .counters
            .denials,
        3
    );
    let later = Some(NOW.after(ready_in));
    ledger.charge_denial(PROVIDER, later).unwrap();
    ledger.charge_denial(PROVIDER, later).unwrap_err();
    // No other lane has paid for any of it.
    for lane in [Lane::Anonymous, Lane::LocalHealth] {
        ledger.charge_denial(lane, later).unwrap();
    }
}

#[test]
fn requests_and_denials_draw_on_one_budget() {
    let issuer = Issuer::new();
    let (burst, per_second) = (7_u64, 40_u64);
    let mut ledger = Ledger::new(&sound(budgeted(7, 40)), &issuer).unwrap();
    let mut answered = Vec::new();
    let mut now = 1_u64;
    for turn in 0..4_000_u64 {
        now += turn * 7_919 % 20_000_000;
        let at = Instant::from_nanos(now);
        let paid = if turn % 3 == 0 {
            serve(&mut ledger, at).is_ok()
        } else {
            ledger.charge_denial(PROVIDER, Some(at)).is_ok()
        };
        answered.extend(paid.then_some(now));
    }
    for (first, begin) in answered.iter().enumerate() {
        for (last, end) in answered.iter().enumerate().skip(first) {
            let most = burst + (end - begin) * per_second / 1_000_000_000;
            assert!((last - first) as u64 <= most, "{first} to {last}");
        }
    }
    let counters = ledger.evidence().lanes[Lane::ProviderHealth].counters;
    assert_eq!(
        counters.admitted + counters.denials,
        answered.len() as u64,
        "each was paid for once"
    );
    assert!(counters.denials > 100 && counters.admitted > 50 && counters.denials_unpaid > 100);
}

#[test]
fn refusals_that_are_answered_end_with_the_budget_too() {
    let issuer = Issuer::new();
    let mut profile = budgeted(5, 1);
    profile.limits.lanes[Lane::ProviderHealth].slots = Slots::new(2);
    profile.limits.lanes[Lane::ProviderHealth].queue = Tickets::ZERO;
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    let mut connection = ConnectionUse::new(PROVIDER, Owner(0));
    let mut ask = |ledger: &mut Ledger<'_>| {
        let asked = ledger.request(&mut connection, FOOTPRINT, Instant::MAX, Some(NOW));
        asked.map(std::mem::forget).map_err(|full| full.kind())
    };
    assert_eq!((ask(&mut ledger), ask(&mut ledger)), (Ok(()), Ok(())));
    // Each 429 for the lane's full pool is paid for, until there is nothing left to pay with.
    for _ in 0..3 {
        assert_eq!(ask(&mut ledger), Err(OverloadKind::LanePoolFull));
        ledger.charge_denial(PROVIDER, Some(NOW)).unwrap();
    }
    assert_eq!(ask(&mut ledger), Err(OverloadKind::RateLimited));
    let over = ledger.charge_denial(PROVIDER, Some(NOW)).unwrap_err();
    assert_eq!(over.kind(), OverloadKind::RateLimited);
}

#[test]
fn exempt_and_public_lanes_count_their_denials_and_pay_nothing() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::LocalHealth].request_rate = RatePolicy::LoopbackExempt;
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    for lane in [Lane::Anonymous, Lane::LocalHealth] {
        for _ in 0..1_000 {
            ledger.charge_denial(lane, Some(NOW)).unwrap();
        }
        let counters = ledger.evidence().lanes[lane].counters;
        assert_eq!((counters.denials, counters.denials_unpaid), (1_000, 0));
    }
}

#[test]
fn denial_without_a_clock_is_not_paid_for() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    for lane in Lane::ALL {
        let lost = ledger.charge_denial(lane, None).unwrap_err();
        assert_eq!(lost, IngressOverload::ClockLost);
        let counters = ledger.evidence().lanes[lane].counters;
        assert_eq!((counters.denials, counters.denials_unpaid), (0, 1));
    }
}

#[test]
fn clock_that_steps_back_pays_for_no_denial() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(budgeted(1, 1)), &issuer).unwrap();
    ledger.charge_denial(PROVIDER, Some(NOW)).unwrap();
    for early in [0, 999_999_999] {
        let early = Some(Instant::from_nanos(early));
        ledger.charge_denial(PROVIDER, early).unwrap_err();
    }
    assert_eq!(ledger.evidence().clock_steps_back, 2);
    let second = NOW.after(Span::from_secs(1));
    serve(&mut ledger, second).unwrap();
    ledger.charge_denial(PROVIDER, Some(second)).unwrap_err();
}
