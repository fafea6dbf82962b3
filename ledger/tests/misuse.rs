//! Each misuse of the tokens: refused without effect, and fatal in a debug build.
//!
//! Run once more with `--release`: the panics expected here are a debug build's, and the
//! assertions after them are a release build's.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use ingress_ledger::{
    Bytes, ChannelLifecyclePolicy, Channels, ConnectionPermits, ConnectionUse, Identity,
    IngressFootprint, IngressLedger, IngressReservation, Instant, Issuer, Lane, Misuse, OpenError,
    Owner, PerIdentityChannelPolicy,
};
use support::profiles::{THREE_LANES, sound};

const NOW: Instant = Instant::from_nanos(1_000_000_000);
const FOOTPRINT: IngressFootprint = IngressFootprint::new(Bytes::new(100)).unwrap();

type Ledger<'a> = IngressLedger<'a, 32>;

fn open(issuer: &Issuer) -> Ledger<'_> {
    Ledger::new(&sound(THREE_LANES), issuer).unwrap()
}

fn connection() -> ConnectionUse {
    ConnectionUse::new(Lane::Anonymous, Owner(1))
}

fn ask<'a>(ledger: &mut Ledger<'a>, connection: &mut ConnectionUse) -> IngressReservation<'a> {
    let asked = ledger.request(connection, FOOTPRINT, Instant::MAX, Some(NOW));
    asked.unwrap()
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "issued by another ledger"))]
fn foreign_token_is_refused_without_effect() {
    let issuer = Issuer::new();
    let (mut mine, mut other) = (open(&issuer), open(&issuer));
    let (mut here, mut there) = (connection(), connection());
    // Like-numbered tickets on both ledgers, so that only the seal tells them apart.
    let token = ask(&mut mine, &mut here);
    let twin = ask(&mut other, &mut there);
    assert_eq!(token.ticket(), twin.ticket());
    assert!(!other.holds_slot(&token));
    assert_eq!(other.deadline(&token), None);
    let before = other.evidence();
    let refused = other.complete(token, &mut there).unwrap_err();
    assert_eq!(refused.misuse, Misuse::ForeignToken);
    assert_eq!(other.evidence(), before);
    let refused = other.cancel(refused.token, &mut there).unwrap_err();
    assert_eq!(other.evidence(), before);
    mine.complete(refused.token, &mut here).unwrap();
    other.complete(twin, &mut there).unwrap();
    assert!(mine.evidence().release_balanced() && other.evidence().release_balanced());
}

/// A refused release is an error like others: it says what was wrong, and can be passed on.
#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "issued by another ledger"))]
fn refused_release_is_an_error_that_keeps_the_token() {
    static ISSUER: Issuer = Issuer::new();
    let (mut mine, mut other) = (open(&ISSUER), open(&ISSUER));
    let mut here = connection();
    let token = ask(&mut mine, &mut here);
    let pass_on = || -> Result<(), Box<dyn std::error::Error>> {
        other.cancel(token, &mut connection())?;
        Ok(())
    };
    let passed_on = pass_on().unwrap_err();
    assert_eq!(passed_on.to_string(), Misuse::ForeignToken.explain());
    assert_eq!(ISSUER.leaked(), 0);
    drop(passed_on);
    assert_eq!(ISSUER.leaked(), 1, "dropped at last, it is a leak");
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "issued by another ledger"))]
fn token_of_another_issuer_is_refused_without_effect() {
    let (issuer, stranger) = (Issuer::new(), Issuer::new());
    let (mut mine, mut other) = (open(&issuer), open(&stranger));
    let (mut here, mut there) = (connection(), connection());
    let token = ask(&mut mine, &mut here);
    let twin = ask(&mut other, &mut there);
    let refused = mine.cancel(twin, &mut here).unwrap_err();
    assert_eq!(refused.misuse, Misuse::ForeignToken);
    other.cancel(refused.token, &mut there).unwrap();
    mine.cancel(token, &mut here).unwrap();
}

#[test]
#[cfg_attr(
    debug_assertions,
    should_panic(expected = "admitted on another connection")
)]
fn token_of_another_connection_is_refused_without_effect() {
    let issuer = Issuer::new();
    let mut ledger = open(&issuer);
    let mut mine = connection();
    let mut other = ConnectionUse::new(Lane::Anonymous, Owner(2));
    let token = ask(&mut ledger, &mut mine);
    let second = ask(&mut ledger, &mut other);
    let before = ledger.evidence();
    let refused = ledger.complete(token, &mut other).unwrap_err();
    assert_eq!(refused.misuse, Misuse::WrongConnection);
    assert_eq!(ledger.evidence(), before);
    assert_eq!(other.outstanding().count(), 1);
    ledger.complete(refused.token, &mut mine).unwrap();
    ledger.complete(second, &mut other).unwrap();
}

