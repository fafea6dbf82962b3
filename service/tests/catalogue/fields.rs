//! Hosts, and the form of lines and fields.

use ingress_ledger::Lane::Anonymous;

use crate::{passes, refused};

#[test]
fn hosts() {
    for host in [
        "",
        " \t",
        "a",
        "A.b",
        "a.",
        "a-b_c:80",
        "a:",
        "a:65535",
        "a:0080",
        " a ",
        "\ta:1\t",
        "127.0.0.1:1",
        "[::1]",
        "[2001:DB8::7]:443",
        "[::ffff:1.2.3.4]",
    ] {
        passes(
            &format!("GET /healthz HTTP/1.1\r\nHost:{host}\r\n\r\n"),
            200,
        );
    }
    for host in [
        ":",
        ":80",
        "a:65536",
        "a:99999",
        "a:x",
        "a:-1",
        "a:80:80",
        "a b",
        "a\tb",
        "a,b",
        "a, b",
        "u@a",
        "u:p@a",
        "a/",
        "/",
        "a?b",
        "a#b",
        "a%41",
        "http://a",
        "[::1",
        "::1",
        "[]",
        "[::1]a",
        "[:::]",
        "[1.2.3.4]",
        "[fe80::1%25x]",
        "[v7.x]",
        "a\u{e9}",
        "\"a\"",
        "a\\b",
        "*",
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n");
        refused(Anonymous, &request, 400, "host_invalid");
        // What is invalid is so in either version, and however the target is written.
        let absolute = format!("GET http://a/healthz HTTP/1.0\r\nHost: {host}\r\n\r\n");
        refused(Anonymous, &absolute, 400, "host_invalid");
    }
}

#[test]
fn host_fields() {
    for fields in [
        "Host: a\r\nHost: a\r\n",
        "Host: a\r\nX: y\r\nhOST: b\r\n",
        "Host:\r\nHost: a\r\n",
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\n{fields}\r\n");
        refused(Anonymous, &request, 400, "host_repeated");
    }
    for target in ["/healthz", "http://a/healthz", "*"] {
        let method = if target == "*" { "OPTIONS" } else { "GET" };
        let request = format!("{method} {target} HTTP/1.1\r\nX-Host: a\r\n\r\n");
        refused(Anonymous, &request, 400, "host_missing");
    }
    for spelling in ["Host : a", "Host\t: a", " Host: a", "Host", "Ho st: a"] {
        let request = format!("GET /healthz HTTP/1.1\r\n{spelling}\r\n\r\n");
        let folded = spelling.starts_with(' ');
        let code = if folded {
            "folded_header"
        } else {
            "header_name_invalid"
        };
        refused(Anonymous, &request, 400, code);
    }
}

#[test]
fn lines_and_fields() {
    for fields in [
        "X:\r\n",
        "X: \r\n",
        "X:y\r\n",
        "X:\t y \t\r\n",
        "x-!#$%&'*+-.^_`|~1: y\r\n",
        "X: \u{e9}\r\n",
        "X: a\tb\r\n",
        "X: \"a, b\"\r\n",
        "Content-Length: 0\r\n",
        "TE: trailers\r\n",
        "Trailer: Host\r\n",
        "X-Transfer-Encoding: chunked\r\n",
    ] {
        passes(
            &format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{fields}\r\n"),
            200,
        );
    }
    for (fields, code) in [
        ("X: y\n", "bare_lf"),
        ("X: y\n\r\n", "bare_lf"),
        ("X: y\r\r\n", "bare_cr"),
        ("X: a\rb\r\n", "bare_cr"),
        ("\rX: y\r\n", "bare_cr"),
        ("X: a\0b\r\n", "control_byte"),
        ("X\0: y\r\n", "control_byte"),
        ("X: a\x08b\r\n", "control_byte"),
        ("X: a\x0bb\r\n", "control_byte"),
        ("X: a\x0cb\r\n", "control_byte"),
        ("X: a\x1bb\r\n", "control_byte"),
        ("X: a\x7fb\r\n", "control_byte"),
        ("X: a\r\n b\r\n", "folded_header"),
        ("X: a\r\n\tb\r\n", "folded_header"),
        ("X:\r\n \r\n", "folded_header"),
        (": y\r\n", "header_name_invalid"),
        ("X y\r\n", "header_name_invalid"),
        ("X : y\r\n", "header_name_invalid"),
        ("X\t: y\r\n", "header_name_invalid"),
        ("X(: y\r\n", "header_name_invalid"),
        ("X,Y: z\r\n", "header_name_invalid"),
        ("X/Y: z\r\n", "header_name_invalid"),
        ("X[]: z\r\n", "header_name_invalid"),
        ("X@: z\r\n", "header_name_invalid"),
        ("\"X\": z\r\n", "header_name_invalid"),
        ("X\u{e9}: z\r\n", "header_name_invalid"),
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        refused(Anonymous, &request, 400, code);
    }
    for (request, code) in [
        ("GET /healthz HTTP/1.1\nHost: a\n\n", "bare_lf"),
        ("GET /healthz HTTP/1.1\r\n Host: a\r\n\r\n", "folded_header"),
        (
            "GET /healthz HTTP/1.1\r\n\r\n\nHost: a\r\n\r\n",
            "host_missing",
        ),
        ("\n\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", "bare_lf"),
    ] {
        refused(Anonymous, request, 400, code);
    }
}
