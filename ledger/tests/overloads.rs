//! Each overload by name: when it is met, what it says, and that it charges nothing.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use ingress_ledger::{
    Bytes, ConnectionUse, IngressFootprint, IngressLedger, IngressOverload, IngressReservation,
    Instant, Issuer, Lane, Occupancy, OverloadKind, Owner, RateBudget, RatePolicy, Selected, Slots,
    Span, Status, Tickets,
};
use support::profiles::{THREE_LANES, sound};

const NOW: Instant = Instant::from_nanos(1_000_000_000);
const FOOTPRINT: IngressFootprint = IngressFootprint::new(Bytes::new(100)).unwrap();

type Ledger<'a> = IngressLedger<'a, 32>;

fn connection(lane: Lane) -> ConnectionUse {
    ConnectionUse::new(lane, Owner(7))
}

/// Asks with a fresh connection, so that no per-connection bound is met.
fn ask<'a>(
    ledger: &mut Ledger<'a>,
    lane: Lane,
) -> Result<(IngressReservation<'a>, ConnectionUse), IngressOverload> {
    let mut connection = connection(lane);
    let asked = ledger.request(&mut connection, FOOTPRINT, Instant::MAX, Some(NOW));
    asked.map(|reservation| (reservation, connection))
}

/// Asks for a request that must be refused, and checks that only its counter changed.
fn refused(ledger: &mut Ledger<'_>, lane: Lane) -> IngressOverload {
    let before = ledger.evidence();
    let overload = ask(ledger, lane).expect_err("refused");
    let mut expected = before;
    expected.lanes[lane].counters.overloads[overload.kind()] += 1;
    assert_eq!(ledger.evidence(), expected);
    overload
}

fn cancel_all<'a>(ledger: &mut Ledger<'a>, held: Vec<(IngressReservation<'a>, ConnectionUse)>) {
    for (reservation, mut connection) in held {
        ledger.cancel(reservation, &mut connection).unwrap();
    }
    assert!(ledger.evidence().is_quiescent());
    assert!(ledger.evidence().release_balanced());
}

#[test]
fn clock_lost() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    for lane in Lane::ALL {
        let overload = ledger
            .request(&mut connection(lane), FOOTPRINT, Instant::MAX, None)
            .unwrap_err();
        assert_eq!(overload, IngressOverload::ClockLost);
        assert_eq!(overload.status(), Status::SERVICE_UNAVAILABLE);
        assert_eq!(
            ledger.evidence().lanes[lane].counters.overloads.clock_lost,
            1
        );
    }
    assert_eq!(ledger.evidence().outstanding(), 0);
}

#[test]
fn deadline_exceeded_at_the_deadline_itself() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    let mut connection = connection(Lane::Anonymous);
    let overload = ledger
        .request(&mut connection, FOOTPRINT, NOW, Some(NOW))
        .unwrap_err();
    assert_eq!(overload, IngressOverload::DeadlineExceeded);
    assert_eq!(overload.status(), Status::SERVICE_UNAVAILABLE);

    let later = NOW.after(Span::from_nanos(1));
    let reservation = ledger
        .request(&mut connection, FOOTPRINT, later, Some(NOW))
        .unwrap();
    assert_eq!(ledger.deadline(&reservation), Some(later));
    ledger.complete(reservation, &mut connection).unwrap();
}

#[test]
fn deadline_exceeded_while_waiting() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(ask(&mut ledger, Lane::Anonymous).unwrap());
    }
    let waiting = held.last().unwrap().0.ticket();
    let expiry = NOW.after(Span::from_secs(1));
    assert_eq!(ledger.next_expiry(), Some(expiry));
    assert_eq!(ledger.select_next(NOW), None);
    let Some(Selected::Expired(chosen)) = ledger.select_next(expiry) else {
        panic!("not expired")
    };
    assert_eq!(chosen.ticket, waiting);
    assert_eq!(ledger.select_next(expiry), None);
    // Expired, it still holds its bytes and its place until it is cancelled, and no slot
    // that is freed is given to it.
    let (serving, mut connection) = held.remove(0);
    ledger.complete(serving, &mut connection).unwrap();
    assert_eq!(ledger.select_next(expiry), None);
    assert!(!ledger.holds_slot(&held.last().unwrap().0));
    assert_eq!(ledger.evidence().lanes[Lane::Anonymous].waiting, 1);
    assert_eq!(ledger.evidence().lanes[Lane::Anonymous].counters.expired, 1);
    cancel_all(&mut ledger, held);
}

