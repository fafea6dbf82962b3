//! What one request costs between the socket and the socket: bytes in, answer out, no I/O.
//!
//! ```sh
//! cargo bench -p remote-session-web-ui --bench serve
//! ```
#![expect(clippy::unwrap_used, reason = "a benchmark fails loudly")]

use std::hint::black_box;
use std::sync::{LazyLock, Mutex};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ingress_ledger::{Instant, Lane, Listener, PerLane};
use remote_session_web_ui::buffers::PREFIX;
use remote_session_web_ui::ids::JitterSeed;
use remote_session_web_ui::policy::{self, MarkerSet};
use remote_session_web_ui::request::job::Outcome;
use remote_session_web_ui::{Action, Buffers, Config, ConnId, Server, State};

const CONNS: usize = 1072;
const SLOTS: usize = 96;

type TheServer = Server<'static, CONNS, SLOTS>;

static STATE: Mutex<State> = Mutex::new(State::new());
static BUFFERS: Mutex<Buffers<CONNS, SLOTS>> = Mutex::new(Buffers::new());

static SERVER: LazyLock<Mutex<TheServer>> = LazyLock::new(|| {
    let listeners = PerLane([Listener::Network, Listener::Loopback, Listener::Network]);
    let policy = policy::resolve(&MarkerSet::new(), listeners).unwrap();
    let config = Config {
        policy,
        jitter: JitterSeed::new(3),
        now: Instant::ZERO,
    };
    let state = Box::leak(Box::new(STATE.lock().unwrap()));
    let buffers = Box::leak(Box::new(BUFFERS.lock().unwrap()));
    Mutex::new(Server::start(state, buffers, config).unwrap())
});

/// Drives one request through; the connection stays open and idle.
fn exchange(server: &mut TheServer, conn: ConnId, request: &[u8], now: Instant) -> usize {
    let mut answered = 0;
    let window = server.receive_window(conn).unwrap();
    let to = window.message.get_mut(PREFIX..).unwrap();
    to.get_mut(..request.len())
        .unwrap()
        .copy_from_slice(request);
    server.received(conn, request.len(), Some(now));
    while let Some(action) = server.next_action() {
        match action {
            Action::Receive(_) => break,
            Action::Send(conn) => {
                let window = server.send_window(conn).unwrap();
                let payload = window.payload;
                black_box(window.message);
                answered = payload.wrapping_add(answered);
                server.sent(conn, payload, Some(now));
            }
            Action::Start(id, _) => server.job_ended(id, Outcome::Failed, Some(now)),
            Action::Close(conn) | Action::Abort(conn) => server.closed(conn, Some(now)),
        }
    }
    answered
}

fn connect(server: &mut TheServer, now: Instant) -> ConnId {
    assert!(server.start_accept(Lane::Anonymous, Some(now)));
    let conn = server.accepted(Lane::Anonymous, Some(now)).unwrap();
    assert_eq!(server.next_action(), Some(Action::Receive(conn)));
    conn
}

fn bench(criterion: &mut Criterion) {
    let mut server = SERVER.lock().unwrap();
    let mut clock = 1_000_000u64;
    let mut now = move || {
        clock = clock.wrapping_add(50_000);
        Instant::from_nanos(clock)
    };
    let health =
        b"GET /healthz HTTP/1.1\r\nHost: capos.test\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";
    let page = b"GET / HTTP/1.1\r\nHost: capos.test\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";
    let nothing = b"GET /nothing HTTP/1.1\r\nHost: capos.test\r\n\r\n";
    let ingress = b"GET /api/ingress HTTP/1.1\r\nHost: capos.test\r\n\r\n";
    let mut idle = Vec::new();
    for (name, count) in [("10 idle", 10), ("900 idle", 900)] {
        while idle.len() < count {
            let at = now();
            let conn = connect(&mut server, at);
            exchange(&mut server, conn, health, at);
            idle.push(conn);
        }
        let at = now();
        let conn = connect(&mut server, at);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(1));
        for (what, request) in [
            ("GET /healthz", &health[..]),
            ("GET /", page),
            ("GET /nothing", nothing),
            ("GET /api/ingress", ingress),
        ] {
            group.bench_function(what, |bencher| {
                bencher.iter(|| {
                    let at = now();
                    server.tick(Some(at));
                    exchange(&mut server, conn, black_box(request), at)
                });
            });
        }
        group.finish();
        server.failed(conn, Some(now()));
        while let Some(action) = server.next_action() {
            if let Action::Close(conn) | Action::Abort(conn) = action {
                server.closed(conn, Some(now()));
            }
        }
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
