//! The fixed values behind the golden bytes, and what they read back as.

use capnp::message::{Builder, HeapAllocator};
use capnp::serialize::write_message_to_words;
use evidence_capnp::Lane;
use evidence_capnp::{RateKind, ServingState};
use ingress_schema::{discriminator_capnp, evidence_capnp};

/// Applies a macro to every counter of a lane and its place in the list, so that
/// no two counters of one lane have the same golden value.
macro_rules! lane_counters {
    ($apply:ident, $lane:expr, $number:expr) => {
        $apply!($lane, set_admitted, get_admitted, 1, $number);
        $apply!($lane, set_completed, get_completed, 2, $number);
        $apply!($lane, set_cancelled, get_cancelled, 3, $number);
        $apply!($lane, set_expired, get_expired, 4, $number);
        $apply!($lane, set_serving, get_serving, 5, $number);
        $apply!($lane, set_waiting, get_waiting, 6, $number);
        $apply!($lane, set_clock_lost, get_clock_lost, 7, $number);
        $apply!(
            $lane,
            set_deadline_exceeded,
            get_deadline_exceeded,
            8,
            $number
        );
        $apply!($lane, set_rate_limited, get_rate_limited, 9, $number);
        $apply!(
            $lane,
            set_per_connection_limit,
            get_per_connection_limit,
            10,
            $number
        );
        $apply!($lane, set_lane_pool_full, get_lane_pool_full, 11, $number);
        $apply!($lane, set_aggregate_full, get_aggregate_full, 12, $number);
        $apply!(
            $lane,
            set_byte_budget_exhausted,
            get_byte_budget_exhausted,
            13,
            $number
        );
        $apply!($lane, set_route_denied, get_route_denied, 14, $number);
        $apply!($lane, set_slot_reserve, get_slot_reserve, 15, $number);
        $apply!($lane, set_slot_limit, get_slot_limit, 16, $number);
        $apply!(
            $lane,
            set_slots_high_water,
            get_slots_high_water,
            17,
            $number
        );
        $apply!(
            $lane,
            set_waiting_high_water,
            get_waiting_high_water,
            18,
            $number
        );
        $apply!($lane, set_bytes, get_bytes, 19, $number);
        $apply!($lane, set_conns_admitted, get_conns_admitted, 20, $number);
        $apply!($lane, set_conns_released, get_conns_released, 21, $number);
        $apply!($lane, set_conns_refused, get_conns_refused, 22, $number);
        $apply!(
            $lane,
            set_conns_refused_clock_lost,
            get_conns_refused_clock_lost,
            23,
            $number
        );
        $apply!(
            $lane,
            set_conns_refused_rate_limited,
            get_conns_refused_rate_limited,
            24,
            $number
        );
        $apply!(
            $lane,
            set_conns_refused_lane_full,
            get_conns_refused_lane_full,
            25,
            $number
        );
        $apply!(
            $lane,
            set_conns_refused_total_full,
            get_conns_refused_total_full,
            26,
            $number
        );
        $apply!(
            $lane,
            set_conns_turned_away,
            get_conns_turned_away,
            27,
            $number
        );
        $apply!($lane, set_conns_in_use, get_conns_in_use, 28, $number);
        $apply!($lane, set_conns_reserve, get_conns_reserve, 29, $number);
        $apply!($lane, set_conns_limit, get_conns_limit, 30, $number);
        $apply!(
            $lane,
            set_conns_high_water,
            get_conns_high_water,
            31,
            $number
        );
        $apply!(
            $lane,
            set_refusals_admitted,
            get_refusals_admitted,
            32,
            $number
        );
        $apply!(
            $lane,
            set_refusals_unanswered,
            get_refusals_unanswered,
            33,
            $number
        );
        $apply!($lane, set_refusals_in_use, get_refusals_in_use, 34, $number);
        $apply!($lane, set_idle_closed, get_idle_closed, 35, $number);
        $apply!($lane, set_timed_out, get_timed_out, 36, $number);
        $apply!($lane, set_accepts_spun, get_accepts_spun, 37, $number);
        $apply!(
            $lane,
            set_accepts_consumed,
            get_accepts_consumed,
            38,
            $number
        );
    };
}

/// The counter that a lane's record was given last.
const GAVE_WAY: u16 = 39;

macro_rules! write_counter {
    ($lane:expr, $set:ident, $get:ident, $place:expr, $number:expr) => {
        $lane.$set(counter($number, $place))
    };
}

macro_rules! check_counter {
    ($lane:expr, $set:ident, $get:ident, $place:expr, $number:expr) => {
        assert_counter(stringify!($get), $lane.$get(), $number, $place)
    };
}

/// The golden value of a counter: its lane and its place in the record.
fn counter<T: From<u16>>(lane: u16, place: u16) -> T {
    T::from(lane * 1000 + place)
}

fn assert_counter<T: From<u16> + PartialEq + std::fmt::Debug>(
    name: &str,
    read: T,
    lane: u16,
    place: u16,
) {
    assert_eq!(read, counter(lane, place), "{name} of lane {lane}");
}

