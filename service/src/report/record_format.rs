//! The evidence as one capnp message, `Evidence` of the schema, written word by word.
//!
//! A `capnp` message builder allocates; this layout is fixed but for the lists of statuses, so that
//! it is written front to back into a fixed buffer. A host test reads it with the schema's own
//! bindings, field by field.
//!
//! ```text
//! segment table │ root pointer │ Evidence (15 + 3) │ 3 × LaneEvidence (40 + 1) │ 3 × list of statuses
//! ```

use ingress_ledger::{Lane, OverloadKind, PerLane, RatePolicy};

use crate::http::status::{Status, StatusCounters};
use crate::http::write::Text;
use crate::report::evidence::{Evidence, ServingState};

const ROOT_DATA: u64 = 15;
const ROOT_POINTERS: u64 = 3;
const LANE_DATA: u64 = 40;
const LANE_POINTERS: u64 = 1;
const LANE_WORDS: u64 = LANE_DATA + LANE_POINTERS;
/// Words of one `StatusCount`.
const STATUS_WORDS: u64 = 2;

/// Writes the message.
pub(crate) fn write(evidence: &Evidence, body: &mut Text<'_>) {
    let statuses = PerLane::from_fn(|lane| sent(&evidence.service[lane].responses).count() as u64);
    let list_words = |lane: Lane| {
        STATUS_WORDS
            .saturating_mul(statuses[lane])
            .saturating_add(1)
    };
    let lists = Lane::ALL
        .into_iter()
        .fold(0u64, |sum, lane| sum.saturating_add(list_words(lane)));
    let words = 1 + ROOT_DATA + ROOT_POINTERS + 3 * LANE_WORDS;
    word(body, words.saturating_add(lists) << 32);
    word(body, struct_pointer(0, ROOT_DATA, ROOT_POINTERS));
    write_root(evidence, body);
    for lanes_before in [0, 1, 2] {
        // The pointers that are still to come, then the lanes that come first.
        let pointers_left = 2u64.saturating_sub(lanes_before);
        let offset = pointers_left.saturating_add(LANE_WORDS.saturating_mul(lanes_before));
        word(body, struct_pointer(offset, LANE_DATA, LANE_POINTERS));
    }
    let mut before: u64 = 0;
    for (place, lane) in (0u64..).zip(Lane::ALL) {
        write_lane(evidence, lane, body);
        let lanes_left = 2u64.saturating_sub(place).saturating_mul(LANE_WORDS);
        let elements = STATUS_WORDS.saturating_mul(statuses[lane]);
        word(
            body,
            list_pointer(lanes_left.saturating_add(before), elements),
        );
        before = before.saturating_add(list_words(lane));
    }
    for lane in Lane::ALL {
        word(body, struct_pointer(statuses[lane], STATUS_WORDS, 0));
        for (status, count) in sent(&evidence.service[lane].responses) {
            word(body, status.code().into());
            word(body, count);
        }
    }
}

fn sent(responses: &StatusCounters) -> impl Iterator<Item = (Status, u64)> {
    Status::ALL
        .into_iter()
        .map(|status| (status, responses.of(status)))
        .filter(|(_, count)| *count > 0)
}

fn write_root(evidence: &Evidence, body: &mut Text<'_>) {
    let ledger = &evidence.ledger;
    let permits = &evidence.permits;
    let state: u64 = match evidence.state {
        ServingState::Serving => 1,
        ServingState::Draining => 2,
    };
    for value in [
        evidence.uptime.as_nanos(),
        state | u64::from(evidence.release_balanced()) << 16,
        ledger.outstanding(),
        ledger.leaked,
        evidence.faults,
        ledger.clock_steps_back,
        ledger.general_used,
        ledger.general_pool,
        ledger.slots_high_water,
        permits.in_use,
        permits.limit,
        permits.high_water,
        ledger.bytes_in_flight,
        ledger.bytes_high_water,
        evidence.memory.count(),
    ] {
        word(body, value);
    }
}

fn write_lane(evidence: &Evidence, lane: Lane, body: &mut Text<'_>) {
    let requests = &evidence.ledger.lanes[lane];
    let counters = &requests.counters;
    let conns = &evidence.permits.lanes[lane];
    let service = &evidence.service[lane];
    let place: u64 = match lane {
        Lane::Anonymous => 0,
        Lane::LocalHealth => 1,
        Lane::ProviderHealth => 2,
    };
    let rate: u64 = match requests.rate {
        RatePolicy::Budget(_) => 1,
        RatePolicy::LoopbackExempt => 2,
        RatePolicy::Unmetered => 3,
    };
    word(
        body,
        place | u64::from(evidence.enabled[lane]) << 16 | rate << 32,
    );
    for value in [
        counters.admitted,
        counters.completed,
        counters.cancelled,
        counters.expired,
    ] {
        word(body, value);
    }
    word(body, requests.serving);
    word(body, requests.waiting);
    for kind in OverloadKind::ALL {
        word(body, counters.overloads[kind]);
    }
    for value in [
        counters.route_denied,
        requests.slot_reserve,
        requests.slot_limit,
        counters.slots_high_water,
        counters.waiting_high_water,
        requests.bytes,
        conns.counters.admitted,
        conns.counters.released,
        conns.counters.refused,
        conns.counters.refused_clock_lost,
        conns.counters.refused_rate_limited,
        conns.counters.refused_lane_full,
        conns.counters.refused_total_full,
        service.turned_away,
        conns.in_use,
        conns.reserve,
        conns.limit,
        conns.counters.high_water,
        conns.counters.refusals_admitted,
        evidence.refusals_unanswered(lane),
        conns.refusals_in_use,
        service.idle_closed,
        service.timed_out,
        service.accepts_spun,
        service.accepts_consumed,
        service.gave_way,
    ] {
        word(body, value);
    }
}

fn word(body: &mut Text<'_>, value: u64) {
    body.bytes(&value.to_le_bytes());
}

/// A pointer to a struct `offset` words behind the pointer's end; also a list's tag, `offset` then
/// being the number of its elements.
const fn struct_pointer(offset: u64, data: u64, pointers: u64) -> u64 {
    offset << 2 | data << 32 | pointers << 48
}

/// A pointer to a list of structs of so many words in all, its tag not counted.
const fn list_pointer(offset: u64, words: u64) -> u64 {
    offset << 2 | 1 | 7 << 32 | words << 35
}
