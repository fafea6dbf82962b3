//! Every refusal, by name: overloads, permits, routes, faults of form.

mod support;

use ingress_ledger::Lane::{self, Anonymous, LocalHealth, ProviderHealth};
use ingress_ledger::OverloadKind;
use remote_session_web_ui::ConnId;
use remote_session_web_ui::http::fault::Fault;
use remote_session_web_ui::report::row::LaneFigures;
use support::{Closed, Wire};

const GET: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

/// Holds `count` requests of a lane unfinished: their clients do not read.
fn hold(wire: &mut Wire, lane: Lane, count: usize) -> Vec<ConnId> {
    wire.grain.is_read = false;
    (0..count)
        .map(|_| {
            let conn = wire.connect(lane);
            wire.send(conn, GET);
            conn
        })
        .collect()
}

/// The refusal of one more request on a new connection, whose client reads.
fn refusal(wire: &mut Wire, lane: Lane) -> support::Response {
    let conn = wire.connect(lane);
    wire.send(conn, GET);
    while wire.try_complete(conn) {}
    wire.response(conn)
}

impl Wire<'_> {
    /// Lets one connection's operations through while all other clients do not read.
    fn try_complete(&mut self, conn: ConnId) -> bool {
        let before = self.grain.is_read;
        self.grain.is_read = true;
        let has_moved = self.complete_send(conn);
        self.grain.is_read = before;
        while let Some(action) = self.server.next_action() {
            self.start(action);
        }
        has_moved
    }
}

fn overload(wire: &Wire, lane: Lane, kind: OverloadKind) -> u64 {
    wire.evidence().ledger.lanes[lane].counters.overloads[kind]
}

#[test]
fn lane_pool_full() {
    let mut wire = Wire::tight(&["ingress_public_slots=2", "ingress_public_queue=0"]);
    hold(&mut wire, Anonymous, 2);
    let response = refusal(&mut wire, Anonymous);
    assert_eq!((response.status, response.code()), (429, "lane_pool_full"));
    assert!(response.body.contains("\"lane\":\"anonymous\""));
    assert!(
        response.body.contains("\"in_use\":2,\"limit\":2"),
        "{}",
        response.body
    );
    assert!(response.field("retry-after").is_some());
    assert_eq!(overload(&wire, Anonymous, OverloadKind::LanePoolFull), 1);
    assert_eq!(wire.finish().service[Anonymous].responses.of_class(4), 1);
}

#[test]
fn lane_pool_full_after_the_queue() {
    let mut wire = Wire::tight(&[]);
    // Four general slots and two places in the queue.
    let conns = hold(&mut wire, Anonymous, 6);
    assert_eq!(refusal(&mut wire, Anonymous).code(), "lane_pool_full");
    assert_eq!(wire.evidence().ledger.lanes[Anonymous].waiting, 2);
    wire.grain.is_read = true;
    wire.run();
    for conn in conns {
        assert_eq!(wire.response(conn).status, 200, "what waited is served");
    }
    wire.finish();
}

#[test]
fn aggregate_full() {
    let mut wire = Wire::tight(&[
        "ingress_public_slots=3",
        "ingress_local_slots=5",
        "ingress_local_queue=0",
        "ingress_local_conns=8",
    ]);
    hold(&mut wire, Anonymous, 3);
    // One from its reserve, the last general one, and then neither is left.
    hold(&mut wire, LocalHealth, 2);
    let response = refusal(&mut wire, LocalHealth);
    assert_eq!((response.status, response.code()), (503, "aggregate_full"));
    assert!(
        response.body.contains("\"in_use\":4,\"limit\":4"),
        "{}",
        response.body
    );
    assert_eq!(overload(&wire, LocalHealth, OverloadKind::AggregateFull), 1);
    wire.finish();
}

#[test]
fn byte_budget_exhausted() {
    // Of 60,000 bytes 14,336 are the local reserve's and 2,048 the provider's; three fit the rest.
    let mut wire = Wire::tight(&["ingress_total_bytes=60000"]);
    hold(&mut wire, Anonymous, 3);
    let response = refusal(&mut wire, Anonymous);
    assert_eq!(
        (response.status, response.code()),
        (503, "byte_budget_exhausted")
    );
    assert_eq!(
        overload(&wire, Anonymous, OverloadKind::ByteBudgetExhausted),
        1
    );
    wire.finish();
}