const RATES: [RateKind; 3] = [RateKind::Unmetered, RateKind::Exempt, RateKind::Budget];

const LANES: [Lane; 3] = [Lane::Anonymous, Lane::LocalHealth, Lane::ProviderHealth];

fn write_lane(mut lane: evidence_capnp::lane_evidence::Builder<'_>, number: u16) {
    lane.set_lane(LANES[usize::from(number) - 1]);
    lane.set_enabled(true);
    lane.set_rate(RATES[usize::from(number) - 1]);
    lane_counters!(write_counter, lane, number);
    lane.set_gave_way(counter(number, GAVE_WAY));
    let mut responses = lane.init_responses(2);
    for (index, status) in (0..).zip([200, 429]) {
        let mut row = responses.reborrow().get(index);
        row.set_status(status);
        row.set_count(u64::from(number) * u64::from(status));
    }
}

/// What a record holds that was not always there: zero in an older one.
#[derive(Clone, Copy)]
pub(crate) enum Age {
    Present,
    BeforeGaveWay,
    BeforeMemory,
}

pub(crate) fn assert_lane(lane: evidence_capnp::lane_evidence::Reader<'_>, number: u16, age: Age) {
    assert!(lane.get_lane().unwrap() == LANES[usize::from(number) - 1]);
    assert!(lane.get_enabled());
    assert!(lane.get_rate().unwrap() == RATES[usize::from(number) - 1]);
    lane_counters!(check_counter, lane, number);
    let gave_way = match age {
        Age::Present => counter(number, GAVE_WAY),
        Age::BeforeGaveWay | Age::BeforeMemory => 0,
    };
    assert_eq!(lane.get_gave_way(), gave_way);
    let rows: Vec<_> = lane
        .get_responses()
        .unwrap()
        .iter()
        .map(|row| (row.get_status(), row.get_count()))
        .collect();
    let number = u64::from(number);
    assert_eq!(rows, [(200, number * 200), (429, number * 429)]);
}

pub(crate) fn evidence() -> Vec<u8> {
    let mut message = builder();
    let mut root: evidence_capnp::evidence::Builder<'_> = message.init_root();
    root.set_uptime_ns(12_345_678_901);
    root.set_state(ServingState::Draining);
    write_lane(root.reborrow().init_anonymous(), 1);
    write_lane(root.reborrow().init_local_health(), 2);
    write_lane(root.reborrow().init_provider_health(), 3);
    root.set_outstanding(4);
    root.set_release_balanced(true);
    root.set_leaked(5);
    root.set_faults(6);
    root.set_clock_steps_back(7);
    root.set_general_used(8);
    root.set_general_pool(80);
    root.set_slots_high_water(96);
    root.set_conns_in_use(9);
    root.set_conns_limit(1024);
    root.set_conns_high_water(1000);
    root.set_bytes_in_flight(10);
    root.set_bytes_high_water(1_000_001);
    root.set_memory_bytes(2_000_002);
    write_message_to_words(&message)
}

pub(crate) fn identify_params() -> Vec<u8> {
    use discriminator_capnp::cap_discriminator::identify_params::Builder as Root;
    let mut message = builder();
    message.init_root::<Root<'_>>().set_cap_id(0x0403_0201);
    write_message_to_words(&message)
}

pub(crate) fn identify_results() -> Vec<u8> {
    use discriminator_capnp::cap_discriminator::identify_results::Builder as Root;
    let mut message = builder();
    let mut root = message.init_root::<Root<'_>>();
    root.set_object_id(0x0102_0304_0506_0708);
    root.set_transport_id(2);
    root.set_port(8081);
    root.set_wildcard(false);
    write_message_to_words(&message)
}

pub(crate) fn compare_params() -> Vec<u8> {
    use discriminator_capnp::cap_discriminator::compare_params::Builder as Root;
    let mut message = builder();
    let mut root = message.init_root::<Root<'_>>();
    root.set_left(5);
    root.set_right(9);
    write_message_to_words(&message)
}

pub(crate) fn compare_results() -> Vec<u8> {
    use discriminator_capnp::cap_discriminator::compare_results::Builder as Root;
    let mut message = builder();
    message.init_root::<Root<'_>>().set_same(true);
    write_message_to_words(&message)
}

/// What the `capnp` tool must say of a file.
pub(crate) fn spoken(file: &str) -> &'static [&'static str] {
    match file {
        "evidence.bin" => &[
            "uptimeNs = 12345678901",
            "releaseBalanced = true",
            "lane = providerHealth",
            "state = draining",
            "rate = exempt",
            "routeDenied = 3014",
            "acceptsConsumed = 1038",
            "(status = 429, count = 1287)",
            "memoryBytes = 2000002",
        ],
        other => panic!("nothing is known of {other}"),
    }
}

/// A message in one segment.
fn builder() -> Builder<HeapAllocator> {
    Builder::new(HeapAllocator::new().first_segment_words(1024))
}
