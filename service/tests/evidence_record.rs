//! The evidence record, read with the schema's own bindings.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod support;

use ingress_ledger::Lane::{self, Anonymous, LocalHealth, ProviderHealth};
use ingress_schema::evidence_capnp::{self, evidence, lane_evidence};
use remote_session_web_ui::evidence::Evidence;
use support::Wire;

#[test]
fn the_record_says_what_the_line_says() {
    let mut wire = Wire::tight(&["ingress_local_rate=exempt"]);
    for path in ["/", "/nothing", "/api/ingress", "/drain"] {
        wire.get(Anonymous, path);
    }
    wire.get(ProviderHealth, "/healthz");
    wire.ask_once(Anonymous, "BAD\r\n");
    wire.pass_ms(2000);
    let conn = wire.connect(LocalHealth);
    wire.send(conn, "GET /api/evidence HTTP/1.1\r\nHost: a\r\n\r\n");
    let inbound = &wire.peer(conn).inbound;
    let at = inbound
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap()
        + 4;
    let head = String::from_utf8(inbound[..at].to_vec()).unwrap();
    assert!(
        head.contains("Content-Type: application/capnp\r\n"),
        "{head}"
    );
    let mut body = &inbound[at..];
    let message =
        capnp::serialize::read_message(&mut body, capnp::message::ReaderOptions::new()).unwrap();
    assert!(body.is_empty(), "one message and nothing else");
    let record = message.get_root::<evidence::Reader<'_>>().unwrap();
    let expected = wire.evidence();

    assert_eq!(
        record.get_state().unwrap(),
        evidence_capnp::ServingState::Serving
    );
    assert_eq!(record.get_uptime_ns(), expected.uptime.as_nanos());
    assert!(record.get_release_balanced());
    assert_eq!(record.get_outstanding(), 1, "this very request");
    assert_eq!(
        (
            record.get_leaked(),
            record.get_faults(),
            record.get_clock_steps_back()
        ),
        (0, 0, 0)
    );
    assert_eq!(record.get_general_pool(), expected.ledger.general_pool);
    assert_eq!(
        record.get_slots_high_water(),
        expected.ledger.slots_high_water
    );
    assert_eq!(record.get_conns_limit(), expected.permits.limit);
    assert_eq!(record.get_conns_high_water(), expected.permits.high_water);
    assert_eq!(
        record.get_bytes_high_water(),
        expected.ledger.bytes_high_water
    );
    assert_eq!(record.get_memory_bytes(), expected.memory.count());
    assert!(record.get_memory_bytes() > 0);

    check_lane(&expected, Anonymous, record.get_anonymous().unwrap());
    check_lane(&expected, LocalHealth, record.get_local_health().unwrap());
    check_lane(
        &expected,
        ProviderHealth,
        record.get_provider_health().unwrap(),
    );
    check_rates(record);
}

fn check_rates(record: evidence::Reader<'_>) {
    use evidence_capnp::RateKind;
    assert_eq!(
        record.get_anonymous().unwrap().get_rate().unwrap(),
        RateKind::Unmetered
    );
    assert_eq!(
        record.get_local_health().unwrap().get_rate().unwrap(),
        RateKind::Exempt
    );
    assert_eq!(
        record.get_provider_health().unwrap().get_rate().unwrap(),
        RateKind::Budget
    );
}

fn check_lane(expected: &Evidence, lane: Lane, reader: lane_evidence::Reader<'_>) {
    let requests = &expected.ledger.lanes[lane];
    let conns = &expected.permits.lanes[lane];
    assert!(reader.get_enabled());
    assert_eq!(reader.get_lane().unwrap() as u16, lane as u16);
    assert_eq!(reader.get_admitted(), requests.counters.admitted);
    // The request that read the record was not over then.
    assert_eq!(
        reader
            .get_completed()
            .wrapping_add(u64::from(lane == LocalHealth)),
        requests.counters.completed
    );
    assert_eq!(reader.get_serving(), u64::from(lane == LocalHealth));
    assert_eq!(reader.get_route_denied(), requests.counters.route_denied);
    assert_eq!(reader.get_slot_reserve(), requests.slot_reserve);
    assert_eq!(reader.get_slot_limit(), requests.slot_limit);
    assert_eq!(
        reader.get_slots_high_water(),
        requests.counters.slots_high_water
    );
    assert_eq!(reader.get_conns_admitted(), conns.counters.admitted);
    assert_eq!(reader.get_conns_released(), conns.counters.released);
    assert_eq!(reader.get_conns_limit(), conns.limit);
    assert_eq!(reader.get_conns_reserve(), conns.reserve);
    assert_eq!(reader.get_refusals_in_use(), conns.refusals_in_use);
    assert_eq!(reader.get_idle_closed(), expected.service[lane].idle_closed);
    assert_eq!(reader.get_timed_out(), expected.service[lane].timed_out);
    let sent: Vec<(u16, u64)> = reader
        .get_responses()
        .unwrap()
        .iter()
        .map(|status| (status.get_status(), status.get_count()))
        .collect();
    match lane {
        Anonymous => assert_eq!(sent, [(200, 2), (400, 1), (403, 1), (404, 1)]),
        LocalHealth => assert_eq!(sent, []),
        ProviderHealth => assert_eq!(sent, [(200, 1)]),
    }
}