#[test]
fn rate_limited() {
    for lane in [LocalHealth, ProviderHealth] {
        let mut wire = Wire::tight(&[
            "ingress_local_rate=10",
            "ingress_local_burst=5",
            "ingress_provider_rate=10",
            "ingress_provider_burst=5",
        ]);
        let conn = wire.connect(lane);
        let statuses: Vec<_> = (0..5).map(|_| wire.ask(conn, GET).status).collect();
        assert_eq!(statuses, [200; 5]);
        let refused = wire.ask(conn, GET);
        assert_eq!((refused.status, refused.code()), (429, "rate_limited"));
        assert_eq!(
            refused.field("connection"),
            Some("close"),
            "a refusal is an answer, and the budget for answers is spent"
        );
        wire.pass_ms(1000);
        let conn = wire.connect(lane);
        let served = (0..5).filter(|_| wire.ask(conn, GET).status == 200).count();
        assert_eq!(served, 5, "the bucket holds its burst again");
        wire.finish();
    }
}

#[test]
fn a_rate_exempt_lane_is_bounded_by_occupancy_only() {
    let mut wire = Wire::tight(&["ingress_local_rate=exempt"]);
    let conn = wire.connect(LocalHealth);
    assert!((0..1000).all(|_| wire.ask(conn, GET).status == 200));
    assert!(
        wire.finish()
            .to_string()
            .contains("rate_local_health=exempt")
    );
}

#[test]
fn deadline_exceeded() {
    let mut wire = Wire::tight(&[
        "ingress_public_deadline_ms=2000",
        "ingress_public_write_ms=60000",
        "ingress_public_slots=1",
    ]);
    wire.grain.is_read = false;
    let served = wire.connect(Anonymous);
    wire.send(served, GET);
    let waiting = wire.connect(Anonymous);
    wire.pass_ms(500);
    wire.send(waiting, GET);
    // The one that is served fails its deadline first, and then the one that waited is served.
    wire.pass_ms(1700);
    assert_eq!(wire.peer(served).closed, Some(Closed::Aborted));
    let third = wire.connect(Anonymous);
    wire.send(third, GET);
    wire.pass_ms(350);
    assert_eq!(
        wire.peer(waiting).closed,
        Some(Closed::Aborted),
        "a deadline is never extended"
    );
    wire.grain.is_read = true;
    wire.run();
    assert_eq!(wire.response(third).status, 200);
    assert_eq!(wire.finish().ledger.lanes[Anonymous].counters.cancelled, 2);
}

#[test]
fn deadline_exceeded_in_the_queue() {
    let mut wire = Wire::tight(&["ingress_public_deadline_ms=2000", "ingress_public_slots=1"]);
    wire.grain.is_read = false;
    let served = wire.connect(Anonymous);
    wire.send(served, GET);
    let waiting = wire.connect(Anonymous);
    wire.send(waiting, GET);
    // Both have the same deadline; the ledger decides about the waiting one when the other's goes.
    wire.now_ms += 2010;
    let now = wire.now();
    wire.server.closed(served, now);
    wire.peers.remove(&served);
    wire.grain.is_read = true;
    wire.run();
    let response = wire.response(waiting);
    assert_eq!(
        (response.status, response.code()),
        (503, "deadline_exceeded")
    );
    let evidence = wire.finish();
    assert_eq!(evidence.ledger.lanes[Anonymous].counters.expired, 1);
    assert_eq!(evidence.ledger.lanes[Anonymous].counters.cancelled, 2);
}

#[test]
fn clock_lost() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    wire.is_clock_lost = true;
    let response = wire.ask(conn, GET);
    assert_eq!((response.status, response.code()), (503, "clock_lost"));
    assert_eq!(response.field("connection"), Some("close"));
    let refused = wire.connect(Anonymous);
    let response = wire.response(refused);
    assert_eq!((response.status, response.code()), (503, "clock_lost"));
    assert_eq!(wire.peer(refused).closed, Some(Closed::InOrder));
    wire.is_clock_lost = false;
    assert_eq!(wire.ask_once(Anonymous, GET).status, 200);
    let evidence = wire.finish();
    assert_eq!(
        evidence.ledger.lanes[Anonymous].counters.overloads[OverloadKind::ClockLost],
        1
    );
    assert_eq!(
        evidence.permits.lanes[Anonymous]
            .counters
            .refused_clock_lost,
        1
    );
}

