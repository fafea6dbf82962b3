//! How a body is delimited, and what stands in it.

use ingress_ledger::Lane::{Anonymous, LocalHealth};

use crate::{GET, answers, drain_refused, drains, passes, refused};

#[test]
fn lengths() {
    for length in ["12", " 12 ", "\t12", "0012"] {
        drains(&format!("Content-Length:{length}"), "grace_ms=250");
    }
    for length in [
        "",
        " ",
        "+12",
        "-12",
        "-0",
        "0x0c",
        "0xc",
        "c",
        "12,12",
        "12, 12",
        "12;",
        "12 12",
        "1 2",
        "12.0",
        "1e1",
        "12\u{a0}",
        "'12'",
        "\"12\"",
        "12 chunked",
        ",12",
        "12,",
        "１２",
        "1_2",
        "\u{b9}\u{b2}",
    ] {
        let head = format!("Content-Length: {length}");
        drain_refused(&head, "grace_ms=250", 400, "content_length_invalid");
    }
    for length in [
        "257",
        "18446744073709551615",
        "18446744073709551628",
        "99999999999999999999999999",
    ] {
        drain_refused(
            &format!("Content-Length: {length}"),
            "grace_ms=250",
            413,
            "body_too_large",
        );
    }
    for head in [
        "Content-Length: 12\r\nContent-Length: 12",
        "Content-Length: 12\r\nContent-Length: 0",
        "Content-Length: 0\r\ncontent-length: 12",
    ] {
        drain_refused(head, "grace_ms=250", 400, "content_length_repeated");
    }
    drain_refused("Content-Length\r\nX: 12", "", 400, "header_name_invalid");
}

#[test]
fn codings() {
    const BODY: &str = "c\r\ngrace_ms=250\r\n0\r\n\r\n";
    for coding in ["chunked", "Chunked", " chunked ", "\tCHUNKED\t"] {
        drains(&format!("Transfer-Encoding:{coding}"), BODY);
    }
    for coding in [
        "",
        "xchunked",
        "chunkedx",
        "chunked, identity",
        "identity",
        "chunked, chunked",
        "chunked;q=1",
        "chunked,",
        ",chunked",
        "chunk",
        "\"chunked\"",
        "'chunked'",
        "chunked gzip",
        "chun ked",
        "gzip",
        "chunked, gzip",
        "\u{130}chunked",
        "chunKed\u{212a}",
    ] {
        let head = format!("Transfer-Encoding: {coding}");
        drain_refused(&head, BODY, 400, "transfer_encoding_invalid");
    }
    for coding in [
        "gzip, chunked",
        "gzip,chunked",
        "identity, chunked",
        "x, gzip, chunked",
    ] {
        let head = format!("Transfer-Encoding: {coding}");
        drain_refused(&head, BODY, 501, "transfer_encoding_unknown");
    }
    for (head, code) in [
        ("Transfer-Encoding: \x0bchunked", "control_byte"),
        ("Transfer-Encoding: chunked\x0c", "control_byte"),
        ("Transfer-Encoding:\r\n chunked", "folded_header"),
        ("Transfer-Encoding : chunked", "header_name_invalid"),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "transfer_encoding_invalid",
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            "transfer_encoding_invalid",
        ),
        (
            "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
            "transfer_encoding_invalid",
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 22",
            "length_and_coding",
        ),
        (
            "Content-Length: 0\r\nTransfer-Encoding: chunked",
            "length_and_coding",
        ),
        (
            "Content-Length: x\r\nTransfer-Encoding: chunked",
            "content_length_invalid",
        ),
    ] {
        drain_refused(head, BODY, 400, code);
    }
    let old = format!("POST /drain HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n{BODY}");
    refused(LocalHealth, &old, 400, "transfer_encoding_in_1_0");
}

