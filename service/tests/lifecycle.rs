//! Connections from accept to release: keep-alive, pipelining, deadlines, lingering.

mod support;

use ingress_ledger::Lane::{Anonymous, LocalHealth, ProviderHealth};
use remote_session_web_ui::ConnId;
use support::{Closed, Grain, Wire};

const GET: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_connection_carries_many_requests() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    for _ in 0..100 {
        let response = wire.ask(conn, GET);
        assert_eq!(
            (response.status, response.body.as_str()),
            (200, "{\"status\":\"pass\"}\n")
        );
        assert_eq!(response.field("connection"), None);
    }
    assert!(!wire.is_closed(conn));
    let evidence = wire.finish();
    assert_eq!(evidence.ledger.lanes[Anonymous].counters.completed, 100);
    assert_eq!(evidence.permits.lanes[Anonymous].counters.admitted, 1);
}

#[test]
fn pipelined_requests_are_answered_in_order_whatever_the_split() {
    let requests: String = (0..40)
        .map(|at| {
            format!(
                "GET {} HTTP/1.1\r\nHost: a\r\n\r\n",
                ["/healthz", "/nothing", "/robots.txt"][at % 3]
            )
        })
        .collect();
    for receive in [1, 2, 7, 64, 1000, usize::MAX] {
        for send in [1, 5, 333, usize::MAX] {
            let mut wire = Wire::tight(&[]);
            wire.grain = Grain {
                receive,
                send,
                is_read: true,
            };
            let conn = wire.connect(Anonymous);
            wire.send(conn, &requests);
            for at in 0..40 {
                assert_eq!(wire.response(conn).status, [200, 404, 200][at % 3]);
            }
            wire.finish();
        }
    }
}

#[test]
fn every_asset_arrives_whole_whatever_the_split() {
    for path in ["/", "/app.js", "/style.css", "/icon.svg"] {
        let mut wire = Wire::tight(&[]);
        let whole = wire.get(Anonymous, path);
        assert_eq!(whole.status, 200);
        for send in [1, 100, 4095] {
            wire.grain.send = send;
            assert_eq!(wire.get(Anonymous, path).body, whole.body);
        }
        wire.finish();
    }
}

#[test]
fn connection_close_is_honoured() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    let response = wire.ask(
        conn,
        "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(response.field("connection"), Some("close"));
    assert_eq!(wire.peer(conn).closed, Some(Closed::InOrder));
}

#[test]
fn an_old_client_is_closed_unless_it_asks_to_stay() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    let response = wire.ask(conn, "GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!(
        (response.status, response.field("connection")),
        (200, Some("close"))
    );
    assert!(wire.is_closed(conn));
    let conn = wire.connect(Anonymous);
    let response = wire.ask(
        conn,
        "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    );
    assert_eq!(response.field("connection"), Some("keep-alive"));
    assert!(!wire.is_closed(conn));
}

#[test]
fn a_half_closed_client_gets_its_answer() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    wire.peer(conn).outbound.extend_from_slice(GET.as_bytes());
    wire.shut_down(conn);
    assert_eq!(wire.response(conn).status, 200);
    assert_eq!(wire.peer(conn).closed, Some(Closed::InOrder));
    wire.finish();
}

#[test]
fn a_client_that_leaves_in_a_head_or_body_is_forgotten() {
    for part in [
        "",
        "GET / HT",
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
    ] {
        let mut wire = Wire::tight(&[]);
        let conn = wire.connect(LocalHealth);
        wire.send(conn, part);
        wire.shut_down(conn);
        assert!(wire.is_closed(conn), "{part}");
        assert!(wire.peer(conn).inbound.is_empty());
        wire.finish();
    }
}

#[test]
fn a_slow_head_is_answered_408() {
    let mut wire = Wire::tight(&["ingress_public_head_ms=1000"]);
    let conn = wire.connect(Anonymous);
    for byte in b"GET / HTTP/1.1\r\nHost: a".chunks(1) {
        wire.send(conn, byte);
        wire.pass_ms(40);
    }
    assert!(wire.peer(conn).inbound.is_empty());
    wire.pass_ms(200);
    let response = wire.response(conn);
    assert_eq!((response.status, response.code()), (408, "head_timeout"));
    assert_eq!(response.field("connection"), Some("close"));
    wire.pass_ms(1200);
    assert!(wire.is_closed(conn));
    assert_eq!(wire.finish().service[Anonymous].timed_out, 1);
}