#[test]
fn permit_refused_with_count_and_limit() {
    let mut wire = Wire::tight(&["ingress_public_conns=3"]);
    for _ in 0..3 {
        wire.connect(Anonymous);
    }
    let refused = wire.connect(Anonymous);
    let response = wire.response(refused);
    assert_eq!(
        (response.status, response.code()),
        (429, "lane_at_capacity")
    );
    assert!(
        response.body.contains("\"in_use\":3,\"limit\":3"),
        "{}",
        response.body
    );
    assert_eq!(response.field("connection"), Some("close"));
    assert_eq!(wire.peer(refused).closed, Some(Closed::InOrder));
    let evidence = wire.finish();
    let counters = evidence.permits.lanes[Anonymous].counters;
    assert_eq!(
        (
            counters.admitted,
            counters.refused,
            counters.refusals_admitted
        ),
        (3, 1, 1)
    );
}

#[test]
fn permit_refused_in_all() {
    let mut wire = Wire::tight(&["ingress_total_conns=8", "ingress_local_conns=8"]);
    for _ in 0..4 {
        wire.connect(Anonymous);
    }
    for _ in 0..2 {
        wire.connect(LocalHealth);
    }
    let refused = wire.connect(LocalHealth);
    assert_eq!(wire.response(refused).code(), "at_capacity");
    // The provider's reserve is untouched by either.
    let probe = wire.connect(ProviderHealth);
    assert_eq!(wire.ask(probe, GET).status, 200);
    wire.finish();
}

/// However many come, each is told: those whose answer could not be sent yet are not accepted yet.
#[test]
fn every_refusal_is_answered_however_many_there_are() {
    let mut wire = Wire::tight(&["ingress_public_conns=1"]);
    let working = wire.connect(Anonymous);
    wire.send(working, "GET /");
    for _ in 0..100 {
        let refused = wire.connect(Anonymous);
        assert_eq!(wire.response(refused).code(), "lane_at_capacity");
    }
    // Two may be on their way at once, and an accept under way is one of them.
    wire.grain.is_read = false;
    wire.connect(Anonymous);
    let now = wire.now();
    assert!(wire.server.start_accept(Anonymous, now));
    assert!(!wire.server.may_accept(Anonymous, now) && wire.server.may_accept(ProviderHealth, now));
    wire.server
        .accept_failed(Anonymous, ingress_ledger::AcceptFailure::Consumed, now);
    assert!(wire.server.may_accept(Anonymous, now));
    let evidence = wire.finish();
    assert_eq!(evidence.permits.lanes[Anonymous].counters.refused, 101);
    assert_eq!(
        LaneFigures::of(&evidence, Anonymous).refusals_unanswered(),
        1,
        "the last one"
    );
    let told = evidence.service[Anonymous].responses.of_class(4);
    assert_eq!(told, 100);
}

#[test]
fn a_refusal_that_is_not_taken_ends_with_its_deadline() {
    let mut wire = Wire::tight(&["ingress_public_conns=1"]);
    wire.connect(Anonymous);
    wire.grain.is_read = false;
    let refused = [wire.connect(Anonymous), wire.connect(Anonymous)];
    assert!(wire.try_connect(Anonymous).is_none());
    wire.pass_ms(1100);
    for conn in refused {
        assert_eq!(wire.peer(conn).closed, Some(Closed::Aborted));
    }
    assert!(wire.try_connect(Anonymous).is_some());
    let evidence = wire.finish();
    assert_eq!(evidence.service[Anonymous].responses.of_class(5), 0);
}

#[test]
fn a_lane_that_answers_no_refusal_closes_unanswered() {
    let mut wire = Wire::tight(&["ingress_public_conns=1", "ingress_public_refusals=0"]);
    wire.connect(Anonymous);
    let refused = wire.connect(Anonymous);
    assert_eq!(wire.peer(refused).closed, Some(Closed::Aborted));
    assert!(wire.peer(refused).inbound.is_empty());
    let evidence = wire.finish();
    assert_eq!(
        LaneFigures::of(&evidence, Anonymous).refusals_unanswered(),
        1
    );
}

