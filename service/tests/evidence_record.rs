//! The evidence record, read with the schema's own bindings, every row of the table by its name.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod support;

use capnp::{dynamic_struct, dynamic_value};
use ingress_ledger::Lane::{self, Anonymous, LocalHealth, ProviderHealth};
use ingress_ledger::OverloadKind;
use ingress_schema::evidence_capnp::{self, evidence, lane_evidence};
use remote_session_web_ui::report::about::FieldName;
use remote_session_web_ui::report::evidence::Evidence;
use remote_session_web_ui::report::key::Key;
use remote_session_web_ui::report::row::{LaneFigures, LaneRead, ServiceRead};
use remote_session_web_ui::report::table::{LANE, LANE_ABOUT, SERVICE, SERVICE_ABOUT};
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
    assert!(record.get_release_balanced());
    assert_eq!(record.get_outstanding(), 1, "this very request");
    let record_fields = dynamic_value::Reader::from(record).downcast();
    for (row, about) in SERVICE.iter().zip(SERVICE_ABOUT) {
        let number = match row.read {
            ServiceRead::Number(read) if !row.fields().is_empty() => read(&expected),
            _ => continue,
        };
        // This very request holds a slot and its bytes.
        if !["outstanding", "general_used", "bytes_in_flight"].contains(&about.name) {
            assert_eq!(field(record_fields, about.name), number, "{}", about.name);
        }
    }
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

#[test]
fn every_word_of_the_line_is_a_row() {
    let mut wire = Wire::tight(&["ingress_local_rate=exempt"]);
    for path in ["/", "/nothing"] {
        wire.get(Anonymous, path);
    }
    let line = wire.evidence().to_string();
    for word in line.split(' ') {
        let (key, value) = word.split_once('=').unwrap();
        assert!(Key::read(key).is_some() && !value.is_empty(), "{word}");
    }
    assert!(line.split(' ').count() > 60, "{line}");
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

/// A field of the record by its row's name.
fn field(reader: dynamic_struct::Reader<'_>, name: &str) -> u64 {
    reader
        .get_named(&FieldName(name).to_string())
        .unwrap_or_else(|_| panic!("no field `{name}`"))
        .downcast()
}

fn check_lane(expected: &Evidence, lane: Lane, reader: lane_evidence::Reader<'_>) {
    assert!(reader.get_enabled());
    assert_eq!(reader.get_lane().unwrap() as u16, lane as u16);
    let figures = LaneFigures::of(expected, lane);
    let fields = dynamic_value::Reader::from(reader).downcast();
    // The request that read the record was not over then.
    let reading = u64::from(lane == LocalHealth);
    let rows = LANE.iter().zip(LANE_ABOUT);
    for (row, about) in rows.filter(|(row, _)| !row.fields().is_empty()) {
        match row.read {
            LaneRead::Number(read) => {
                let number = match about.name {
                    "completed" => read(&figures).wrapping_sub(reading),
                    "serving" => reading,
                    "bytes" if reading > 0 => continue,
                    _ => read(&figures),
                };
                assert_eq!(
                    field(fields, about.name),
                    number,
                    "{} of {lane:?}",
                    about.name
                );
            }
            LaneRead::Overload(read) => {
                for kind in OverloadKind::ALL {
                    assert_eq!(field(fields, kind.code()), read(&figures, kind));
                }
            }
            LaneRead::Status(_) | LaneRead::Word(_) => panic!("{} is no number", about.name),
        }
    }
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