/// Browsers open connections ahead of need.
#[test]
fn a_connection_that_never_sent_a_byte_is_closed_without_a_word() {
    let mut wire = Wire::tight(&["ingress_public_head_ms=1000"]);
    let conn = wire.connect(Anonymous);
    wire.pass_ms(1100);
    assert!(wire.peer(conn).inbound.is_empty());
    assert_eq!(wire.peer(conn).closed, Some(Closed::InOrder));
    assert_eq!(wire.finish().service[Anonymous].timed_out, 0);
}

#[test]
fn a_second_head_has_its_own_time() {
    let mut wire = Wire::tight(&["ingress_public_head_ms=1000"]);
    let conn = wire.connect(Anonymous);
    wire.ask(conn, GET);
    wire.pass_ms(5000);
    wire.send(conn, "GET /hea");
    wire.pass_ms(800);
    assert_eq!(
        wire.ask(conn, "lthz HTTP/1.1\r\nHost: a\r\n\r\n").status,
        200
    );
}

#[test]
fn a_slow_body_is_answered_408() {
    let mut wire = Wire::tight(&["ingress_local_body_ms=500"]);
    let conn = wire.connect(LocalHealth);
    wire.send(
        conn,
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
    );
    wire.pass_ms(600);
    let response = wire.response(conn);
    assert_eq!((response.status, response.code()), (408, "body_timeout"));
    assert_eq!(wire.finish().ledger.lanes[LocalHealth].counters.admitted, 0);
}

#[test]
fn a_slow_reader_is_aborted_and_its_request_cancelled() {
    let mut wire = Wire::tight(&["ingress_public_write_ms=1000"]);
    wire.grain.is_read = false;
    let conn = wire.connect(Anonymous);
    wire.send(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    wire.pass_ms(900);
    assert!(!wire.is_closed(conn));
    wire.pass_ms(200);
    assert_eq!(wire.peer(conn).closed, Some(Closed::Aborted));
    let evidence = wire.finish();
    assert_eq!(evidence.ledger.lanes[Anonymous].counters.cancelled, 1);
    assert_eq!(evidence.service[Anonymous].timed_out, 1);
}

/// What balancers keep open for 60 s, and what probes use every 30 s, is not closed under them.
#[test]
fn a_kept_connection_outlasts_balancers_and_probes() {
    let mut wire = Wire::tight(&[]);
    for lane in [Anonymous, LocalHealth, ProviderHealth] {
        let conn = wire.connect(lane);
        for _ in 0..2 {
            assert_eq!(wire.ask(conn, GET).status, 200);
            wire.pass_ms(70_000);
            assert!(!wire.is_closed(conn), "{lane:?}");
        }
        wire.pass_ms(6_000);
        assert!(wire.is_closed(conn), "{lane:?}");
    }
    wire.finish();
}

#[test]
fn an_idle_connection_is_closed_quietly() {
    let mut wire = Wire::tight(&["ingress_public_idle_ms=2000"]);
    let conn = wire.connect(Anonymous);
    wire.ask(conn, GET);
    wire.pass_ms(1900);
    assert!(!wire.is_closed(conn));
    wire.pass_ms(200);
    assert_eq!(wire.peer(conn).closed, Some(Closed::InOrder));
    assert!(wire.peer(conn).inbound.is_empty());
}

#[test]
fn a_last_answer_lingers_until_the_client_has_left() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    let response = wire.ask(conn, "BAD\r\n");
    assert_eq!(response.status, 400);
    wire.send(conn, vec![b'x'; 100_000]);
    assert!(!wire.is_closed(conn));
    wire.shut_down(conn);
    assert_eq!(wire.peer(conn).closed, Some(Closed::InOrder));
}

/// Closed at once, the socket could be reset by what is still under way.
#[test]
fn a_last_answer_lingers_when_more_has_come_behind_its_request() {
    for (path, status) in [("/healthz", 200), ("/nothing", 404)] {
        let mut wire = Wire::tight(&[]);
        let conn = wire.connect(Anonymous);
        let last = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_eq!(wire.ask(conn, format!("{last}more")).status, status);
        assert!(!wire.is_closed(conn), "{path}");
        wire.shut_down(conn);
        assert_eq!(wire.peer(conn).closed, Some(Closed::InOrder), "{path}");
        let conn = wire.connect(Anonymous);
        assert_eq!(wire.ask(conn, &last).status, status);
        assert!(wire.is_closed(conn), "{path}");
        wire.finish();
    }
}

