//! What answers look like, and requests that parsers are known to disagree about.

mod support;

use ingress_ledger::Lane::{self, Anonymous, LocalHealth, ProviderHealth};
use support::Wire;

fn get(wire: &mut Wire, lane: Lane, path: &str, fields: &str) -> support::Response {
    let conn = wire.connect(lane);
    wire.ask(
        conn,
        format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"),
    )
}

#[test]
fn head_has_the_length_of_get_and_no_body() {
    let mut wire = Wire::tight(&[]);
    for (lane, path) in [
        (Anonymous, "/"),
        (Anonymous, "/healthz"),
        (ProviderHealth, "/healthz"),
        (Anonymous, "/nothing"),
        (LocalHealth, "/readyz"),
    ] {
        let whole = wire.get(lane, path);
        let conn = wire.connect(lane);
        wire.send(conn, format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let head = wire.try_response(conn, true).unwrap();
        assert_eq!(head.status, whole.status);
        assert_eq!(
            head.field("content-length"),
            Some(whole.body.len().to_string().as_str()),
            "{path}"
        );
        assert!(wire.peer(conn).inbound.is_empty(), "{path}");
        wire.shut_down(conn);
    }
    let conn = wire.connect(Anonymous);
    wire.send(conn, "HEAD / HTTP/1.1\r\n\r\n");
    assert_eq!(wire.try_response(conn, true).unwrap().status, 400);
    assert!(
        wire.peer(conn).inbound.is_empty(),
        "a fault is answered as HEAD wants it, too"
    );
    wire.finish();
}

#[test]
fn pages_are_confined_and_assets_are_cached_by_tag() {
    let mut wire = Wire::tight(&[]);
    let page = get(&mut wire, Anonymous, "/", "");
    assert!(
        page.field("content-security-policy")
            .unwrap()
            .contains("default-src 'none'")
    );
    assert_eq!(page.field("x-frame-options"), Some("DENY"));
    assert_eq!(page.field("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.field("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.field("cache-control"), Some("no-cache"));
    let etag = page.field("etag").unwrap();
    let again = get(
        &mut wire,
        Anonymous,
        "/",
        &format!("If-None-Match: {etag}\r\n"),
    );
    assert_eq!(
        (again.status, again.body.as_str(), again.field("etag")),
        (304, "", Some(etag))
    );
    let twice = get(
        &mut wire,
        Anonymous,
        "/",
        &format!("If-None-Match: \"other\"\r\nIf-None-Match: {etag}\r\n"),
    );
    assert_eq!(twice.status, 304, "two fields are one list");
    assert_eq!(
        get(&mut wire, Anonymous, "/", "If-None-Match: \"other\"\r\n").status,
        200
    );
    assert_eq!(
        get(&mut wire, Anonymous, "/", "Range: bytes=0-3\r\n").status,
        200
    );
    assert_eq!(
        get(&mut wire, Anonymous, "/api/ingress", "").field("cache-control"),
        Some("no-store")
    );
    wire.finish();
}

/// RFC 9110 §13.2: what the client would get decides, and only a success has conditions.
#[test]
fn a_precondition_that_does_not_hold_changes_the_answer_and_does_nothing() {
    let mut wire = Wire::tight(&[]);
    let page = get(&mut wire, Anonymous, "/", "");
    let etag = page.field("etag").unwrap();
    for (path, fields, status) in [
        ("/", format!("If-Match: {etag}"), 200),
        ("/", format!("If-Match: W/{etag}"), 412),
        (
            "/",
            format!("If-Match: {etag}\r\nIf-None-Match: {etag}"),
            304,
        ),
        (
            "/",
            format!("If-Match: \"x\"\r\nIf-None-Match: {etag}"),
            412,
        ),
        ("/", format!("If-Range: {etag}\r\nRange: bytes=0-3"), 200),
        ("/healthz", "If-Match: \"x\"".into(), 412),
        ("/api/ingress", "If-None-Match: \"x\"".into(), 200),
        ("/nothing", "If-Match: \"x\"".into(), 404),
        ("/drain", "If-Match: \"x\"".into(), 403),
    ] {
        let conn = wire.connect(Anonymous);
        for _ in 0..2 {
            let answer = wire.ask(
                conn,
                format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"),
            );
            assert_eq!(answer.status, status, "{path} {fields}");
            if status == 412 {
                assert_eq!(answer.code(), "precondition_failed");
                assert_eq!(answer.field("etag"), None);
            }
        }
        wire.shut_down(conn);
    }
    let drain = "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n";
    let refused = wire.ask_once(
        LocalHealth,
        format!("{drain}If-Match: \"x\"\r\n\r\ngrace_ms=0"),
    );
    assert_eq!(refused.status, 412);
    assert_eq!(wire.get(Anonymous, "/healthz").status, 200, "no drain");
    let conditional = "GET /readyz HTTP/1.1\r\nHost: a\r\nIf-Match: \"x\"\r\n\r\n";
    assert_eq!(wire.ask_once(LocalHealth, conditional).status, 412);
    let begun = wire.ask_once(
        LocalHealth,
        format!("{drain}If-None-Match: *\r\n\r\ngrace_ms=9"),
    );
    assert_eq!(begun.status, 202);
    assert_eq!(
        wire.ask_once(LocalHealth, conditional).status,
        503,
        "no conditions on what is no success"
    );
    wire.finish();
}

#[test]
fn dates_follow_the_wall_clock() {
    let mut wire = Wire::tight(&[]);
    assert_eq!(
        get(&mut wire, Anonymous, "/healthz", "").field("date"),
        None
    );
    let at = wire.now().unwrap();
    wire.server
        .set_wall_clock(remote_session_web_ui::server::WallClock {
            unix_seconds: 784_111_777,
            at,
        });
    assert_eq!(
        get(&mut wire, Anonymous, "/healthz", "").field("date"),
        Some("Sun, 06 Nov 1994 08:49:37 GMT")
    );
    wire.pass_ms(2000);
    assert_eq!(
        get(&mut wire, Anonymous, "/nothing", "").field("date"),
        Some("Sun, 06 Nov 1994 08:49:39 GMT")
    );
}

#[test]
fn api_bodies_are_json() {
    let mut wire = Wire::tight(&[]);
    for (lane, path) in [
        (Anonymous, "/api/ingress"),
        (LocalHealth, "/api/status"),
        (LocalHealth, "/readyz"),
    ] {
        let response = wire.get(lane, path);
        let value: serde_json::Value = serde_json::from_str(&response.body).unwrap();
        assert!(value.is_object(), "{path}");
    }
    let ingress: serde_json::Value =
        serde_json::from_str(&wire.get(Anonymous, "/api/ingress").body).unwrap();
    assert_eq!(ingress["lanes"].as_array().unwrap().len(), 3);
    assert_eq!(ingress["lanes"][0]["lane"], "anonymous");
    assert_eq!(ingress["lanes"][0]["admitted"], 2);
    assert_eq!(ingress["lanes"][1]["slot_reserve"], 1);
    assert_eq!(ingress["state"], "serving");
}

#[test]
fn an_invited_body_follows_its_invitation() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(LocalHealth);
    wire.grain.send = 3;
    wire.send(
        conn,
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 13\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(wire.peer(conn).inbound, b"HTTP/1.1 100 Continue\r\n\r\n");
    wire.peer(conn).inbound.clear();
    wire.send(conn, "grace_ms=1000");
    let response = wire.response(conn);
    assert_eq!(
        (response.status, response.body.as_str()),
        (202, "{\"state\":\"draining\",\"drain_ms\":1000}\n")
    );
}

#[test]
fn an_invitation_is_not_sent_when_it_is_refused_or_not_needed() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(LocalHealth);
    wire.send(
        conn,
        "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 999\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(wire.response(conn).status, 413);
    let conn = wire.connect(LocalHealth);
    wire.send(
        conn,
        "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(wire.response(conn).status, 200);
    let conn = wire.connect(LocalHealth);
    wire.send(conn, "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\ngrace_ms=1");
    assert_eq!(wire.response(conn).status, 202);
    wire.finish();
}

#[test]
fn a_chunked_body_is_read_and_what_follows_is_a_request() {
    for receive in [1, 3, 1000] {
        let mut wire = Wire::tight(&[]);
        wire.grain.receive = receive;
        let conn = wire.connect(LocalHealth);
        wire.send(
            conn,
            "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nPOST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\ngrace_\r\n8;x=y\r\nms=60000\r\n0\r\nT: u\r\n\r\n",
        );
        assert_eq!(wire.response(conn).status, 200);
        let response = wire.response(conn);
        assert_eq!(
            (response.status, response.body.contains("60000")),
            (202, true),
            "{}",
            response.body
        );
    }
}

#[test]
fn options_asks_about_the_server() {
    let mut wire = Wire::tight(&[]);
    let response = wire.ask_once(Anonymous, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(
        (response.status, response.field("allow")),
        (204, Some("GET, HEAD, OPTIONS")),
        "what no public route takes is not allowed"
    );
    assert_eq!(response.field("content-length"), None);
    assert_eq!(
        wire.ask_once(ProviderHealth, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
            .status,
        403
    );
}

#[test]
fn the_longest_target_and_head_fit() {
    let mut wire = Wire::tight(&[]);
    let mut ask = |target_bytes: usize| {
        let query = "x".repeat(target_bytes - "/healthz?".len());
        wire.ask_once(
            Anonymous,
            format!("GET /healthz?{query} HTTP/1.1\r\nHost: a\r\n\r\n"),
        )
        .status
    };
    assert_eq!((ask(8000), ask(8001)), (200, 414));
    let start = "GET /healthz HTTP/1.1\r\nHost: a\r\nX: ";
    let fits = "y".repeat(8192 - start.len() - 4);
    assert_eq!(
        wire.ask_once(Anonymous, format!("{start}{fits}\r\n\r\n"))
            .status,
        200
    );
    let response = wire.ask_once(Anonymous, format!("{start}{fits}y\r\n\r\n"));
    assert_eq!(response.status, 431);
    wire.finish();
}

/// Requests on the public lane that name protected lanes, ports and paths in every way there is.
#[test]
fn no_request_field_selects_a_lane() {
    let mut wire = Wire::tight(&[]);
    for fields in [
        "Host: 127.0.0.1:8082\r\n",
        "Host: a\r\nForwarded: for=127.0.0.1;host=\"127.0.0.1:8082\";proto=http\r\n",
        "Host: a\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: localhost:8082\r\nX-Forwarded-Port: 8081\r\n",
        "Host: a\r\nOrigin: http://127.0.0.1:8082\r\nReferer: http://127.0.0.1:8082/\r\n",
        "Host: a\r\nX-Ingress-Lane: provider_health\r\n",
        "Host: a\r\nVia: 1.1 provider_health\r\nX-Ingress-Lane: local_health\r\nX-Original-URL: /drain\r\n",
    ] {
        for target in [
            "/api/status",
            "http://127.0.0.1:8082/api/status",
            "http://10.0.3.15:8081/drain",
            "/drain",
        ] {
            let response = wire.ask_once(
                Anonymous,
                format!("GET {target} HTTP/1.1\r\n{fields}Connection: close\r\n\r\n"),
            );
            assert_eq!(
                (response.status, response.code()),
                (403, "route_denied"),
                "{target} {fields}"
            );
            assert!(response.body.contains("\"lane\":\"anonymous\""));
        }
        let response = wire.ask_once(
            Anonymous,
            format!("GET /healthz HTTP/1.1\r\n{fields}Connection: close\r\n\r\n"),
        );
        assert_eq!(response.status, 200);
    }
    let evidence = wire.finish();
    assert_eq!(evidence.ledger.lanes[Anonymous].counters.admitted, 6);
    for lane in [LocalHealth, ProviderHealth] {
        assert_eq!(evidence.ledger.lanes[lane].counters.admitted, 0);
        assert_eq!(evidence.permits.lanes[lane].counters.admitted, 0);
    }
}

/// Known ways to have two parsers see two requests where there is one, and one where there are two.
/// Each must be answered with one error, after which nothing on the connection counts.
const SMUGGLED: &[&str] = &[
    // Both framings, in either order and disguised.
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n1\r\nZ\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-encoding: x\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nX: y\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\x0bchunked\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: 'chunked'\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\x00: chunked\r\n\r\n",
    "POST /drain HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n0\r\n\r\n",
    // Lengths that are read in two ways.
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\nhello",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 5;\r\n\r\nhello",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: -0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551621\r\n\r\nhello",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n   ",
    "GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nZ\r\n0\r\n\r\n",
    // Chunks that are read in two ways.
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nab\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n+2\r\nab\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nab\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;a\nb\r\nab\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabXX0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000002\r\nab\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n0\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\nC: d\r\n\r\n",
    // Lines and names.
    "GET /healthz HTTP/1.1\nHost: a\n\n",
    "GET /healthz HTTP/1.1\r\nHost: a\n\r\n",
    "GET /healthz HTTP/1.1\r\r\nHost: a\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost\t: a\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHo\u{0}st: a\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: a\r\n: empty\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: a\r\nX(: y\r\n\r\n",
    "GET /healthz\tHTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /healthz HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET\u{a0}/healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "\u{feff}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    // Hosts and targets.
    "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: a@b\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n",
    "GET http://a@b/healthz HTTP/1.1\r\nHost: b\r\n\r\n",
    "GET http:///healthz HTTP/1.1\r\nHost: b\r\n\r\n",
    "GET /healthz/../drain HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /%2e%2e/drain HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /healthz%00 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /healthz%0d%0aX:y HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /healthz#x HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET \\healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    // Other protocols.
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET /healthz HTTP/3.0\r\nHost: a\r\n\r\n",
    "GET /healthz HTTP/1.9\r\nHost: a\r\n\r\n",
    "GET /healthz\r\n\r\n",
    "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}",
    "SSH-2.0-OpenSSH_9.2\r\n",
    "EHLO mail\r\n",
    "*1\r\n$4\r\nPING\r\n",
];

#[test]
fn nothing_is_smuggled() {
    for request in SMUGGLED {
        for receive in [1, usize::MAX] {
            let mut wire = Wire::tight(&[]);
            wire.grain.receive = receive;
            let conn = wire.connect(LocalHealth);
            wire.send(
                conn,
                format!("{request}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"),
            );
            let response = wire.response(conn);
            assert!(
                matches!(response.status, 400 | 413 | 501 | 505),
                "{} {request:?}",
                response.status
            );
            assert_eq!(response.field("connection"), Some("close"), "{request:?}");
            assert!(wire.peer(conn).inbound.is_empty(), "{request:?}");
            let evidence = wire.finish();
            assert_eq!(
                evidence.ledger.lanes[LocalHealth].counters.admitted, 0,
                "{request:?}"
            );
        }
    }
}

#[test]
fn a_query_and_a_fragment_of_a_known_path_change_nothing() {
    let mut wire = Wire::tight(&[]);
    for target in [
        "/healthz?lane=local_health",
        "/%68ealthz",
        "http://anything/healthz",
        "HTTPS://x:1/healthz?y",
    ] {
        let response = wire.ask_once(
            Anonymous,
            format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"),
        );
        assert_eq!(response.status, 200, "{target}");
    }
}