#[test]
fn no_deadline_is_longer_than_its_lanes() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    let (reservation, mut connection) = ask(&mut ledger, Lane::ProviderHealth).unwrap();
    assert_eq!(
        ledger.deadline(&reservation),
        Some(NOW.after(Span::from_secs(1)))
    );
    ledger.complete(reservation, &mut connection).unwrap();
}

#[test]
fn rate_limited_until_the_budget_refills() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::ProviderHealth].request_rate = RatePolicy::Budget(RateBudget {
        burst: 2,
        per_second: 4,
    });
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    for _ in 0..2 {
        let (reservation, mut connection) = ask(&mut ledger, Lane::ProviderHealth).unwrap();
        ledger.complete(reservation, &mut connection).unwrap();
    }
    let overload = refused(&mut ledger, Lane::ProviderHealth);
    let ready_in = Span::from_millis(250);
    assert_eq!(overload, IngressOverload::RateLimited { ready_in });
    assert_eq!(overload.status(), Status::TOO_MANY_REQUESTS);
    // The other lanes have budgets of their own.
    let (reservation, mut connection) = ask(&mut ledger, Lane::LocalHealth).unwrap();
    ledger.complete(reservation, &mut connection).unwrap();
    let mut connection = self::connection(Lane::ProviderHealth);
    let early = NOW.after(Span::from_nanos(249_999_999));
    let asked = ledger.request(&mut connection, FOOTPRINT, Instant::MAX, Some(early));
    assert_eq!(
        asked.unwrap_err(),
        IngressOverload::RateLimited {
            ready_in: Span::from_nanos(1)
        }
    );
    let ready = NOW.after(ready_in);
    let reservation = ledger
        .request(&mut connection, FOOTPRINT, Instant::MAX, Some(ready))
        .unwrap();
    ledger.complete(reservation, &mut connection).unwrap();
}

#[test]
fn rate_budget_is_not_spent_on_refusals() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    let lane = &mut profile.limits.lanes[Lane::ProviderHealth];
    lane.request_rate = RatePolicy::Budget(RateBudget {
        burst: 3,
        per_second: 1,
    });
    lane.slots = Slots::new(2);
    lane.queue = Tickets::ZERO;
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    let mut held = vec![
        ask(&mut ledger, Lane::ProviderHealth).unwrap(),
        ask(&mut ledger, Lane::ProviderHealth).unwrap(),
    ];
    for _ in 0..10 {
        let overload = refused(&mut ledger, Lane::ProviderHealth);
        assert_eq!(overload.kind(), OverloadKind::LanePoolFull);
    }
    let (reservation, mut connection) = held.remove(0);
    ledger.complete(reservation, &mut connection).unwrap();
    held.push(ask(&mut ledger, Lane::ProviderHealth).unwrap());
    assert_eq!(
        refused(&mut ledger, Lane::ProviderHealth).kind(),
        OverloadKind::RateLimited
    );
    cancel_all(&mut ledger, held);
}

#[test]
fn per_connection_limit() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    let mut connection = connection(Lane::Anonymous);
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(
            ledger
                .request(&mut connection, FOOTPRINT, Instant::MAX, Some(NOW))
                .unwrap(),
        );
    }
    let overload = ledger
        .request(&mut connection, FOOTPRINT, Instant::MAX, Some(NOW))
        .unwrap_err();
    let limit = Occupancy {
        in_use: 4,
        limit: 4,
    };
    assert_eq!(overload, IngressOverload::PerConnectionLimit(limit));
    assert_eq!(overload.status(), Status::TOO_MANY_REQUESTS);
    assert_eq!(connection.outstanding().count(), 4);
    for reservation in held {
        ledger.complete(reservation, &mut connection).unwrap();
    }
    assert_eq!(connection.outstanding().count(), 0);
}

#[test]
fn lane_pool_full_when_the_lane_holds_all_it_may() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    // Four slots of the general pool, four places in the queue.
    let mut held = Vec::new();
    for place in 0..8 {
        let (reservation, connection) = ask(&mut ledger, Lane::Anonymous).unwrap();
        assert_eq!(ledger.holds_slot(&reservation), place < 4);
        held.push((reservation, connection));
    }
    let overload = refused(&mut ledger, Lane::Anonymous);
    let occupancy = Occupancy {
        in_use: 4,
        limit: 4,
    };
    assert_eq!(overload, IngressOverload::LanePoolFull(occupancy));
    assert_eq!(overload.status(), Status::TOO_MANY_REQUESTS);
    // The reserves are untouched: both protected lanes are served at once.
    for lane in [Lane::LocalHealth, Lane::ProviderHealth] {
        for _ in 0..2 {
            let (reservation, connection) = ask(&mut ledger, lane).unwrap();
            assert!(ledger.holds_slot(&reservation));
            held.push((reservation, connection));
        }
    }
    cancel_all(&mut ledger, held);
}

