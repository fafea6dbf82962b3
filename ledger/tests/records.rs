//! Connection records: a lane's accepts find one, whatever the other lanes do.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use ingress_ledger::Lane::{Anonymous, LocalHealth, ProviderHealth};
use ingress_ledger::{ConnectionRecords, IngressProfile, Lane, LaneLimits, Listener};
use support::profiles::{THREE_LANES, sound};

/// Claims as many records for `lane` as there are for it.
fn fill(records: &mut ConnectionRecords, lane: Lane) -> u64 {
    while records.claim(lane) {}
    records.used(lane)
}

#[test]
fn a_lane_finds_its_records_whatever_the_others_hold() {
    // 16 permits, of which 2 and 2 are reserved, and 3 records beyond them a lane.
    let profile = sound(THREE_LANES);
    for (order, held) in [
        ([Anonymous, LocalHealth, ProviderHealth], [15, 5, 5]),
        ([LocalHealth, ProviderHealth, Anonymous], [17, 5, 3]),
        ([ProviderHealth, Anonymous, LocalHealth], [17, 3, 5]),
    ] {
        let mut records = ConnectionRecords::divide(&profile, 25).unwrap();
        assert_eq!(order.map(|lane| fill(&mut records, lane)), held);
        for lane in order {
            assert!(records.release(lane) && records.claim(lane));
            assert!(!records.claim(lane));
        }
    }
}

#[test]
fn what_was_not_claimed_cannot_be_given_back() {
    let mut records = ConnectionRecords::divide(&sound(THREE_LANES), 25).unwrap();
    assert!(!records.release(Anonymous));
    assert!(records.claim(LocalHealth) && records.release(LocalHealth));
    assert!(!records.release(LocalHealth));
    assert!(!ConnectionRecords::closed().claim(Anonymous));
}

#[test]
fn a_table_without_a_record_beyond_the_permits_is_none() {
    let profile = sound(THREE_LANES);
    for records in [0, 15, 16, 18] {
        assert!(ConnectionRecords::divide(&profile, records).is_none());
    }
    assert!(ConnectionRecords::divide(&profile, 19).is_some());
}

#[test]
fn a_lane_that_does_not_exist_keeps_no_records() {
    let mut profile: IngressProfile = THREE_LANES;
    profile.limits.lanes[Lane::LocalHealth] = LaneLimits::NONE;
    profile.listeners = profile.listeners.with(Lane::LocalHealth, Listener::Absent);
    let mut records = ConnectionRecords::divide(&sound(profile), 20).unwrap();
    assert!(!records.claim(LocalHealth));
    assert_eq!(fill(&mut records, Anonymous), 16);
    assert_eq!(fill(&mut records, ProviderHealth), 4);
}
