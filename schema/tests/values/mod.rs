//! The fixed values behind the golden bytes, and what they read back as.

use capnp::introspect::TypeVariant;
use capnp::message::{Builder, HeapAllocator};
use capnp::schema::{Field, StructSchema};
use capnp::schema_capnp::field;
use capnp::serialize::write_message_to_words;
use capnp::{dynamic_struct, dynamic_value};
use evidence_capnp::Lane;
use evidence_capnp::{RateKind, ServingState};
use ingress_schema::{discriminator_capnp, evidence_capnp};

/// The names of a struct's numbers, by the word that each stands in.
fn numbers(schema: StructSchema) -> Vec<(u32, String)> {
    let name = |field: Field| {
        let proto = field.get_proto();
        let (Ok(field::Slot(slot)), TypeVariant::UInt64) =
            (proto.which(), field.get_type().which())
        else {
            return None;
        };
        Some((slot.get_offset(), proto.get_name().ok()?.to_string().ok()?))
    };
    schema
        .get_fields()
        .unwrap()
        .iter()
        .filter_map(name)
        .collect()
}

/// The golden numbers of a lane: the lane, and the word in its record.
fn lane_numbers(lane: u16) -> impl Fn(usize, u32) -> u64 {
    move |_, word| u64::from(lane) * 1000 + u64::from(word)
}

/// Those of the whole, in their order; whatever is appended is its word.
fn root_number(place: usize, word: u32) -> u64 {
    const NUMBERS: [u64; 14] = [
        12_345_678_901,
        4,
        5,
        6,
        7,
        8,
        80,
        96,
        9,
        1024,
        1000,
        10,
        1_000_001,
        2_000_002,
    ];
    NUMBERS.get(place).copied().unwrap_or_else(|| word.into())
}

fn set_numbers(mut record: dynamic_struct::Builder<'_>, golden: impl Fn(usize, u32) -> u64) {
    let names = numbers(record.get_schema());
    for (place, (word, name)) in names.iter().enumerate() {
        let value = golden(place, *word);
        record.set_named(name, value.into()).unwrap();
    }
}

/// A record of an older service ends before the numbers that came later, which are zero then:
/// from one on, all that follow.
fn assert_numbers(record: dynamic_struct::Reader<'_>, golden: impl Fn(usize, u32) -> u64) {
    let mut ended = false;
    for (place, (word, name)) in numbers(record.get_schema()).iter().enumerate() {
        let read: u64 = record.get_named(name).unwrap().downcast();
        ended = ended || read == 0;
        let expected = if ended { 0 } else { golden(place, *word) };
        assert_eq!(read, expected, "{name}");
    }
}

const RATES: [RateKind; 3] = [RateKind::Unmetered, RateKind::Exempt, RateKind::Budget];

const LANES: [Lane; 3] = [Lane::Anonymous, Lane::LocalHealth, Lane::ProviderHealth];

fn write_lane(mut lane: evidence_capnp::lane_evidence::Builder<'_>, number: u16) {
    lane.set_lane(LANES[usize::from(number) - 1]);
    lane.set_enabled(true);
    lane.set_rate(RATES[usize::from(number) - 1]);
    set_numbers(
        dynamic_value::Builder::from(lane.reborrow()).downcast(),
        lane_numbers(number),
    );
    let mut responses = lane.init_responses(2);
    for (index, status) in (0..).zip([200, 429]) {
        let mut row = responses.reborrow().get(index);
        row.set_status(status);
        row.set_count(u64::from(number) * u64::from(status));
    }
}

fn assert_lane(lane: evidence_capnp::lane_evidence::Reader<'_>, number: u16) {
    assert!(lane.get_lane().unwrap() == LANES[usize::from(number) - 1]);
    assert!(lane.get_enabled());
    assert!(lane.get_rate().unwrap() == RATES[usize::from(number) - 1]);
    assert_numbers(
        dynamic_value::Reader::from(lane).downcast(),
        lane_numbers(number),
    );
    let rows: Vec<_> = lane
        .get_responses()
        .unwrap()
        .iter()
        .map(|row| (row.get_status(), row.get_count()))
        .collect();
    let number = u64::from(number);
    assert_eq!(rows, [(200, number * 200), (429, number * 429)]);
}

pub(crate) fn assert_evidence(root: evidence_capnp::evidence::Reader<'_>) {
    assert!(root.get_state().unwrap() == ServingState::Draining);
    assert!(root.get_release_balanced());
    assert_numbers(dynamic_value::Reader::from(root).downcast(), root_number);
    assert_lane(root.get_anonymous().unwrap(), 1);
    assert_lane(root.get_local_health().unwrap(), 2);
    assert_lane(root.get_provider_health().unwrap(), 3);
}

pub(crate) fn evidence() -> Vec<u8> {
    let mut message = builder();
    let mut root: evidence_capnp::evidence::Builder<'_> = message.init_root();
    root.set_state(ServingState::Draining);
    root.set_release_balanced(true);
    set_numbers(
        dynamic_value::Builder::from(root.reborrow()).downcast(),
        root_number,
    );
    write_lane(root.reborrow().init_anonymous(), 1);
    write_lane(root.reborrow().init_local_health(), 2);
    write_lane(root.reborrow().init_provider_health(), 3);
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
