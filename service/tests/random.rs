//! Arbitrary clients against one server: it never panics, and the books always balance.

#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test fails loudly"
)]

mod support;

use ingress_ledger::Lane;
use proptest::prelude::*;
use remote_session_web_ui::ConnId;
use support::{Grain, Wire};

/// One thing that a client, the network or time does.
#[derive(Debug, Clone)]
enum Event {
    Connect(usize),
    Send(usize, Vec<u8>),
    ShutDown(usize),
    Reset(usize),
    Pass(u64),
    Grain(Grain),
    LoseClock(bool),
    /// The same inputs again, at a time when nobody expects them.
    Spurious(usize, usize),
}

/// Pieces that requests are made of, so that random input gets past the first byte.
const PIECES: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /app.js HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\ngrace_ms=600",
    "POST /nothing HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST /drain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
    "4\r\ngrac\r\n",
    "0\r\n\r\n",
    "GET ",
    "/healthz",
    " HTTP/1.1\r\n",
    " HTTP/1.0\r\n",
    "Host: a\r\n",
    "\r\n",
    "Connection: keep-alive\r\n",
    "Content-Length: 3\r\n",
    "X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n",
    "\n",
    "\r",
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (prop::sample::select(PIECES), any::<prop::sample::Index>()).prop_map(|(piece, at)| {
            piece.as_bytes()[..at.index(piece.len() + 1)].to_vec()
        }),
        1 => (1usize..9000).prop_map(|count| vec![b'a'; count]),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0usize..3).prop_map(Event::Connect),
        12 => (any::<usize>(), bytes()).prop_map(|(conn, bytes)| Event::Send(conn, bytes)),
        1 => any::<usize>().prop_map(Event::ShutDown),
        1 => any::<usize>().prop_map(Event::Reset),
        2 => prop_oneof![0u64..50, 0u64..3000].prop_map(Event::Pass),
        2 => (prop_oneof![1usize..9, Just(usize::MAX)], prop_oneof![1usize..100, Just(usize::MAX)], any::<bool>())
            .prop_map(|(receive, send, is_read)| Event::Grain(Grain { receive, send, is_read })),
        1 => prop::bool::weighted(0.2).prop_map(Event::LoseClock),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(conn, bytes)| Event::Spurious(conn, bytes)),
    ]
}

fn open_connection(wire: &Wire, pick: usize) -> Option<ConnId> {
    let open: Vec<_> = wire
        .peers
        .keys()
        .copied()
        .filter(|conn| !wire.is_closed(*conn))
        .collect();
    (!open.is_empty()).then(|| open[pick % open.len()])
}

fn apply(wire: &mut Wire, event: Event) {
    match event {
        Event::Connect(lane) => drop(wire.try_connect(Lane::ALL[lane])),
        Event::Send(pick, bytes) => {
            if let Some(conn) = open_connection(wire, pick) {
                wire.send(conn, bytes);
            }
        }
        Event::ShutDown(pick) => {
            if let Some(conn) = open_connection(wire, pick) {
                wire.shut_down(conn);
            }
        }
        Event::Reset(pick) => {
            if let Some(conn) = open_connection(wire, pick) {
                wire.reset(conn);
            }
        }
        Event::Pass(ms) => wire.pass_ms(ms),
        Event::Grain(grain) => {
            wire.grain = grain;
            wire.run();
        }
        Event::LoseClock(is_lost) => wire.is_clock_lost = is_lost,
        Event::Spurious(pick, bytes) => {
            // About a connection that is gone, so that it must not matter.
            let gone: Vec<_> = wire
                .peers
                .keys()
                .copied()
                .filter(|conn| wire.is_closed(*conn))
                .collect();
            if let Some(conn) = gone.get(pick % gone.len().max(1)).copied() {
                let now = wire.now();
                wire.server.received(conn, bytes, now);
                wire.server.sent(conn, bytes, now);
                wire.server.failed(conn, now);
                wire.server.closed(conn, now);
            }
        }
    }
}

/// `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: asked.and_then(|text| text.parse().ok()).unwrap_or(400),
        max_shrink_iters: 2000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_books_balance_whatever_clients_do(events in prop::collection::vec(event(), 1..120)) {
        let mut wire = Wire::tight(&["ingress_public_head_ms=900", "ingress_public_write_ms=700", "ingress_public_idle_ms=2000"]);
        for event in events {
            apply(&mut wire, event);
            let evidence = wire.evidence();
            prop_assert!(evidence.release_balanced(), "{evidence}");
            prop_assert!(evidence.ledger.general_used <= evidence.ledger.general_pool);
        }
        wire.is_clock_lost = false;
        let accepted: u64 = wire.peers.len() as u64;
        let evidence = wire.finish();
        let counted = evidence.permits.lanes.iter().fold(0, |sum, (lane, permits)| {
            sum + permits.counters.admitted + permits.counters.refused + evidence.service[lane].conns_turned_away
        });
        prop_assert_eq!(counted, accepted);
    }

    #[test]
    fn one_stream_split_in_any_way_is_answered_the_same(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 1..12),
        splits in prop::collection::vec(1usize..60, 1..40),
    ) {
        let stream = pieces.concat();
        let mut whole = Wire::tight(&[]);
        let conn = whole.connect(Lane::LocalHealth);
        whole.send(conn, &stream);
        let mut split = Wire::tight(&[]);
        let other = split.connect(Lane::LocalHealth);
        let mut rest = stream.as_bytes();
        for size in splits.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, left) = rest.split_at(rest.len().min(*size));
            split.send(other, piece);
            rest = left;
        }
        let statuses = |text: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(text);
            text.split("HTTP/1.1 ").skip(1).map(|answer| answer[..3].to_owned()).filter(|status| status != "100").collect()
        };
        prop_assert_eq!(statuses(&whole.peer(conn).inbound), statuses(&split.peer(other).inbound));
        whole.finish();
        split.finish();
    }
}