#[test]
fn accept_rate_limited() {
    let mut wire = Wire::tight(&[
        "ingress_provider_accept_rate=1",
        "ingress_provider_accept_burst=2",
    ]);
    for _ in 0..2 {
        assert_eq!(wire.get(ProviderHealth, "/healthz").status, 200);
    }
    let conn = wire.connect(ProviderHealth);
    let response = wire.response(conn);
    assert_eq!(
        (response.status, response.code()),
        (429, "accept_rate_limited")
    );
    wire.finish();
}

/// Public connections come, go idle, and are closed for others, and no socket of theirs is ever
/// closed by the kernel: all records that they can have are used, and not one more.
#[test]
fn public_load_leaves_every_record_of_the_protected_lanes() {
    let mut wire = Wire::tight(&["ingress_public_refusals=16"]);
    let mut stuck = 0;
    wire.pass_ms(1);
    let mut now = wire.now_ms;
    loop {
        now += 300;
        let at = Some(ingress_ledger::Instant::from_nanos(now * 1_000_000));
        wire.server.tick(at);
        if !wire.server.start_accept(Anonymous, at) {
            break;
        }
        wire.server.accepted(Anonymous, at).unwrap();
        while wire.server.next_action().is_some() {}
        stuck += 1;
    }
    assert_eq!(stuck, 12 + 2, "its permits, and its part beyond them");
    wire.now_ms = now;
    assert!(
        wire.evidence().service[Anonymous].idle_closed > 0,
        "idlers were evicted"
    );
    for lane in [LocalHealth, ProviderHealth] {
        let held: Vec<ConnId> = (0..2).map(|_| wire.connect(lane)).collect();
        for conn in held {
            assert_eq!(wire.ask(conn, GET).status, 200, "{lane:?}");
            wire.send(conn, "GET /");
        }
        let more = wire.connect(lane);
        assert_eq!(wire.response(more).code(), "at_capacity");
    }
    let turned_away = wire
        .evidence()
        .service
        .iter()
        .map(|(_, one)| one.conns_turned_away)
        .sum::<u64>();
    assert_eq!(turned_away, 0);
}

#[test]
fn a_lane_without_listener_does_not_exist() {
    let listeners = support::ALL_LANES.with(Lane::LocalHealth, ingress_ledger::Listener::Absent);
    let mut wire = Wire::tight_on(listeners, &[]);
    assert!(wire.try_connect(LocalHealth).is_none());
    let now = wire.now();
    assert!(!wire.server.may_accept(LocalHealth, now) && wire.server.may_accept(Anonymous, now));
    let line = wire.evidence().to_string();
    assert!(
        line.contains(" admitted_local_health=0 conns_admitted_local_health=0 admitted_provider"),
        "{line}"
    );
}

#[test]
fn not_found_on_the_public_lane() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    let response = wire.ask(conn, "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((response.status, response.code()), (404, "not_found"));
    assert_eq!(wire.ask(conn, GET).status, 200, "the connection goes on");
    assert_eq!(
        wire.finish().ledger.lanes[Anonymous].counters.route_denied,
        1
    );
}

#[test]
fn route_denied_on_protected_lanes() {
    let mut wire = Wire::tight(&["ingress_local_accept_burst=100"]);
    for lane in [LocalHealth, ProviderHealth] {
        for path in [
            "/",
            "/app.js",
            "/login",
            "/api/ingress",
            "/manual",
            "/.well-known/acme-challenge/t",
            "/nothing",
        ] {
            let response = wire.get(lane, path);
            assert_eq!(
                (response.status, response.code()),
                (403, "route_denied"),
                "{path}"
            );
            assert!(response.body.contains(lane.name()));
        }
        let evidence = wire.evidence();
        assert_eq!(evidence.ledger.lanes[lane].counters.route_denied, 7);
        assert_eq!(
            evidence.ledger.lanes[lane].counters.admitted, 0,
            "no handler was entered"
        );
    }
    wire.finish();
}

#[test]
fn route_denied_for_other_lanes_paths_in_public() {
    let mut wire = Wire::tight(&[]);
    for path in ["/drain", "/api/status", "/readyz", "/api/evidence"] {
        assert_eq!(wire.get(Anonymous, path).code(), "route_denied");
    }
    assert_eq!(
        wire.finish().ledger.lanes[Anonymous].counters.route_denied,
        4
    );
}

