//! Nothing is allocated once the service serves (INV-NO-ALLOC).

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ingress_ledger::{Instant, Lane, Listener, PerLane};
use remote_session_web_ui::buffers::PREFIX;
use remote_session_web_ui::ids::JitterSeed;
use remote_session_web_ui::policy::{self, MarkerSet};
use remote_session_web_ui::request::job::Outcome;
use remote_session_web_ui::{Action, Buffers, Config, Server, State};

struct Counting;

thread_local! {
    /// Of this thread alone: the test harness has threads of its own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn allocations() -> u64 {
    ALLOCATIONS.get()
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get().wrapping_add(1));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

type TheServer = Server<'static, 27, 12>;

/// Serves one request from fixed memory; returns the bytes of the answer.
fn exchange(server: &mut TheServer, request: &[u8], now: Option<Instant>) -> usize {
    let mut answered: usize = 0;
    let mut left = request;
    while let Some(action) = server.next_action() {
        match action {
            Action::Receive(conn) => {
                if left.is_empty() {
                    continue;
                }
                let window = server.receive_window(conn).expect("a window");
                let bytes = left.len().min(window.payload_max);
                let (here, later) = left.split_at(bytes);
                window
                    .message
                    .get_mut(PREFIX..PREFIX.wrapping_add(bytes))
                    .expect("fits")
                    .copy_from_slice(here);
                left = later;
                server.received(conn, bytes, now);
            }
            Action::Send(conn) => {
                let payload = server.send_window(conn).expect("a window").payload;
                answered = payload.saturating_add(answered);
                server.sent(conn, payload, now);
            }
            Action::Start(id, _) => server.job_ended(id, Outcome::Failed, now),
            Action::Close(conn) | Action::Abort(conn) => server.closed(conn, now),
        }
    }
    answered
}

#[test]
fn the_serve_path_allocates_nothing() {
    let listeners = PerLane([Listener::Network, Listener::Loopback, Listener::Network]);
    let mut markers = MarkerSet::new();
    for name in [
        "ingress_total_slots=12",
        "ingress_total_conns=24",
        "ingress_local_reserve=2",
        "ingress_provider_reserve=2",
        "ingress_local_conn_reserve=4",
        "ingress_provider_conn_reserve=4",
        "ingress_local_rate=exempt",
    ] {
        markers.add(name.as_bytes()).expect("a marker");
    }
    let policy = policy::resolve(&markers, listeners).expect("a policy");
    let config = Config {
        policy,
        jitter: JitterSeed::new(3),
        now: Instant::ZERO,
    };
    let state = Box::leak(Box::new(State::new()));
    let buffers = Box::leak(Box::new(Buffers::new()));
    let mut server: TheServer = Server::start(state, buffers, config).expect("starts");
    let mut line = [0u8; 8192];

    let probe = allocations();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations() - probe, 1, "allocations are noticed");

    let before = allocations();
    let mut now = 0u64;
    let mut answered = 0;
    for _ in 0..200 {
        for (lane, request) in [
            (Lane::Anonymous, &b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"[..]),
            (Lane::Anonymous, b"GET /app.js HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"x\"\r\nConnection: close\r\n\r\n"),
            (Lane::Anonymous, b"GET / HTTP/1.1\r\nHost: a\r\nIf-Match: \"x\", \"y\"\r\nIf-Match: \"z\"\r\nConnection: close\r\n\r\n"),
            (Lane::Anonymous, b"GET /api/ingress HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            (Lane::Anonymous, b"GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            (Lane::Anonymous, b"BAD\r\n"),
            (Lane::LocalHealth, b"GET /api/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            (Lane::LocalHealth, b"GET /api/evidence HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            (Lane::LocalHealth, b"POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwhat"),
            (Lane::ProviderHealth, b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            (Lane::ProviderHealth, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        ] {
            now += 400_000_000;
            let at = Some(Instant::from_nanos(now));
            server.tick(at);
            if server.start_accept(lane, at) {
                server.accepted(lane, at).expect("it has a record");
                answered += exchange(&mut server, request, at);
            }
            let mut text = remote_session_web_ui::http::write::Text::new(&mut line);
            core::fmt::write(&mut text, format_args!("{}", server.evidence())).expect("the line fits");
        }
    }
    let after = allocations();
    assert!(
        answered > 200 * 11 * 100,
        "requests were served: {answered} bytes"
    );
    assert_eq!(after - before, 0, "the serve path allocated");
}