#[test]
fn chunks() {
    const CHUNKED: &str = "Transfer-Encoding: chunked";
    for body in [
        "C\r\ngrace_ms=250\r\n0\r\n\r\n",
        "000c\r\ngrace_ms=250\r\n0000\r\n\r\n",
        "6\r\ngrace_\r\n6\r\nms=250\r\n0\r\n\r\n",
        "c;a\r\ngrace_ms=250\r\n0;b=c\r\n\r\n",
        "c;a=\"b;c\\\"\";d\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c ;a\r\ngrace_ms=250\r\n0\t;a\r\n\r\n",
        "c;\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c\r\ngrace_ms=250\r\n0\r\nContent-Length: 99\r\nTransfer-Encoding: x\r\nHost: b\r\n\r\n",
        "c\r\ngrace_ms=250\r\n0\r\nX:\r\nY: z\r\n\r\n",
    ] {
        drains(CHUNKED, body);
    }
    for body in [
        "c\ngrace_ms=250\n0\n\n",
        "c\r\ngrace_ms=250\n0\r\n\r\n",
        "c\r\ngrace_ms=250\r\n0\n\r\n",
        "c\r\ngrace_ms=250\r\n0\r\n\n",
        "c\r\ngrace_ms=2500\r\n0\r\n\r\n",
        "d\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c\r\ngrace_ms=250X\r\n0\r\n\r\n",
        "c\r\ngrace_ms=2500\r\n\r\n",
        "0xc\r\ngrace_ms=250\r\n0\r\n\r\n",
        "+c\r\ngrace_ms=250\r\n0\r\n\r\n",
        "-c\r\ngrace_ms=250\r\n0\r\n\r\n",
        " c\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c \r\ngrace_ms=250\r\n0\r\n\r\n",
        "c c\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c_\r\ngrace_ms=250\r\n0\r\n\r\n",
        "0_c\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c\r\ngrace_ms=250__0\r\n\r\n",
        "c\r\ngrace_ms=250\r_0\r\n\r\n",
        "c,c\r\ngrace_ms=250\r\n0\r\n\r\n",
        "\r\nc\r\ngrace_ms=250\r\n0\r\n\r\n",
        ";a\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c;a\nb\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c;a\rb\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c;a=\"\r\n\"\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c;a\0\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c\r\r\ngrace_ms=250\r\n0\r\n\r\n",
        "0000000000000000c\r\ngrace_ms=250\r\n0\r\n\r\n",
        "c\r\ngrace_ms=250\r\n0\r\n X: y\r\n\r\n",
        "c\r\ngrace_ms=250\r\n0\r\nX: y\r\n z\r\n\r\n",
        "c\r\ngrace_ms=250\r\n0\r\nX : y\r\n\r\n",
        "c\r\ngrace_ms=250\r\n0\r\nX: y\nZ: w\r\n\r\n",
        "c\r\ngrace_ms=250\r\n0\r\nno colon\r\n\r\n",
    ] {
        drain_refused(CHUNKED, body, 400, "chunk_invalid");
    }
    for body in [
        "101\r\n",
        "ffffffffffffffff\r\n",
        "10000000000000000\r\n",
        "fffffffffffffffff\r\n",
    ] {
        drain_refused(CHUNKED, body, 413, "body_too_large");
    }
    let long = format!("c;{}\r\n", "a".repeat(1100));
    drain_refused(CHUNKED, &long, 400, "chunk_overhead");
    let trailers = format!("0\r\n{}\r\n", "X: y\r\n".repeat(200));
    drain_refused(CHUNKED, &trailers, 400, "chunk_overhead");
}

/// A body that no route takes is not read, so that what looks like a request in it is not one.
#[test]
fn a_body_is_never_a_request() {
    for (request, status) in [
        (
            format!(
                "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                GET.len()
            ),
            413,
        ),
        (
            format!(
                "GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{GET}\r\n0\r\n\r\n",
                GET.len()
            ),
            413,
        ),
        (
            format!(
                "HEAD /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                GET.len()
            ),
            413,
        ),
        (
            format!(
                "POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                GET.len()
            ),
            404,
        ),
        (
            format!(
                "BREW /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                GET.len()
            ),
            501,
        ),
        (
            "DELETE /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                .into(),
            405,
        ),
    ] {
        let answers = answers(Anonymous, &request);
        assert_eq!(answers.len(), 1, "{request:?}");
        assert_eq!(answers[0].status, status, "{request:?}");
        assert_eq!(answers[0].field("connection"), Some("close"), "{request:?}");
    }
}

/// How a proxy passes on a request that came without a length and turned out to have no body.
#[test]
fn no_chunks_are_no_body() {
    for chunks in ["0\r\n\r\n", "000\r\n\r\n", "0;a=b\r\nX: y\r\n\r\n"] {
        for path in ["/healthz", "/"] {
            passes(
                &format!(
                    "GET {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"
                ),
                200,
            );
        }
    }
    // Who asks first is told at once, before a byte of a body that could only be refused.
    for framing in ["Transfer-Encoding: chunked", "Content-Length: 1"] {
        refused(
            Anonymous,
            &format!(
                "GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n{framing}\r\n\r\n"
            ),
            413,
            "body_too_large",
        );
    }
}
