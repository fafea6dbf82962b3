//! A connection that leaves request and answer behind, by a plain echo that exists here alone.

#![expect(clippy::indexing_slicing, reason = "a test fails loudly")]

mod support;

use ingress_ledger::Lane::{Anonymous, LocalHealth};
use remote_session_web_ui::ConnId;
use remote_session_web_ui::answer::reply::Reply;
use remote_session_web_ui::connection::record::Reason;
use remote_session_web_ui::connection::session::{Protocol, Turn};
use remote_session_web_ui::handlers::{self, Verdict};
use remote_session_web_ui::http::method::{Method, Methods};
use remote_session_web_ui::request::asked::Request;
use remote_session_web_ui::request::route::{About, Route};
use support::{ALL_LANES, TIGHT, Wire};

/// Sends back whatever comes, says goodbye when the service drains, and ends with the peer.
static ECHO: Protocol = Protocol {
    name: "echo",
    turn: echo,
};

fn echo(turn: &mut Turn<'_>) {
    if turn.must_end && !turn.output.is_empty() {
        turn.output[..3].copy_from_slice(b"bye");
        turn.written = 3;
        turn.is_over = true;
        return;
    }
    let bytes = turn.input.len().min(turn.output.len());
    turn.output[..bytes].copy_from_slice(&turn.input[..bytes]);
    turn.taken = bytes;
    turn.written = bytes;
    turn.is_over = !turn.input_goes_on && bytes == turn.input.len();
}

const fn upgrade(_: &Request<'_>, _: &mut Reply<'_>) -> Verdict {
    Verdict::Upgrade(&ECHO)
}

static TABLE: &[Route] = &[
    Route {
        path: "/echo",
        methods: Methods::of(&[Method::Get]),
        lanes: &[Anonymous],
        body_bytes_max: 0,
        about: About::Action,
        handler: upgrade,
    },
    Route {
        path: "/drain",
        methods: Methods::of(&[Method::Post]),
        lanes: &[LocalHealth],
        body_bytes_max: 64,
        about: About::Action,
        handler: handlers::drain::serve,
    },
];

const UPGRADE: &str =
    "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";

fn wire() -> Wire<'static> {
    Wire::serving(ALL_LANES, TIGHT, TABLE)
}

fn session(wire: &mut Wire) -> ConnId {
    let conn = wire.connect(Anonymous);
    let response = wire.ask(conn, UPGRADE);
    assert_eq!(response.status, 101);
    assert_eq!(response.field("upgrade"), Some("echo"));
    assert_eq!(response.field("connection"), Some("Upgrade"));
    assert_eq!(response.field("content-length"), None);
    conn
}

fn heard(wire: &mut Wire, conn: ConnId) -> String {
    String::from_utf8(std::mem::take(&mut wire.peer(conn).inbound)).expect("plain text")
}

#[test]
fn an_upgrade_gives_slot_and_reservation_back_and_keeps_the_permit() {
    let mut wire = wire();
    let conn = session(&mut wire);
    let evidence = wire.evidence();
    assert_eq!(evidence.ledger.outstanding(), 0);
    assert_eq!(evidence.ledger.lanes[Anonymous].counters.completed, 1);
    assert_eq!(evidence.ledger.bytes_in_flight, 0);
    assert_eq!(evidence.permits.in_use, 1);
    for text in ["one", "two"] {
        wire.send(conn, text);
        assert_eq!(heard(&mut wire, conn), text);
    }
    // Hours later, nothing having been said.
    wire.pass_ms(200_000);
    wire.send(conn, "three");
    assert_eq!(heard(&mut wire, conn), "three");
    wire.shut_down(conn);
    assert!(wire.is_closed(conn));
    assert_eq!(wire.finish().faults, 0);
}

#[test]
fn what_came_behind_the_request_is_the_sessions() {
    let mut wire = wire();
    let conn = wire.connect(Anonymous);
    let answer = wire.ask(conn, format!("{UPGRADE}at once"));
    assert_eq!(answer.status, 101);
    assert_eq!(heard(&mut wire, conn), "at once");
    wire.finish();
}