#[test]
fn method_not_allowed_names_what_is() {
    let mut wire = Wire::tight(&[]);
    let response = wire.ask_once(Anonymous, "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(
        (response.status, response.field("allow")),
        (405, Some("GET, HEAD"))
    );
    let response = wire.ask_once(LocalHealth, "GET /drain HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(
        (response.status, response.field("allow")),
        (405, Some("POST"))
    );
    let response = wire.ask_once(ProviderHealth, "POST /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(
        (response.status, response.code()),
        (405, "method_not_allowed")
    );
    wire.finish();
}

#[test]
fn method_unknown() {
    let mut wire = Wire::tight(&[]);
    for method in ["BREW", "CONNECT", "TRACE", "get"] {
        let response = wire.ask_once(Anonymous, format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert_eq!(
            (response.status, response.code()),
            (501, "method_unknown"),
            "{method}"
        );
    }
    wire.finish();
}

#[test]
fn a_denied_request_with_a_body_is_the_last() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    wire.send(conn, "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 37\r\n\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    let response = wire.response(conn);
    assert_eq!(
        (response.status, response.field("connection")),
        (404, Some("close"))
    );
    assert!(
        wire.peer(conn).inbound.is_empty(),
        "the body is not taken for a request"
    );
    wire.finish();
}

/// RFC 9931: a client that asks to be connected elsewhere, or for another protocol, may already have
/// sent what is for somebody else.
#[test]
fn nothing_behind_a_refused_change_of_protocol_is_a_request() {
    for (asked, status) in [
        (
            "CONNECT db.example:443 HTTP/1.1\r\nHost: db.example:443\r\n\r\n",
            501,
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            200,
        ),
        (
            "GET /nothing HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\n\r\n",
            404,
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n",
            417,
        ),
    ] {
        let mut wire = Wire::tight(&[]);
        let conn = wire.connect(Anonymous);
        wire.send(conn, format!("{asked}{GET}"));
        let response = wire.response(conn);
        assert_eq!(
            (response.status, response.field("connection")),
            (status, Some("close")),
            "{asked}"
        );
        assert!(wire.peer(conn).inbound.is_empty(), "{asked}");
        wire.finish();
    }
}

/// Everything that a protected lane answers costs its rate: denied, malformed or refused.
#[test]
fn a_flood_of_denials_on_a_protected_lane_ends_with_its_budget() {
    for (asked, status) in [
        ("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", 403),
        ("POST /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ] {
        let mut wire = Wire::tight(&["ingress_provider_rate=1", "ingress_provider_burst=5"]);
        let conn = wire.connect(ProviderHealth);
        for kept in (0..5).map(|_| wire.ask(conn, asked)) {
            assert_eq!((kept.status, kept.field("connection")), (status, None));
        }
        let last = wire.ask(conn, asked);
        assert_eq!(
            (last.status, last.field("connection")),
            (status, Some("close"))
        );
        // The budget is the lane's: a request over another connection meets it as well.
        let other = wire.connect(ProviderHealth);
        let refused = wire.ask(other, GET);
        assert_eq!(
            (refused.code(), refused.field("connection")),
            ("rate_limited", Some("close"))
        );
        // No other lane has paid for any of it.
        assert_eq!(wire.ask_once(LocalHealth, GET).status, 200);
        let counters = wire.finish().ledger.lanes[ProviderHealth].counters;
        assert_eq!((counters.denials, counters.denials_unpaid), (5, 2));
    }
}

/// One request for every fault of form.
fn provoke(fault: Fault) -> (Lane, Vec<u8>) {
    let long = |byte: &[u8], count| byte.repeat(count);
    let text: Vec<u8> = match fault {
        Fault::RequestLine => b"GET  / HTTP/1.1\r\n".into(),
        Fault::MethodTooLong => long(b"A", 8200),
        Fault::EmptyLines => b"\r\n\r\n\r\n".into(),
        Fault::BareLineFeed => b"GET / HTTP/1.1\n".into(),
        Fault::BareCarriageReturn => b"GET / HTTP/1.1\r\nA: b\rc".into(),
        Fault::ControlByte => b"GET / HTTP/1.1\r\nA: \0".into(),
        Fault::FoldedHeader => b"GET / HTTP/1.1\r\nHost: a\r\n b".into(),
        Fault::HeaderName => b"GET / HTTP/1.1\r\nHost : a\r\n\r\n".into(),
        Fault::HeaderValue => return (Anonymous, Vec::new()),
        Fault::Version => b"GET / HTTP/x\r\n".into(),
        Fault::VersionUnknown => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(),
        Fault::TargetTooLong => [b"GET /".to_vec(), long(b"a", 8200)].concat(),
        Fault::TargetForm => b"GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n".into(),
        Fault::PathUnsafe => b"GET /../drain HTTP/1.1\r\nHost: a\r\n\r\n".into(),
        Fault::HeadTooLarge => [b"GET / HTTP/1.1\r\nHost: a\r\nX: ".to_vec(), long(b"a", 8200)].concat(),
        Fault::TooManyHeaders => [b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec(), long(b"A: b\r\n", 128), b"\r\n".to_vec()].concat(),
        Fault::HostMissing => b"GET / HTTP/1.1\r\n\r\n".into(),
        Fault::HostRepeated => b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".into(),
        Fault::HostInvalid => b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n".into(),
        Fault::LengthInvalid => b"POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n".into(),
        Fault::LengthRepeated => b"POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n".into(),
        Fault::LengthAndCoding => b"POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
        Fault::CodingInvalid => b"POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n".into(),
        Fault::CodingUnknown => b"POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n".into(),
        Fault::CodingInOldVersion => b"POST /drain HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
        Fault::ExpectationUnknown => b"POST /drain HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\n\r\n".into(),
        Fault::BodyTooLarge => b"POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 257\r\n\r\n".into(),
        Fault::ChunkInvalid => b"POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n".into(),
        Fault::ChunkOverhead => [b"POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;".to_vec(), long(b"a", 1100)].concat(),
        Fault::HeadTimeout | Fault::BodyTimeout => return (Anonymous, Vec::new()),
        Fault::BodyInvalid => b"POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nwhat".into(),
    };
    (LocalHealth, text)
}

#[test]
fn every_fault_of_form_is_answered_once_and_ends_the_connection() {
    for fault in Fault::ALL.iter().copied() {
        let (lane, request) = provoke(fault);
        if request.is_empty() {
            // Time-outs have tests of their own; no byte that `httparse` refuses in a value gets
            // past the scan.
            assert!(matches!(
                fault,
                Fault::HeadTimeout | Fault::BodyTimeout | Fault::HeaderValue
            ));
            continue;
        }
        let mut wire = Wire::tight(&[]);
        let conn = wire.connect(lane);
        wire.send(conn, [&request[..], GET.as_bytes()].concat());
        let response = wire.response(conn);
        assert_eq!(response.code(), fault.code());
        assert_eq!(response.status, fault.status().code(), "{fault:?}");
        assert_eq!(response.field("connection"), Some("close"));
        assert!(
            wire.peer(conn).inbound.is_empty(),
            "{fault:?}: nothing after it is answered"
        );
        // What a body means is its handler's to say, and no handler is entered before admission.
        let admitted = u64::from(fault == Fault::BodyInvalid);
        assert_eq!(
            wire.finish().ledger.lanes[lane].counters.admitted,
            admitted,
            "{fault:?}"
        );
    }
}

#[test]
fn an_accept_that_spins_is_left_alone_for_a_while_on_its_lane_only() {
    let mut wire = Wire::tight(&[]);
    let now = wire.now();
    assert!(wire.server.start_accept(Anonymous, now));
    wire.server
        .accept_failed(Anonymous, ingress_ledger::AcceptFailure::Spins, now);
    assert!(!wire.server.may_accept(Anonymous, now) && wire.server.may_accept(LocalHealth, now));
    assert!(wire.server.next_deadline().is_some());
    wire.pass_ms(20);
    let now = wire.now();
    assert!(wire.server.start_accept(Anonymous, now));
    wire.server
        .accept_failed(Anonymous, ingress_ledger::AcceptFailure::Consumed, now);
    assert!(wire.server.may_accept(Anonymous, now));
    assert!(
        wire.evidence()
            .to_string()
            .contains("accepts_failed_anonymous=2")
    );
}
