//! What balancers, orchestrators and clients send, as they send it.

use ingress_ledger::Lane::{Anonymous, ProviderHealth};

use crate::{answers, is_last, passes, refused};

#[test]
fn probes_that_are_answered() {
    for probe in [
        "GET /healthz HTTP/1.1\r\nHost: 10.0.3.15:8081\r\nConnection: close\r\nUser-Agent: ELB-HealthChecker/2.0\r\nAccept-Encoding: gzip, compressed\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: 10.0.3.15:8081\r\nUser-Agent: ELB-HealthChecker/1.0\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nUser-Agent: GoogleHC/1.0\r\nHost: 10.0.3.15\r\nConnection: Keep-Alive\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nConnection: Close\r\nHost: 10.0.3.15:8081\r\nUser-Agent: Load Balancer Agent\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: [fd00::15]:8081\r\nUser-Agent: kube-probe/1.31\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost:\r\nProxy-Connection: keep-alive\r\n\r\n",
        "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /healthz HTTP/1.0\r\nUser-Agent: probe\r\n\r\n",
        "GET /healthz HTTP/1.0\r\nHost: 10.0.3.15\r\nConnection: Keep-Alive\r\nAccept: */*\r\n\r\n",
        "HEAD /healthz HTTP/1.1\r\nhost: lb\r\nconnection: close\r\nx-haproxy-server-state: UP; name=a/b\r\n\r\n",
    ] {
        let answers = answers(ProviderHealth, probe);
        assert_eq!(answers[0].status, 200, "{probe:?}");
        let goes_on = probe.to_lowercase().contains("keep-alive");
        assert_eq!(answers.len(), if goes_on { 2 } else { 1 }, "{probe:?}");
        assert_eq!(answers[0].field("content-length"), Some("18"), "{probe:?}");
    }
}

/// Defaults that an operator has to change; the answer says what is wrong with them.
#[test]
fn probes_that_are_refused() {
    for (probe, status, code) in [
        (
            "GET / HTTP/1.1\r\nHost: 10.0.3.15\r\n\r\n",
            403,
            "route_denied",
        ),
        ("OPTIONS / HTTP/1.0\r\n\r\n", 403, "route_denied"),
        (
            "GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n",
            400,
            "host_missing",
        ),
        (
            "GET /healthz HTTP/1.1\r\nHost: 10.0.3.15\r\nContent-Length: 2\r\n\r\nhi",
            413,
            "body_too_large",
        ),
        ("GET /healthz\r\n\r\n", 400, "request_line_invalid"),
        ("GET /healthz HTTP/1.0\n\n", 400, "bare_lf"),
    ] {
        let answers = answers(ProviderHealth, probe);
        assert_eq!(
            (answers[0].status, answers[0].code()),
            (status, code),
            "{probe:?}"
        );
    }
}

#[test]
fn requests_of_browsers_and_tools() {
    for (target, fields, status) in [
        (
            "/",
            "Connection: keep-alive\r\nsec-ch-ua: \"A\";v=\"1\", \"Not)A;Brand\";v=\"99\"\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Mode: navigate\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nCookie: a=b; c=\"d\"\r\nPriority: u=0, i",
            200,
        ),
        ("/", "Range: bytes=0-3", 200),
        ("/", "Range: bytes=99999-\r\nIf-Range: \"x\"", 200),
        ("/", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", 200),
        ("/", "If-None-Match: \"x\"\r\nIf-None-Match: *", 200),
        ("/", "If-None-Match: *", 304),
        ("/", "If-Match: \"x\"", 412),
        ("/", "TE: trailers, deflate;q=0.5\r\nConnection: TE", 200),
        (
            "/",
            "Accept: application/x-nothing\r\nAccept-Charset: x",
            200,
        ),
        (
            "/",
            "Authorization: Basic YTpi\r\nProxy-Connection: close",
            200,
        ),
        ("/favicon.ico", "Referer: http://a/", 200),
        (
            "/.well-known/appspecific/com.chrome.devtools.json",
            "A: b",
            404,
        ),
        ("/apple-touch-icon.png", "A: b", 404),
        ("http://a/robots.txt", "Via: 1.1 b", 200),
        ("/caf%C3%A9?q=%E2%82%AC&r=a+b", "A: b", 404),
    ] {
        passes(
            &format!("GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"),
            status,
        );
    }
    for (line, status) in [
        ("OPTIONS /api/ingress", 405),
        ("PUT /x", 404),
        ("POST /", 405),
        ("TRACE /", 501),
        ("PURGE /", 501),
        ("get /", 501),
    ] {
        passes(&format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n"), status);
    }
    for line in ["CONNECT b:443", "CONNECT /x"] {
        is_last(&format!("{line} HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
    }
    for fields in [
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    ] {
        is_last(
            &format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"),
            200,
        );
    }
}

/// A body may follow a request that nobody asked it of; it must not be read as the next one.
#[test]
fn uploads_are_refused_before_and_after_their_body() {
    for fields in [
        "Content-Length: 20000000\r\nExpect: 100-continue",
        "Transfer-Encoding: chunked\r\nExpect: 100-continue",
        "Content-Length: 36",
    ] {
        for (line, status, code) in [
            ("PUT /x", 404, "not_found"),
            ("POST /healthz", 405, "method_not_allowed"),
            ("GET /healthz", 413, "body_too_large"),
        ] {
            let request = format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
            refused(Anonymous, &request, status, code);
        }
    }
}