#[test]
#[cfg_attr(
    debug_assertions,
    should_panic(expected = "admitted on another connection")
)]
fn token_of_a_connection_with_nothing_outstanding_is_refused() {
    let issuer = Issuer::new();
    let mut ledger = open(&issuer);
    let mut mine = connection();
    let token = ask(&mut ledger, &mut mine);
    let refused = ledger.cancel(token, &mut connection()).unwrap_err();
    assert_eq!(refused.misuse, Misuse::WrongConnection);
    ledger.cancel(refused.token, &mut mine).unwrap();
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "holds no slot"))]
fn waiting_token_cannot_be_completed() {
    let issuer = Issuer::new();
    let mut ledger = open(&issuer);
    let mut connections: Vec<_> = (0..5).map(|_| connection()).collect();
    let mut held: Vec<_> = connections
        .iter_mut()
        .map(|one| ask(&mut ledger, one))
        .collect();
    let before = ledger.evidence();
    let waiting = held.pop().unwrap();
    assert!(!ledger.holds_slot(&waiting));
    let refused = ledger.complete(waiting, &mut connections[4]).unwrap_err();
    assert_eq!(refused.misuse, Misuse::NotServing);
    assert_eq!(ledger.evidence(), before);
    ledger.cancel(refused.token, &mut connections[4]).unwrap();
    for (token, connection) in held.into_iter().zip(&mut connections) {
        ledger.complete(token, connection).unwrap();
    }
}

#[test]
fn dropped_token_is_counted_as_a_leak() {
    let issuer = Issuer::new();
    let mut ledger = open(&issuer);
    drop(ask(&mut ledger, &mut connection()));
    let evidence = ledger.evidence();
    assert_eq!(evidence.leaked, 1);
    assert_eq!(issuer.leaked(), 1);
    assert_eq!(
        evidence.outstanding(),
        1,
        "what it was charged stays charged"
    );
    assert!(!evidence.release_balanced());
}

#[test]
#[cfg_attr(
    debug_assertions,
    should_panic(expected = "dropped without being released")
)]
fn operation_after_a_leak_fails_a_debug_build() {
    let issuer = Issuer::new();
    let mut ledger = open(&issuer);
    drop(ask(&mut ledger, &mut connection()));
    assert_eq!(ledger.select_next(NOW), None);
    assert_eq!(ledger.evidence().leaked, 1);
}

/// Whether the operation panics, as it must in a debug build and must not in another.
fn fails_a_debug_build(operation: impl FnOnce()) {
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(operation)).is_err();
    assert_eq!(panicked, cfg!(debug_assertions));
}

#[test]
fn every_operation_after_a_leak_fails_a_debug_build() {
    let issuer = Issuer::new();
    let mut ledger = open(&issuer);
    let mut permits = ConnectionPermits::new(&sound(THREE_LANES), &issuer).unwrap();
    let mut one = connection();
    let served = ask(&mut ledger, &mut one);
    let cancelled = ask(&mut ledger, &mut one);
    let permit = permits.admit(Lane::Anonymous, Some(NOW)).unwrap();
    let refusal = permits.admit_refusal(Lane::Anonymous, NOW).unwrap();
    drop(permits.admit(Lane::Anonymous, Some(NOW)).unwrap());
    assert_eq!(issuer.leaked(), 1);
    fails_a_debug_build(|| {
        std::mem::forget(ask(&mut ledger, &mut one));
    });
    fails_a_debug_build(|| {
        ledger.select_next(NOW);
    });
    fails_a_debug_build(|| ledger.complete(served, &mut one).unwrap());
    fails_a_debug_build(|| ledger.cancel(cancelled, &mut one).unwrap());
    fails_a_debug_build(|| permits.release(permit).unwrap());
    fails_a_debug_build(|| permits.release_refusal(refusal).unwrap());
    fails_a_debug_build(|| std::mem::forget(permits.admit(Lane::Anonymous, Some(NOW))));
    fails_a_debug_build(|| std::mem::forget(permits.admit_refusal(Lane::Anonymous, NOW)));
}

