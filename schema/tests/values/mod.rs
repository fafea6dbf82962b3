//! The fixed values behind the golden bytes, and what they read back as.

use capnp::message::{Builder, HeapAllocator};
use capnp::serialize::write_message_to_words;
use ingress_schema::{discriminator_capnp, evidence_capnp, policy_capnp};
use policy_capnp::Lane;

/// Applies a macro to every counter of a lane and its place in the list, so that
/// no two counters of one lane have the same golden value.
macro_rules! lane_counters {
    ($apply:ident, $lane:expr, $number:expr) => {
        $apply!($lane, set_admitted, get_admitted, 1, $number);
        $apply!($lane, set_completed, get_completed, 2, $number);
        $apply!($lane, set_cancelled, get_cancelled, 3, $number);
        $apply!($lane, set_outstanding, get_outstanding, 4, $number);
        $apply!($lane, set_leaked, get_leaked, 5, $number);
        $apply!($lane, set_lane_pool_full, get_lane_pool_full, 6, $number);
        $apply!(
            $lane,
            set_per_connection_limit,
            get_per_connection_limit,
            7,
            $number
        );
        $apply!($lane, set_rate_limited, get_rate_limited, 8, $number);
        $apply!($lane, set_aggregate_full, get_aggregate_full, 9, $number);
        $apply!(
            $lane,
            set_byte_budget_exhausted,
            get_byte_budget_exhausted,
            10,
            $number
        );
        $apply!(
            $lane,
            set_deadline_exceeded,
            get_deadline_exceeded,
            11,
            $number
        );
        $apply!($lane, set_clock_lost, get_clock_lost, 12, $number);
        $apply!($lane, set_route_denied, get_route_denied, 13, $number);
        $apply!(
            $lane,
            set_dispatched_reserve,
            get_dispatched_reserve,
            14,
            $number
        );
        $apply!(
            $lane,
            set_dispatched_general,
            get_dispatched_general,
            15,
            $number
        );
        $apply!($lane, set_expired, get_expired, 16, $number);
        $apply!($lane, set_slots_in_use, get_slots_in_use, 17, $number);
        $apply!(
            $lane,
            set_slots_high_water,
            get_slots_high_water,
            18,
            $number
        );
        $apply!($lane, set_queued, get_queued, 19, $number);
        $apply!(
            $lane,
            set_queued_high_water,
            get_queued_high_water,
            20,
            $number
        );
        $apply!($lane, set_bytes_in_flight, get_bytes_in_flight, 21, $number);
        $apply!(
            $lane,
            set_bytes_high_water,
            get_bytes_high_water,
            22,
            $number
        );
        $apply!($lane, set_conns_admitted, get_conns_admitted, 23, $number);
        $apply!($lane, set_conns_released, get_conns_released, 24, $number);
        $apply!($lane, set_conns_refused, get_conns_refused, 25, $number);
        $apply!($lane, set_conns_in_use, get_conns_in_use, 26, $number);
        $apply!(
            $lane,
            set_conns_high_water,
            get_conns_high_water,
            27,
            $number
        );
        $apply!($lane, set_conns_leaked, get_conns_leaked, 28, $number);
        $apply!(
            $lane,
            set_refusals_answered,
            get_refusals_answered,
            29,
            $number
        );
        $apply!(
            $lane,
            set_refusals_unanswered,
            get_refusals_unanswered,
            30,
            $number
        );
        $apply!($lane, set_idle_closed, get_idle_closed, 31, $number);
        $apply!($lane, set_timed_out, get_timed_out, 32, $number);
        $apply!(
            $lane,
            set_accept_errors_spinning,
            get_accept_errors_spinning,
            33,
            $number
        );
        $apply!(
            $lane,
            set_accept_errors_consumed,
            get_accept_errors_consumed,
            34,
            $number
        );
    };
}

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

const LANES: [Lane; 3] = [Lane::Anonymous, Lane::LocalHealth, Lane::ProviderHealth];

fn write_lane(mut lane: evidence_capnp::lane_evidence::Builder<'_>, number: u16) {
    lane.set_lane(LANES[usize::from(number) - 1]);
    lane.set_enabled(true);
    lane.set_rate_exempt(number == 2);
    lane_counters!(write_counter, lane, number);
    let mut responses = lane.init_responses(2);
    for (index, status) in (0..).zip([200, 429]) {
        let mut row = responses.reborrow().get(index);
        row.set_status(status);
        row.set_count(u64::from(number) * u64::from(status));
    }
}

pub(crate) fn assert_lane(lane: evidence_capnp::lane_evidence::Reader<'_>, number: u16) {
    assert!(lane.get_lane().unwrap() == LANES[usize::from(number) - 1]);
    assert!(lane.get_enabled());
    assert_eq!(lane.get_rate_exempt(), number == 2);
    lane_counters!(check_counter, lane, number);
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
    root.set_sequence(7);
    root.set_uptime_ns(12_345_678_901);
    root.set_quiescent(true);
    root.set_draining(false);
    write_lane(root.reborrow().init_anonymous(), 1);
    write_lane(root.reborrow().init_local_health(), 2);
    write_lane(root.reborrow().init_provider_health(), 3);
    root.set_admitted(300);
    root.set_completed(280);
    root.set_cancelled(20);
    root.set_outstanding(0);
    root.set_leaked(0);
    root.set_release_balanced(true);
    root.set_foreign_tokens(1);
    root.set_slots_high_water(96);
    root.set_conns_high_water(1024);
    root.set_bytes_in_flight(0);
    root.set_bytes_high_water(1_000_001);
    root.set_console_lines_dropped(5);
    root.set_service_memory_bytes(4_194_304);
    write_message_to_words(&message)
}

