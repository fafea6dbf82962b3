//! Expectations, and whether a connection goes on.

use ingress_ledger::Lane::Anonymous;

use crate::{answers, drains, passes, refused};

#[test]
fn expectations() {
    for expect in [
        "100-continue",
        "100-Continue",
        "100-continue, 100-CONTINUE",
        "",
        ",",
        " 100-continue ,",
    ] {
        passes(
            &format!("GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: {expect}\r\n\r\n"),
            200,
        );
        drains(
            &format!("Expect: {expect}\r\nContent-Length: 12"),
            "grace_ms=250",
        );
    }
    drains(
        "Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 12",
        "grace_ms=250",
    );
    for expect in [
        "100",
        "100-continue;a",
        "100-continue=x",
        "100 continue",
        "x, 100-continue",
        "100-continue, x",
        "\"100-continue\"",
        "200-ok",
        "100-continuex",
    ] {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: a\r\nExpect: {expect}\r\n\r\n");
        refused(Anonymous, &request, 417, "expectation_unknown");
        let old =
            format!("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\nExpect: {expect}\r\n\r\n");
        passes(&old, 200);
    }
}

#[test]
fn persistence() {
    for (head, goes_on) in [
        ("HTTP/1.1\r\nHost: a", true),
        ("HTTP/1.1\r\nHost: a\r\nConnection: keep-alive", true),
        ("HTTP/1.1\r\nHost: a\r\nConnection: ", true),
        ("HTTP/1.1\r\nHost: a\r\nConnection: closed, x-close", true),
        ("HTTP/1.1\r\nHost: a\r\nConnection: close", false),
        ("HTTP/1.1\r\nHost: a\r\nconnection: CLOSE", false),
        ("HTTP/1.1\r\nHost: a\r\nConnection: keep-alive,close", false),
        ("HTTP/1.1\r\nHost: a\r\nConnection: ,, close ,", false),
        (
            "HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nConnection: close",
            false,
        ),
        ("HTTP/1.0", false),
        ("HTTP/1.0\r\nHost: a", false),
        ("HTTP/1.0\r\nConnection: keep-alive", true),
        ("HTTP/1.0\r\nConnection: x, Keep-Alive", true),
        ("HTTP/1.0\r\nKeep-Alive: timeout=5", false),
        ("HTTP/1.0\r\nConnection: keep-alive, close", false),
        ("HTTP/1.0\r\nProxy-Connection: keep-alive", false),
    ] {
        let answers = answers(Anonymous, &format!("GET /healthz {head}\r\n\r\n"));
        assert_eq!(answers[0].status, 200, "{head:?}");
        assert_eq!(answers.len(), if goes_on { 2 } else { 1 }, "{head:?}");
        let says_close = answers[0].field("connection") == Some("close");
        assert_eq!(says_close, !goes_on, "{head:?}");
    }
}
