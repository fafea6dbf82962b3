//! Request lines, targets, versions, and other protocols.

use ingress_ledger::Lane::Anonymous;

use crate::{is_last, passes, refused};

#[test]
fn targets() {
    for (target, status) in [
        ("/healthz", 200),
        ("/healthz?", 200),
        ("/healthz?a=b&c=%zz", 200),
        ("/%68%65althz", 200),
        ("http://b/healthz", 200),
        ("HTTP://b:80/healthz?x", 200),
        ("https://[::1]:443/healthz", 200),
        ("http://b", 200),
        ("http://b?/../x", 200),
        ("//healthz", 404),
        ("/healthz/", 404),
        ("/http://a/", 404),
        ("/healthz[1]|x^y", 404),
    ] {
        passes(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"), status);
    }
    for (target, code) in [
        ("*", "target_invalid"),
        ("healthz", "target_invalid"),
        ("a:80", "target_invalid"),
        ("?x", "target_invalid"),
        ("ftp://a/healthz", "target_invalid"),
        ("ws://a/healthz", "target_invalid"),
        ("file:///healthz", "target_invalid"),
        ("http:/healthz", "target_invalid"),
        ("http:///healthz", "target_invalid"),
        ("http://:80/healthz", "target_invalid"),
        ("http://u@a/healthz", "target_invalid"),
        ("http://u:p@a:80/healthz", "target_invalid"),
        ("http://a:65536/healthz", "target_invalid"),
        ("http://[::1/healthz", "target_invalid"),
        ("http://[:::]/healthz", "target_invalid"),
        ("http://a%2e/healthz", "target_invalid"),
        ("http://a\\b/healthz", "target_invalid"),
        ("/healthz#x", "target_invalid"),
        ("/heal\"thz", "target_invalid"),
        ("/heal<thz", "target_invalid"),
        ("/heal\u{e9}thz", "target_invalid"),
        ("/heal\\thz", "target_invalid"),
        ("/%", "path_unsafe"),
        ("/%4", "path_unsafe"),
        ("/%4g", "path_unsafe"),
        ("/%00", "path_unsafe"),
        ("/%0A", "path_unsafe"),
        ("/%2F", "path_unsafe"),
        ("../../etc/passwd", "target_invalid"),
        ("http://a?x#y", "target_invalid"),
        ("http://b.:1.2/", "target_invalid"),
        ("http://[::1]./", "target_invalid"),
        ("http://b[::1]/", "target_invalid"),
        ("http://::1:80/", "target_invalid"),
        ("/%5c", "path_unsafe"),
        ("/x/%2E%2e/healthz", "path_unsafe"),
        ("http://a/../healthz", "path_unsafe"),
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        refused(Anonymous, &request, 400, code);
    }
    passes("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204);
    passes("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n", 204);
    passes("OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n", 405);
    is_last("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 501);
    passes("PROPFIND /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 501);
}

#[test]
fn request_lines_and_versions() {
    passes("\r\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 200);
    for line in [
        "GET  /healthz HTTP/1.1",
        "GET /healthz  HTTP/1.1",
        "GET /healthz HTTP/1.1 ",
        " GET /healthz HTTP/1.1",
        "GET\t/healthz\tHTTP/1.1",
        "GET /heal thz HTTP/1.1",
        "GET /healthz",
        "GET",
        "G@T /healthz HTTP/1.1",
        "GET: /healthz HTTP/1.1",
        "\"GET\" /healthz HTTP/1.1",
    ] {
        let request = format!("{line}\r\nHost: a\r\n\r\n");
        refused(Anonymous, &request, 400, "request_line_invalid");
    }
    for version in [
        "http/1.1",
        "HTTP/1",
        "HTTP/1.",
        "HTTP/.1",
        "HTTP/1.10",
        "HTTP/01.1",
        "HTTP/1,1",
        "HTTP 1.1",
        "HTTPS/1.1",
        "HTTP/+1.1",
        "HTTP/1.1x",
        "ICY/1.0",
    ] {
        let request = format!("GET /healthz {version}\r\nHost: a\r\n\r\n");
        let code = if version.contains(' ') {
            "request_line_invalid"
        } else {
            "version_invalid"
        };
        refused(Anonymous, &request, 400, code);
    }
    for version in [
        "HTTP/0.9", "HTTP/1.2", "HTTP/1.9", "HTTP/2.0", "HTTP/3.0", "HTTP/9.9",
    ] {
        let request = format!("GET /healthz {version}\r\nHost: a\r\n\r\n");
        refused(Anonymous, &request, 505, "version_unknown");
    }
}

#[test]
fn other_protocols() {
    refused(
        Anonymous,
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        505,
        "version_unknown",
    );
    for (hello, code) in [
        ("\x16\x03\x01\x02\x00\x01\x00\x01\u{7f}", "control_byte"),
        ("SSH-2.0-client_1.0\r\n", "request_line_invalid"),
        ("EHLO a\r\n", "request_line_invalid"),
        ("*1\r\n$4\r\nPING\r\n", "request_line_invalid"),
        ("\x04\x01\x00\x50\x00\x00\x00\x01\x00", "control_byte"),
        ("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", "control_byte"),
        (
            "PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n",
            "request_line_invalid",
        ),
        ("PROXY UNKNOWN\r\n", "request_line_invalid"),
        ("OPTIONS sip:nm SIP/2.0\r\n", "version_invalid"),
        ("OPTIONS / RTSP/1.0\r\n", "version_invalid"),
        (
            "M-SEARCH * HTTP/1.1\r\nHost: 239.255.255.250:1900\r\n\r\n",
            "target_invalid",
        ),
        ("\x03\0\0\x2aCookie: mstshash=a\r\n", "control_byte"),
        ("JRMI\0\x02K", "control_byte"),
    ] {
        refused(Anonymous, hello, 400, code);
    }
}

#[test]
fn what_is_too_long() {
    let long = |bytes: usize| "a".repeat(bytes);
    for (request, status, code) in [
        (
            format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", long(8000)),
            414,
            "target_too_long",
        ),
        (format!("GET /{}", long(9000)), 414, "target_too_long"),
        (
            format!("GET http://{}/ HTTP/1.1\r\nHost: a\r\n\r\n", long(8000)),
            414,
            "target_too_long",
        ),
        (long(9000), 501, "method_too_long"),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", long(9000)),
            431,
            "head_too_large",
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\n{}", long(9000)),
            431,
            "head_too_large",
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: {}", long(9000)),
            431,
            "head_too_large",
        ),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
                "X: y\r\n".repeat(128)
            ),
            431,
            "too_many_headers",
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\n{}", "X: y\r\n".repeat(2000)),
            431,
            "head_too_large",
        ),
    ] {
        refused(Anonymous, &request, status, code);
    }
    passes(
        &format!("{} / HTTP/1.1\r\nHost: a\r\n\r\n", long(4000)),
        501,
    );
    passes(
        &format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", long(7999)),
        404,
    );
}