fn write_lane_policy(mut lane: policy_capnp::lane_policy::Builder<'_>, number: u32) {
    lane.set_enabled(true);
    lane.set_slots_max(number * 16);
    lane.set_slots_reserve(number * 4);
    lane.set_conns_max(number * 64);
    lane.set_conns_reserve(number * 32);
    lane.set_per_connection_max(number);
    lane.set_queue_max(number * 8);
    lane.set_footprint_bytes(u64::from(number) * 4096);
    lane.set_deadline_ms(u64::from(number) * 1000);
    lane.set_head_deadline_ms(u64::from(number) * 2000);
    lane.set_body_deadline_ms(u64::from(number) * 3000);
    lane.set_write_deadline_ms(u64::from(number) * 4000);
    lane.set_idle_deadline_ms(u64::from(number) * 5000);
    match number {
        1 => lane.reborrow().init_rate().set_unmetered(()),
        2 => lane.reborrow().init_rate().set_exempt(()),
        _ => {
            let mut bucket = lane.reborrow().init_rate().init_bucket();
            bucket.set_per_second(50);
            bucket.set_burst(100);
        }
    }
}

pub(crate) fn policy() -> Vec<u8> {
    let mut message = builder();
    let mut root: policy_capnp::policy::Builder<'_> = message.init_root();
    root.set_slots_max(96);
    root.set_general_slots(80);
    root.set_conns_max(1024);
    root.set_general_conns(960);
    root.set_bytes_max(3_000_000);
    root.set_refusals_max(16);
    root.set_refusal_deadline_ms(1000);
    write_lane_policy(root.reborrow().init_anonymous(), 1);
    write_lane_policy(root.reborrow().init_local_health(), 2);
    write_lane_policy(root.reborrow().init_provider_health(), 3);
    let mut clamp = root.init_clamped(1).get(0);
    clamp.set_field("ingress_public_slots");
    clamp.set_asked(500);
    clamp.set_granted(96);
    write_message_to_words(&message)
}

pub(crate) fn assert_policy(root: policy_capnp::policy::Reader<'_>) {
    use policy_capnp::lane_policy::rate::Which;
    assert_eq!((root.get_slots_max(), root.get_general_slots()), (96, 80));
    assert_eq!(
        (root.get_conns_max(), root.get_general_conns()),
        (1024, 960)
    );
    assert_eq!(
        (root.get_refusals_max(), root.get_refusal_deadline_ms()),
        (16, 1000)
    );
    assert_eq!(root.get_bytes_max(), 3_000_000);
    let local = root.get_local_health().unwrap();
    assert_eq!((local.get_slots_max(), local.get_slots_reserve()), (32, 8));
    assert_eq!(
        (local.get_conns_max(), local.get_conns_reserve()),
        (128, 64)
    );
    assert_eq!(
        (local.get_per_connection_max(), local.get_queue_max()),
        (2, 16)
    );
    assert_eq!(
        (local.get_footprint_bytes(), local.get_deadline_ms()),
        (8192, 2000)
    );
    assert_eq!(
        (local.get_head_deadline_ms(), local.get_body_deadline_ms()),
        (4000, 6000)
    );
    assert_eq!(
        (local.get_write_deadline_ms(), local.get_idle_deadline_ms()),
        (8000, 10_000)
    );
    assert!(matches!(local.get_rate().which(), Ok(Which::Exempt(()))));
    let public = root.get_anonymous().unwrap();
    assert!(matches!(
        public.get_rate().which(),
        Ok(Which::Unmetered(()))
    ));
    match root.get_provider_health().unwrap().get_rate().which() {
        Ok(Which::Bucket(bucket)) => {
            assert_eq!((bucket.get_per_second(), bucket.get_burst()), (50, 100));
        }
        _ => panic!("the provider's rate is a bucket"),
    }
    let clamp = root.get_clamped().unwrap().get(0);
    assert_eq!(clamp.get_field().unwrap(), "ingress_public_slots");
    assert_eq!((clamp.get_asked(), clamp.get_granted()), (500, 96));
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
            "routeDenied = 3013",
            "acceptErrorsConsumed = 1034",
            "(status = 429, count = 1287)",
        ],
        "policy.bin" => &[
            "bucket = (perSecond = 50, burst = 100)",
            "exempt = void",
            "field = \"ingress_public_slots\", asked = 500, granted = 96",
        ],
        other => panic!("nothing is known of {other}"),
    }
}

/// A message in one segment.
fn builder() -> Builder<HeapAllocator> {
    Builder::new(HeapAllocator::new().first_segment_words(1024))
}