#[test]
fn lingering_is_bounded_in_bytes_and_time() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    wire.ask(conn, "BAD\r\n");
    wire.send(conn, vec![b'x'; 1_000_000]);
    assert!(wire.is_closed(conn), "too much");
    let conn = wire.connect(Anonymous);
    wire.ask(conn, "BAD\r\n");
    wire.pass_ms(150);
    assert!(!wire.is_closed(conn));
    wire.pass_ms(100);
    assert!(wire.is_closed(conn), "quiet for long enough");
    let conn = wire.connect(Anonymous);
    wire.ask(conn, "BAD\r\n");
    for _ in 0..9 {
        wire.pass_ms(100);
        wire.send(conn, "x");
        assert!(!wire.is_closed(conn));
    }
    wire.pass_ms(120);
    assert!(wire.is_closed(conn), "for too long");
}

/// It waits for no request and for no end: what it still sends is for the stack to throw away.
#[test]
fn a_refused_connection_is_closed_behind_its_answer() {
    let mut wire = Wire::tight(&["ingress_public_conns=1"]);
    let working = wire.connect(Anonymous);
    wire.send(working, "GET /");
    for request in ["", "GET / HTTP/1.1\r\nHo", GET] {
        let now = wire.now();
        assert!(wire.server.start_accept(Anonymous, now));
        let refused = wire.server.accepted(Anonymous, now).unwrap();
        let mut peer = support::Peer::default();
        peer.outbound.extend_from_slice(request.as_bytes());
        wire.peers.insert(refused, peer);
        wire.run();
        let response = wire.response(refused);
        assert_eq!(
            (response.status, response.code()),
            (429, "lane_at_capacity")
        );
        assert_eq!(response.field("connection"), Some("close"));
        assert_eq!(wire.peer(refused).closed, Some(Closed::InOrder));
        assert_eq!(wire.peer(refused).outbound, request.as_bytes(), "unread");
    }
    wire.finish();
}

#[test]
fn a_closing_connection_keeps_its_slot_until_the_socket_is_closed() {
    let mut wire = Wire::tight(&["ingress_public_write_ms=100"]);
    let now = wire.now();
    assert!(wire.server.start_accept(Anonymous, now));
    let conn = wire.server.accepted(Anonymous, now).unwrap();
    wire.peers.insert(conn, support::Peer::default());
    wire.grain.is_read = false;
    wire.send(conn, GET);
    wire.now_ms += 500;
    let now = wire.now();
    wire.server.tick(now);
    // The kernel may still read the answer's buffer: the request is not over before the socket is.
    assert_eq!(wire.evidence().ledger.lanes[Anonymous].serving, 1);
    wire.run();
    assert_eq!(wire.evidence().ledger.lanes[Anonymous].serving, 0);
    wire.finish();
}

#[test]
fn late_inputs_about_a_connection_that_is_gone_are_ignored() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    wire.reset(conn);
    let now = wire.now();
    wire.server.received(conn, 5, now);
    wire.server.sent(conn, 5, now);
    wire.server.failed(conn, now);
    wire.server.closed(conn, now);
    assert!(wire.server.receive_window(conn).is_none());
    assert!(wire.server.send_window(conn).is_none());
    let next = wire.connect(Anonymous);
    assert_eq!(next.index(), conn.index());
    assert_ne!(next, conn);
    wire.server.failed(conn, now);
    assert_eq!(wire.ask(next, GET).status, 200);
    assert_eq!(wire.finish().permits.lanes[Anonymous].counters.released, 2);
}

#[test]
fn memory_grows_with_connections_at_once_and_with_nothing_else() {
    let mut wire = Wire::tight(&[]);
    let memory = |wire: &Wire| wire.evidence().memory;
    let start = memory(&wire);
    wire.get(Anonymous, "/");
    let one = memory(&wire);
    assert!(one > start);
    for _ in 0..1000 {
        wire.get(Anonymous, "/");
    }
    assert_eq!(memory(&wire), one);
    wire.connect(Anonymous);
    wire.connect(Anonymous);
    assert!(memory(&wire) > one);
    assert!(wire.finish().to_string().contains(" memory_bytes="));
}