#[test]
fn aggregate_full_when_others_hold_the_pool() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::LocalHealth].queue = Tickets::ZERO;
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(ask(&mut ledger, Lane::Anonymous).unwrap());
    }
    for _ in 0..2 {
        held.push(ask(&mut ledger, Lane::LocalHealth).unwrap());
    }
    let overload = refused(&mut ledger, Lane::LocalHealth);
    let occupancy = Occupancy {
        in_use: 4,
        limit: 4,
    };
    assert_eq!(overload, IngressOverload::AggregateFull(occupancy));
    assert_eq!(overload.status(), Status::SERVICE_UNAVAILABLE);
    cancel_all(&mut ledger, held);
}

#[test]
fn full_queue_is_the_lanes_own_doing_while_slots_fall_free() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    // Four slots of the general pool and four places in the queue, all of the public's.
    let mut held: Vec<_> = (0..8)
        .map(|_| ask(&mut ledger, Lane::Anonymous).unwrap())
        .collect();
    for free in 1..=4 {
        let (served, mut connection) = held.remove(0);
        ledger.complete(served, &mut connection).unwrap();
        // The slot is promised to a ticket that dispatch has not chosen yet.
        let overload = refused(&mut ledger, Lane::Anonymous);
        let occupancy = Occupancy {
            in_use: 4 - free,
            limit: 4,
        };
        assert_eq!(overload, IngressOverload::LanePoolFull(occupancy));
        assert_eq!(overload.status(), Status::TOO_MANY_REQUESTS);
    }
    cancel_all(&mut ledger, held);
}

#[test]
fn slot_promised_to_other_lanes_is_the_pools_end() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    profile.limits.lanes[Lane::LocalHealth].queue = Tickets::ZERO;
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    let mut held: Vec<_> = (0..8)
        .map(|_| ask(&mut ledger, Lane::Anonymous).unwrap())
        .collect();
    held.extend((0..2).map(|_| ask(&mut ledger, Lane::LocalHealth).unwrap()));
    let (served, mut connection) = held.remove(0);
    ledger.complete(served, &mut connection).unwrap();
    // The local lane has no queue that it could have filled: the public's tickets wait.
    let overload = refused(&mut ledger, Lane::LocalHealth);
    let occupancy = Occupancy {
        in_use: 3,
        limit: 4,
    };
    assert_eq!(overload, IngressOverload::AggregateFull(occupancy));
    cancel_all(&mut ledger, held);
}

#[test]
fn byte_budget_exhausted() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    // Two reserves of two requests of 100 bytes, and 250 bytes beside them.
    profile.limits.bytes_in_flight = Bytes::new(650);
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    let mut held = vec![
        ask(&mut ledger, Lane::Anonymous).unwrap(),
        ask(&mut ledger, Lane::Anonymous).unwrap(),
    ];
    let overload = refused(&mut ledger, Lane::Anonymous);
    let occupancy = Occupancy {
        in_use: 200,
        limit: 250,
    };
    assert_eq!(overload, IngressOverload::ByteBudgetExhausted(occupancy));
    assert_eq!(overload.status(), Status::SERVICE_UNAVAILABLE);
    // The lanes with reserves find their bytes, and no more than those.
    for _ in 0..2 {
        held.push(ask(&mut ledger, Lane::ProviderHealth).unwrap());
        held.push(ask(&mut ledger, Lane::LocalHealth).unwrap());
    }
    let kind = refused(&mut ledger, Lane::ProviderHealth).kind();
    assert_eq!(kind, OverloadKind::ByteBudgetExhausted);
    cancel_all(&mut ledger, held);
}

#[test]
fn byte_budget_exhausted_by_one_request_above_its_lanes_footprint() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    let mut connection = connection(Lane::ProviderHealth);
    let large = IngressFootprint::new(Bytes::new(101)).unwrap();
    let overload = ledger
        .request(&mut connection, large, Instant::MAX, Some(NOW))
        .unwrap_err();
    let occupancy = Occupancy {
        in_use: 101,
        limit: 100,
    };
    assert_eq!(overload, IngressOverload::ByteBudgetExhausted(occupancy));
}

#[test]
fn a_lane_that_does_not_exist_holds_its_maximum_of_nothing() {
    let issuer = Issuer::new();
    let mut ledger: Ledger<'_> = IngressLedger::closed(&issuer);
    let nothing = Occupancy {
        in_use: 0,
        limit: 0,
    };
    for lane in Lane::ALL {
        assert_eq!(
            refused(&mut ledger, lane),
            IngressOverload::LanePoolFull(nothing)
        );
        assert_eq!(ledger.footprint(lane), None);
    }
}