#[test]
fn receive_and_send_are_independent_and_both_are_bounded() {
    let mut wire = wire();
    let conn = session(&mut wire);
    wire.peer(conn).is_stalled = true;
    wire.send(conn, "held");
    // The echo is on its way, and the next is received beside it, and held back behind it.
    wire.send(conn, vec![b'x'; 20_000]);
    assert!(!wire.peer(conn).outbound.is_empty(), "no more than fits");
    wire.peer(conn).is_stalled = false;
    wire.run();
    assert_eq!(heard(&mut wire, conn).len(), 4 + 20_000);
    // Nobody reads: the write phase's deadline ends it.
    wire.peer(conn).is_stalled = true;
    wire.send(conn, "unread");
    wire.now_ms += 11_000;
    let now = wire.now();
    wire.server.tick(now);
    assert_eq!(wire.server.ends_because(conn), Some(Reason::TimedOut));
    wire.run();
    assert_eq!(wire.finish().faults, 0);
}

#[test]
fn in_any_grain_the_echo_is_the_same() {
    let text: String = (0..3000).map(|number| format!("{number} ")).collect();
    for (receive, send) in [(1, usize::MAX), (7, 3), (1000, 100), (usize::MAX, 1)] {
        let mut wire = wire();
        let conn = session(&mut wire);
        wire.grain.receive = receive;
        wire.grain.send = send;
        wire.send(conn, &text);
        assert!(heard(&mut wire, conn) == text, "{receive} {send}");
        assert_eq!(wire.finish().faults, 0);
    }
}

#[test]
fn a_service_with_sessions_alone_is_quiet_and_tells_that_they_are_open() {
    let mut wire = wire();
    let conn = session(&mut wire);
    wire.pass_ms(200);
    let now = wire.now();
    assert!(wire.server.evidence_due(now));
    let evidence = wire.evidence();
    let permits = &evidence.permits.lanes[Anonymous];
    assert_eq!(permits.counters.admitted - permits.counters.released, 1);
    assert!(evidence.release_balanced());
    wire.send(conn, "still there");
    assert_eq!(heard(&mut wire, conn), "still there");
    wire.finish();
}

#[test]
fn a_session_gives_its_permit_up_to_no_newcomer() {
    let mut wire = wire();
    let mut sessions = Vec::new();
    while let Some(conn) = wire.try_connect(Anonymous) {
        if wire.ask(conn, UPGRADE).status != 101 {
            break;
        }
        sessions.push(conn);
    }
    assert!(sessions.len() > 4);
    wire.pass_ms(60_000);
    assert!(
        wire.try_connect(Anonymous)
            .is_none_or(|conn| wire.is_closed(conn))
    );
    assert!(sessions.iter().all(|conn| !wire.is_closed(*conn)));
    wire.finish();
}

#[test]
fn a_drain_asks_sessions_to_end_when_its_grace_is_over() {
    let mut wire = wire();
    let conn = session(&mut wire);
    wire.ask_once(
        LocalHealth,
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\n\r\ngrace_ms=1000",
    );
    wire.pass_ms(900);
    wire.send(conn, "in the grace");
    assert_eq!(heard(&mut wire, conn), "in the grace");
    assert!(!wire.server.finished());
    wire.pass_ms(300);
    assert_eq!(heard(&mut wire, conn), "bye");
    assert!(wire.is_closed(conn));
    wire.pass_ms(300);
    let now = wire.now();
    wire.server.evidence_due(now);
    assert!(wire.server.finished());
    assert_eq!(wire.evidence().permits.in_use, 0);
}

#[test]
fn a_session_that_does_not_end_is_ended_with_the_drains_patience() {
    let mut wire = wire();
    let conn = session(&mut wire);
    wire.peer(conn).is_stalled = true;
    wire.send(conn, "nobody reads this");
    wire.ask_once(
        LocalHealth,
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\ngrace_ms=0",
    );
    wire.pass_ms(16_000);
    assert!(wire.is_closed(conn));
    assert_eq!(wire.finish().faults, 0);
}