#[test]
fn evidence_is_due_when_quiet_and_changed() {
    let mut wire = Wire::tight(&[]);
    let due = |wire: &mut Wire| {
        let now = wire.now();
        wire.server.evidence_due(now)
    };
    wire.pass_ms(200);
    assert!(due(&mut wire), "a service that nobody used says so once");
    wire.pass_ms(200);
    assert!(!due(&mut wire));
    let conn = wire.connect(Anonymous);
    wire.send(conn, "GET /");
    wire.pass_ms(500);
    assert!(!due(&mut wire), "a request is under way");
    wire.ask(conn, " HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(!due(&mut wire), "it was only just answered");
    assert!(wire.server.next_deadline().is_some());
    wire.pass_ms(120);
    assert!(due(&mut wire));
    wire.pass_ms(500);
    assert!(!due(&mut wire));
}

#[test]
fn draining_tells_watchers_finishes_work_and_ends() {
    let mut wire = Wire::tight(&["ingress_total_drain_ms=1000"]);
    let idle = wire.connect(Anonymous);
    wire.ask(idle, GET);
    let drained = wire.ask_once(LocalHealth, "POST /drain HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(
        (drained.status, drained.field("connection")),
        (202, Some("close"))
    );
    assert_eq!(wire.get(ProviderHealth, "/healthz").status, 503);
    assert_eq!(wire.get(Anonymous, "/healthz").status, 503);
    assert_eq!(wire.get(LocalHealth, "/healthz").status, 200);
    assert_eq!(wire.get(LocalHealth, "/readyz").status, 503);
    let served = wire.get(Anonymous, "/");
    assert_eq!(
        (served.status, served.field("connection")),
        (200, Some("close"))
    );
    assert!(!wire.is_closed(idle) && !wire.server.finished());
    let now = wire.now();
    assert!(wire.server.start_accept(Anonymous, now));
    wire.pass_ms(1100);
    assert!(
        wire.is_closed(idle),
        "idle connections go when the grace is over"
    );
    let now = wire.now();
    assert!(!wire.server.may_accept(Anonymous, now) && wire.server.may_accept(ProviderHealth, now));
    // What an accept brings that was started before.
    let late = wire.server.accepted(Anonymous, now).unwrap();
    wire.peers.insert(late, support::Peer::default());
    wire.run();
    assert_eq!(wire.peer(late).closed, Some(Closed::Aborted));
    wire.pass_ms(1200);
    assert!(!wire.server.finished(), "the last evidence is not out yet");
    let now = wire.now();
    assert!(wire.server.evidence_due(now));
    assert!(wire.server.finished());
    assert_eq!(wire.finish().service[Anonymous].conns_turned_away, 1);
}

/// What a peer does that is still there when a drain's patience is over.
const LEFT_BEHIND: [(&str, &str, bool); 6] = [
    ("silent", "", true),
    ("half head", "GET /hea", true),
    (
        "half body",
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
        true,
    ),
    (
        "interim answer",
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
        false,
    ),
    ("unread answer", GET, false),
    ("lingering", "BAD\r\n", true),
];

#[test]
fn a_drain_ends_in_time_whatever_a_peer_leaves_open_on_whatever_lane() {
    for lane in [Anonymous, LocalHealth, ProviderHealth] {
        for (name, sent, is_read) in LEFT_BEHIND {
            let mut wire = Wire::tight(&[
                "ingress_total_drain_ms=1000",
                "ingress_local_accept_burst=999",
                "ingress_provider_accept_rate=999",
            ]);
            wire.ask_once(
                LocalHealth,
                "POST /drain HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            );
            wire.grain.is_read = is_read;
            // Whenever the service closes it, the peer is back at once, and drips while it may.
            let mut open: Option<ConnId> = None;
            let ended = (0..150).find(|_| {
                if open.is_none_or(|conn| wire.is_closed(conn)) {
                    open = wire.try_connect(lane);
                    if let Some(conn) = open {
                        wire.send(conn, sent);
                    }
                } else if let Some(conn) = open
                    && name == "lingering"
                {
                    wire.send(conn, "x");
                }
                wire.pass_ms(150);
                let now = wire.now();
                wire.server.evidence_due(now);
                wire.server.finished()
            });
            assert!(ended.is_some(), "{name} on {lane:?}: it never ends");
            wire.finish();
        }
    }
}

#[test]
fn a_drain_waits_for_work_in_flight_but_not_for_ever() {
    let mut wire = Wire::tight(&["ingress_total_drain_ms=0"]);
    wire.grain.is_read = false;
    let slow = wire.connect(Anonymous);
    wire.send(slow, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let local = wire.connect(LocalHealth);
    wire.send(
        local,
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\ngrace_ms=50",
    );
    wire.pass_ms(5000);
    assert!(!wire.server.finished());
    assert!(!wire.is_closed(slow));
    wire.grain.is_read = true;
    wire.run();
    assert_eq!(wire.response(slow).status, 200);
    wire.pass_ms(2000);
    let now = wire.now();
    assert!(wire.server.evidence_due(now) && wire.server.finished());
}