#[test]
fn checks_come_in_their_order() {
    let issuer = Issuer::new();
    let mut profile = THREE_LANES;
    let lane = &mut profile.limits.lanes[Lane::ProviderHealth];
    lane.request_rate = RatePolicy::Budget(RateBudget {
        burst: 1,
        per_second: 1,
    });
    lane.per_connection = ingress_ledger::Requests::new(1);
    lane.slots = Slots::new(2);
    lane.slot_reserve = Slots::new(1);
    lane.queue = Tickets::ZERO;
    let mut ledger = Ledger::new(&sound(profile), &issuer).unwrap();
    let mut one = connection(Lane::ProviderHealth);
    let large = IngressFootprint::new(Bytes::new(1_000)).unwrap();
    let held = ledger
        .request(&mut one, FOOTPRINT, Instant::MAX, Some(NOW))
        .unwrap();
    let second = NOW.after(Span::from_secs(1));
    // Everything is wrong at once; then one thing after another is mended.
    let mut asked = |connection: &mut ConnectionUse, footprint, deadline, now| {
        ledger
            .request(connection, footprint, deadline, now)
            .unwrap_err()
            .kind()
    };
    assert_eq!(asked(&mut one, large, NOW, None), OverloadKind::ClockLost);
    assert_eq!(
        asked(&mut one, large, NOW, Some(NOW)),
        OverloadKind::DeadlineExceeded
    );
    assert_eq!(
        asked(&mut one, large, Instant::MAX, Some(NOW)),
        OverloadKind::RateLimited
    );
    assert_eq!(
        asked(&mut one, large, Instant::MAX, Some(second)),
        OverloadKind::PerConnectionLimit
    );
    let mut two = connection(Lane::ProviderHealth);
    assert_eq!(
        asked(&mut two, large, Instant::MAX, Some(second)),
        OverloadKind::ByteBudgetExhausted
    );
    let other = ledger
        .request(&mut two, FOOTPRINT, Instant::MAX, Some(second))
        .unwrap();
    let third = second.after(Span::from_secs(1));
    let mut three = connection(Lane::ProviderHealth);
    let asked = ledger.request(&mut three, large, Instant::MAX, Some(third));
    assert_eq!(asked.unwrap_err().kind(), OverloadKind::LanePoolFull);
    ledger.complete(held, &mut one).unwrap();
    ledger.complete(other, &mut two).unwrap();
}

#[test]
fn statuses_codes_and_explanations_are_distinct_and_complete() {
    let mut codes = std::collections::BTreeSet::new();
    for kind in OverloadKind::ALL {
        assert!(codes.insert(kind.code()), "{}", kind.code());
        assert!(kind.explain().len() > 30, "{}", kind.code());
        let callers_doing = matches!(
            kind,
            OverloadKind::LanePoolFull
                | OverloadKind::PerConnectionLimit
                | OverloadKind::RateLimited
        );
        assert_eq!(kind.status(), Status(if callers_doing { 429 } else { 503 }));
    }
    let full = IngressOverload::LanePoolFull(Occupancy {
        in_use: 3,
        limit: 3,
    });
    assert_eq!(full.to_string(), "lane_pool_full (3 of 3)");
    let limited = IngressOverload::RateLimited {
        ready_in: Span::from_nanos(1_500_001),
    };
    assert_eq!(limited.to_string(), "rate_limited (ready in 2 ms)");
    assert_eq!(IngressOverload::ClockLost.to_string(), "clock_lost");
    assert_eq!(
        full.occupancy(),
        Some(Occupancy {
            in_use: 3,
            limit: 3
        })
    );
    assert_eq!(IngressOverload::ClockLost.occupancy(), None);
}

#[test]
fn status_rows_name_what_is_bounded() {
    let issuer = Issuer::new();
    let mut ledger = Ledger::new(&sound(THREE_LANES), &issuer).unwrap();
    let held = vec![ask(&mut ledger, Lane::LocalHealth).unwrap()];
    let rows = ledger.status_rows();
    let row = |resource, lane| {
        let row = rows
            .iter()
            .find(|row| row.resource == resource && row.lane == lane)
            .unwrap();
        (row.in_use, row.limit)
    };
    assert_eq!(row("slots", Some(Lane::LocalHealth)), (1, 6));
    assert_eq!(row("slots", Some(Lane::Anonymous)), (0, 4));
    assert_eq!(row("queue", Some(Lane::LocalHealth)), (0, 4));
    assert_eq!(row("slots", None), (1, 8));
    assert_eq!(row("bytes", None), (100, 10_000));
    cancel_all(&mut ledger, held);
}
