//! A catalogue of requests that HTTP parsers are known to trip over, each with the answer that the
//! RFCs ask for (keeps INV-FRAMING). Every one is sent whole and byte by byte, with a good request right behind it.

#![expect(clippy::indexing_slicing, reason = "a test fails loudly")]

mod bodies;
mod connections;
mod fields;
mod probes;
#[path = "../support/mod.rs"]
mod support;
mod targets;

use ingress_ledger::Lane::{self, Anonymous, LocalHealth};
use support::{Response, Wire};

const GET: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

/// All final answers to a request with a good one behind it, the same however it is split.
fn answers(lane: Lane, request: &str) -> Vec<Response> {
    let [whole, split] = [usize::MAX, 1].map(|receive| {
        let mut wire = Wire::tight(&[]);
        wire.grain.receive = receive;
        let conn = wire.connect(lane);
        wire.send(conn, format!("{request}{GET}"));
        wire.shut_down(conn);
        // Whether a body is invited depends on whether it has come by then.
        let answers: Vec<_> =
            core::iter::from_fn(|| wire.try_response(conn, request.starts_with("HEAD")))
                .filter(|answer| answer.status != 100)
                .collect();
        assert!(wire.peer(conn).inbound.is_empty(), "{request:?}");
        wire.finish();
        answers
    });
    let statuses = |answers: &[Response]| answers.iter().map(|one| one.status).collect::<Vec<_>>();
    assert_eq!(statuses(&whole), statuses(&split), "{request:?}");
    whole
}

/// One error, and then nothing more on that connection.
fn refused(lane: Lane, request: &str, status: u16, code: &str) {
    let answers = answers(lane, request);
    let [answer] = &answers[..] else {
        panic!("{} answers to {request:?}", answers.len());
    };
    assert_eq!(
        (answer.status, answer.code()),
        (status, code),
        "{request:?}"
    );
    assert_eq!(answer.field("connection"), Some("close"), "{request:?}");
}

/// This answer, and then that of the request behind it.
fn passes(request: &str, status: u16) {
    let statuses: Vec<_> = answers(Anonymous, request)
        .iter()
        .map(|one| one.status)
        .collect();
    assert_eq!(statuses, [status, 200], "{request:?}");
}

/// This answer, behind which nothing is a request: what follows may be for somebody else.
fn is_last(request: &str, status: u16) {
    let answers = answers(Anonymous, request);
    let [answer] = &answers[..] else {
        panic!("{} answers to {request:?}", answers.len());
    };
    let found = (answer.status, answer.field("connection"));
    assert_eq!(found, (status, Some("close")), "{request:?}");
}

/// A drain with this framing and body, taken for a grace of 250 ms.
fn drains(head: &str, body: &str) {
    let request = format!("POST /drain HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n{body}");
    let answers = answers(LocalHealth, &request);
    assert_eq!(
        answers.first().map(|one| one.status),
        Some(202),
        "{request:?}"
    );
    assert!(answers[0].body.contains("\"drain_ms\":250"), "{request:?}");
}

fn drain_refused(head: &str, body: &str, status: u16, code: &str) {
    let request = format!("POST /drain HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n{body}");
    refused(LocalHealth, &request, status, code);
}