#[test]
fn dropped_permits_are_counted_as_leaks() {
    let issuer = Issuer::new();
    let mut permits = ConnectionPermits::new(&sound(THREE_LANES), &issuer).unwrap();
    drop(permits.admit(Lane::Anonymous, Some(NOW)).unwrap());
    assert_eq!(permits.evidence().leaked, 1);
    assert!(!permits.evidence().release_balanced());
    let issuer = Issuer::new();
    let mut permits = ConnectionPermits::new(&sound(THREE_LANES), &issuer).unwrap();
    drop(permits.admit_refusal(Lane::Anonymous, NOW).unwrap());
    assert_eq!(issuer.leaked(), 1);
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "issued by another ledger"))]
fn token_outlives_its_ledger_and_is_foreign_to_the_next() {
    let issuer = Issuer::new();
    let mut connection = connection();
    let token = {
        let mut ledger = open(&issuer);
        ask(&mut ledger, &mut connection)
    };
    assert_eq!(issuer.leaked(), 0);
    let mut next = open(&issuer);
    let refused = next.cancel(token, &mut connection).unwrap_err();
    assert_eq!(refused.misuse, Misuse::ForeignToken);
    drop(refused);
    assert_eq!(issuer.leaked(), 1, "dropped at last, it is a leak");
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "issued by another ledger"))]
fn foreign_permits_are_refused_without_effect() {
    let issuer = Issuer::new();
    let mut mine = ConnectionPermits::new(&sound(THREE_LANES), &issuer).unwrap();
    let mut other = ConnectionPermits::new(&sound(THREE_LANES), &issuer).unwrap();
    let permit = mine.admit(Lane::Anonymous, Some(NOW)).unwrap();
    let twin = other.admit(Lane::Anonymous, Some(NOW)).unwrap();
    let before = other.evidence();
    let refused = other.release(permit).unwrap_err();
    assert_eq!(refused.misuse, Misuse::ForeignToken);
    assert_eq!(other.evidence(), before);
    mine.release(refused.token).unwrap();
    other.release(twin).unwrap();
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "issued by another ledger"))]
fn foreign_refusal_permits_are_refused_without_effect() {
    let issuer = Issuer::new();
    let mut mine = ConnectionPermits::new(&sound(THREE_LANES), &issuer).unwrap();
    let mut other = ConnectionPermits::new(&sound(THREE_LANES), &issuer).unwrap();
    let permit = mine.admit_refusal(Lane::Anonymous, NOW).unwrap();
    let twin = other.admit_refusal(Lane::Anonymous, NOW).unwrap();
    let refused = other.release_refusal(permit).unwrap_err();
    assert_eq!(refused.misuse, Misuse::ForeignToken);
    assert_eq!(other.evidence().lanes[Lane::Anonymous].refusals_in_use, 1);
    mine.release_refusal(refused.token).unwrap();
    other.release_refusal(twin).unwrap();
}

#[test]
#[cfg_attr(
    debug_assertions,
    should_panic(expected = "given back that was not counted")
)]
fn channel_given_back_twice_is_a_fault() {
    let policy = PerIdentityChannelPolicy::<4>::new(Channels::new(2));
    let identity = Identity::from_number(1);
    policy.check_open(&identity).unwrap();
    policy.on_close(&identity);
    policy.on_close(&identity);
    assert_eq!(policy.evidence().faults, 1);
    assert_eq!(policy.evidence().closed, 1);
}

#[test]
fn ledger_keeps_its_profile_for_life() {
    let issuer = Issuer::new();
    let profile = sound(THREE_LANES);
    let mut ledger = open(&issuer);
    assert_eq!(ledger.open(&profile), Err(OpenError::AlreadyOpen));
    let mut permits = ConnectionPermits::closed(&issuer);
    permits.open(&profile).unwrap();
    assert_eq!(permits.open(&profile), Err(OpenError::AlreadyOpen));
}

#[test]
fn table_smaller_than_the_profile_is_refused() {
    let issuer = Issuer::new();
    let profile = sound(THREE_LANES);
    // Eight slots and three queues of four.
    assert_eq!(profile.tickets_needed().unwrap().count(), 20);
    let refused = IngressLedger::<'_, 19>::new(&profile, &issuer).unwrap_err();
    assert_eq!(
        refused,
        OpenError::TableTooSmall {
            needed: profile.tickets_needed()
        }
    );
    assert!(refused.to_string().contains("TICKETS"));
    assert!(refused.to_string().ends_with("(it needs 20)"));
    assert!(IngressLedger::<'_, 20>::new(&profile, &issuer).is_ok());
}
