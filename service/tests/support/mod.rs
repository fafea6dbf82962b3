//! A wire between a test and a server: sockets that copy, delay, split, and notice misuse.
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a test helper fails loudly"
)]
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test crate uses its own part of the helper"
)]

use std::collections::BTreeMap;

use ingress_ledger::{Instant, Lane, Listener, PerLane};
use remote_session_web_ui::buffers::{PREFIX, WORD};
use remote_session_web_ui::ids::JitterSeed;
use remote_session_web_ui::policy::{self, MarkerSet};
use remote_session_web_ui::report::evidence::Evidence;
use remote_session_web_ui::request::job::{Job, Outcome};
use remote_session_web_ui::request::jobs::JOBS_PER_LANE;
use remote_session_web_ui::request::route::{ROUTES, Route};
use remote_session_web_ui::server::WallClock;
use remote_session_web_ui::{Action, Buffers, Config, ConnId, JobId, Server, State};

pub const CONNS: usize = 24;
pub const SLOTS: usize = 12;

/// Markers of a service that is small enough to be filled by hand.
pub const TIGHT: &[&str] = &[
    "ingress_total_slots=6",
    "ingress_total_conns=16",
    "ingress_local_slots=2",
    "ingress_local_reserve=1",
    "ingress_local_conns=4",
    "ingress_local_conn_reserve=2",
    "ingress_provider_slots=2",
    "ingress_provider_reserve=1",
    "ingress_provider_conns=4",
    "ingress_provider_conn_reserve=2",
    "ingress_public_queue=2",
    "ingress_public_refusals=2",
    "ingress_local_queue=1",
    "ingress_provider_queue=1",
];

/// How the far end of a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    InOrder,
    Aborted,
}

/// One socket, seen from the client.
#[derive(Default)]
pub struct Peer {
    /// Sent by the client, not yet received by the server.
    pub outbound: Vec<u8>,
    pub has_shut_down: bool,
    pub has_reset: bool,
    /// The client reads nothing.
    pub is_stalled: bool,
    /// Received by the client.
    pub inbound: Vec<u8>,
    /// What the server did with the socket.
    pub closed: Option<Closed>,
    receives: Option<(usize, usize)>,
    sends: Option<(usize, Vec<u8>)>,
}

/// How much of an operation the wire lets through at a time.
#[derive(Debug, Clone, Copy)]
pub struct Grain {
    pub receive: usize,
    pub send: usize,
    /// Whether sends are taken by the client at all.
    pub is_read: bool,
}

pub struct Wire<'m> {
    pub server: Server<'m, CONNS, SLOTS>,
    pub peers: BTreeMap<ConnId, Peer>,
    /// Jobs that were started and have not ended.
    pub jobs: BTreeMap<JobId, Job>,
    /// Whether jobs end by themselves at once.
    pub ends_jobs: bool,
    pub grain: Grain,
    pub now_ms: u64,
    pub is_clock_lost: bool,
}

/// A response, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn code(&self) -> &str {
        let start = self.body.find("\"code\":\"").map_or(0, |at| at + 8);
        self.body[start..].split('"').next().unwrap()
    }
}

pub const ALL_LANES: PerLane<Listener> =
    PerLane([Listener::Network, Listener::Loopback, Listener::Network]);

impl Wire<'static> {
    /// A server under the tight policy, with more markers, which replace those of the same field.
    pub fn tight(more: &[&str]) -> Self {
        Self::tight_on(ALL_LANES, more)
    }

    pub fn tight_on(listeners: PerLane<Listener>, more: &[&str]) -> Self {
        let field = |marker: &str| marker.split('=').next().unwrap().to_owned();
        let is_absent = |marker: &str| {
            let lane = [
                ("_local_", Lane::LocalHealth),
                ("_provider_", Lane::ProviderHealth),
                ("_public_", Lane::Anonymous),
            ]
            .into_iter()
            .find(|(word, _)| marker.contains(word));
            lane.is_some_and(|(_, lane)| listeners[lane] == Listener::Absent)
        };
        let kept = TIGHT.iter().copied().filter(|base| {
            !is_absent(base) && !more.iter().any(|marker| field(marker) == field(base))
        });
        Self::new(
            listeners,
            &kept.chain(more.iter().copied()).collect::<Vec<_>>(),
        )
    }

    pub fn new(listeners: PerLane<Listener>, names: &[&str]) -> Self {
        Self::serving(listeners, names, ROUTES)
    }

    /// A server with other routes.
    pub fn serving(listeners: PerLane<Listener>, names: &[&str], routes: &'static [Route]) -> Self {
        let state = Box::leak(Box::new(State::new()));
        let buffers = Box::leak(Box::new(Buffers::new()));
        Self::on((state, buffers), listeners, names, routes)
    }
}

impl<'m> Wire<'m> {
    /// A server in memory that outlives the wire.
    pub fn on(
        (state, buffers): (&'m mut State, &'m mut Buffers<CONNS, SLOTS>),
        listeners: PerLane<Listener>,
        names: &[&str],
        routes: &'static [Route],
    ) -> Self {
        let mut markers = MarkerSet::new();
        for name in names {
            markers.add(name.as_bytes()).unwrap();
        }
        let policy = policy::resolve(&markers, listeners).unwrap();
        let config = Config {
            policy,
            jitter: JitterSeed::new(7),
            now: Instant::from_nanos(1),
        };
        let grain = Grain {
            receive: usize::MAX,
            send: usize::MAX,
            is_read: true,
        };
        let server = Server::start_with(state, buffers, config, routes).unwrap();
        Self {
            server,
            peers: BTreeMap::new(),
            jobs: BTreeMap::new(),
            ends_jobs: true,
            grain,
            now_ms: 1,
            is_clock_lost: false,
        }
    }

    pub fn now(&self) -> Option<Instant> {
        (!self.is_clock_lost).then(|| Instant::from_nanos(self.now_ms * 1_000_000))
    }

    pub fn connect(&mut self, lane: Lane) -> ConnId {
        self.try_connect(lane).expect("an accept is started")
    }

    /// `None`: no accept is started on that lane now.
    pub fn try_connect(&mut self, lane: Lane) -> Option<ConnId> {
        let now = self.now();
        let conn = self
            .server
            .start_accept(lane, now)
            .then(|| self.server.accepted(lane, now).expect("it has a record"))?;
        self.peers.insert(conn, Peer::default());
        self.run();
        Some(conn)
    }

    pub fn peer(&mut self, conn: ConnId) -> &mut Peer {
        self.peers.get_mut(&conn).unwrap()
    }

    pub fn send(&mut self, conn: ConnId, bytes: impl AsRef<[u8]>) {
        self.peer(conn).outbound.extend_from_slice(bytes.as_ref());
        self.run();
    }

    pub fn shut_down(&mut self, conn: ConnId) {
        self.peer(conn).has_shut_down = true;
        self.run();
    }

    pub fn reset(&mut self, conn: ConnId) {
        self.peer(conn).has_reset = true;
        self.run();
    }

    /// Lets time pass, in steps that a serve loop would take.
    pub fn pass_ms(&mut self, ms: u64) {
        self.pass_in_steps(ms, 20);
    }

    fn pass_in_steps(&mut self, ms: u64, step_ms: u64) {
        let end = self.now_ms + ms;
        while self.now_ms < end {
            self.now_ms = (self.now_ms + step_ms).min(end);
            self.server.tick(self.now());
            self.run();
        }
    }

    /// Sends a request and takes its response off the connection.
    pub fn ask(&mut self, conn: ConnId, request: impl AsRef<[u8]>) -> Response {
        self.send(conn, request);
        self.response(conn)
    }

    /// `ask` on a connection of its own.
    pub fn ask_once(&mut self, lane: Lane, request: impl AsRef<[u8]>) -> Response {
        let conn = self.connect(lane);
        self.ask(conn, request)
    }

    pub fn get(&mut self, lane: Lane, path: &str) -> Response {
        self.ask_once(
            lane,
            format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        )
    }

    pub fn response(&mut self, conn: ConnId) -> Response {
        self.try_response(conn, false).expect("there is a response")
    }

    /// Takes one response off what the client has received.
    pub fn try_response(&mut self, conn: ConnId, is_head_only: bool) -> Option<Response> {
        let inbound = &mut self.peers.get_mut(&conn).unwrap().inbound;
        let end = inbound
            .windows(4)
            .position(|window| window == b"\r\n\r\n")?
            + 4;
        let head = String::from_utf8(inbound[..end - 4].to_vec()).unwrap();
        let status = head[9..12].parse().unwrap();
        let mut response = Response {
            status,
            head,
            body: String::new(),
        };
        let length: usize = response
            .field("content-length")
            .map_or(0, |length| length.parse().unwrap());
        let length = if is_head_only { 0 } else { length };
        if inbound.len() < end + length {
            return None;
        }
        response.body = String::from_utf8_lossy(&inbound[end..end + length]).into_owned();
        inbound.drain(..end + length);
        Some(response)
    }

    pub fn is_closed(&self, conn: ConnId) -> bool {
        self.peers[&conn].closed.is_some()
    }

    pub fn evidence(&self) -> Evidence {
        self.server.evidence()
    }

    /// Does what the server asks for, and completes what the peers allow, until nothing moves.
    pub fn run(&mut self) {
        loop {
            let mut has_moved = false;
            while let Some(action) = self.server.next_action() {
                self.start(action);
                has_moved = true;
            }
            while self.ends_jobs
                && let Some(id) = self.jobs.keys().next().copied()
            {
                self.end_job(id, Outcome::WallClock(self.wall_clock()));
                has_moved = true;
            }
            let conns: Vec<ConnId> = self.peers.keys().copied().collect();
            for conn in conns {
                has_moved |= self.complete_receive(conn);
                has_moved |= self.complete_send(conn);
            }
            if !has_moved {
                return;
            }
        }
    }

    pub fn start(&mut self, action: Action) {
        match action {
            Action::Receive(conn) => {
                let window = self
                    .server
                    .receive_window(conn)
                    .expect("a receive has a window");
                assert_eq!(window.message.as_ptr() as usize % WORD, 0);
                assert!(window.payload_max > 0);
                assert!(window.message.len() >= PREFIX + window.payload_max.next_multiple_of(WORD));
                let key = (window.message.as_ptr() as usize, window.payload_max);
                assert_eq!(self.peer(conn).receives.replace(key), None, "two receives");
            }
            Action::Send(conn) => {
                let window = self.server.send_window(conn).expect("a send has a window");
                assert_eq!(window.message.as_ptr() as usize % WORD, 0);
                assert_eq!(
                    window.message.len(),
                    PREFIX + window.payload.next_multiple_of(WORD)
                );
                window.message[..PREFIX].fill(0xaa);
                let payload = window.message[PREFIX..PREFIX + window.payload].to_vec();
                let key = (window.message.as_ptr() as usize, payload);
                assert!(self.peer(conn).sends.replace(key).is_none(), "two sends");
            }
            Action::Start(id, job) => {
                assert_eq!(self.jobs.insert(id, job), None, "a job is started twice");
                let is_place_lent = |other: &JobId| other.place() == id.place();
                let lent = self.jobs.keys().filter(|other| is_place_lent(other));
                assert_eq!(lent.count(), 1, "a place is lent twice");
                assert!(self.jobs.len() <= JOBS_PER_LANE * Lane::ALL.len());
            }
            Action::Close(conn) => self.close(conn, Closed::InOrder),
            Action::Abort(conn) => self.close(conn, Closed::Aborted),
        }
    }

    /// What the wall clock says.
    pub fn wall_clock(&self) -> WallClock {
        WallClock {
            unix_seconds: 784_111_777 + self.now_ms / 1000,
            at: Instant::from_nanos(self.now_ms * 1_000_000),
        }
    }

    /// Ends a job that was started, and gives back what was lent for it.
    pub fn end_job(&mut self, id: JobId, outcome: Outcome) {
        self.jobs.remove(&id).expect("it was started");
        let now = self.now();
        self.server.job_ended(id, outcome, now);
    }

    fn close(&mut self, conn: ConnId, how: Closed) {
        let peer = self.peer(conn);
        assert_eq!(peer.closed.replace(how), None, "closed twice");
        peer.receives = None;
        peer.sends = None;
        let now = self.now();
        self.server.closed(conn, now);
    }

    /// Completes an outstanding receive as far as the peer and the grain allow.
    pub fn complete_receive(&mut self, conn: ConnId) -> bool {
        let (grain, now) = (self.grain.receive, self.now());
        let peer = self.peers.get_mut(&conn).unwrap();
        let Some((address, payload_max)) = peer.receives else {
            return false;
        };
        if peer.has_reset {
            peer.receives = None;
            self.server.failed(conn, now);
            return true;
        }
        if peer.outbound.is_empty() && !peer.has_shut_down {
            return false;
        }
        peer.receives = None;
        let bytes = peer.outbound.len().min(payload_max).min(grain);
        let window = self
            .server
            .receive_window(conn)
            .expect("the window is still there");
        assert_eq!(
            window.message.as_ptr() as usize,
            address,
            "the window has moved"
        );
        window.message.fill(0xbb);
        window.message[PREFIX..PREFIX + bytes].copy_from_slice(&peer.outbound[..bytes]);
        peer.outbound.drain(..bytes);
        self.server.received(conn, bytes, now);
        true
    }

    /// Completes an outstanding send as far as the grain allows.
    pub fn complete_send(&mut self, conn: ConnId) -> bool {
        let (grain, now) = (self.grain, self.now());
        let peer = self.peers.get_mut(&conn).unwrap();
        let is_read = grain.is_read && !peer.is_stalled;
        if peer.sends.is_none() || !(is_read || peer.has_reset) {
            return false;
        }
        let (address, payload) = peer.sends.take().unwrap();
        if peer.has_reset {
            self.server.failed(conn, now);
            return true;
        }
        let window = self
            .server
            .send_window(conn)
            .expect("the window is still there");
        assert_eq!(
            window.message.as_ptr() as usize,
            address,
            "the window has moved"
        );
        assert!(
            window.message[PREFIX..PREFIX + window.payload] == payload[..],
            "a send was overwritten"
        );
        let taken = payload.len().min(grain.send);
        peer.inbound.extend_from_slice(&payload[..taken]);
        self.server.sent(conn, taken, now);
        true
    }

    /// Closes every connection from the client's side and checks that the books balance.
    pub fn settle(&mut self) -> Evidence {
        self.is_clock_lost = false;
        self.grain = Grain {
            receive: usize::MAX,
            send: usize::MAX,
            is_read: true,
        };
        for peer in self.peers.values_mut() {
            peer.has_reset = true;
        }
        self.ends_jobs = true;
        self.run();
        self.pass_in_steps(120_000, 1000);
        self.peers.clear();
        let evidence = self.evidence();
        assert_eq!(evidence.ledger.outstanding(), 0);
        assert_eq!(evidence.permits.in_use, 0);
        assert!(evidence.release_balanced(), "{evidence}");
        for (lane, requests) in evidence.ledger.lanes.iter() {
            let counters = requests.counters;
            assert_eq!(
                counters.completed + counters.cancelled,
                counters.admitted,
                "{lane:?}"
            );
            assert_eq!(evidence.permits.lanes[lane].refusals_in_use, 0);
            assert_eq!(self.server.jobs_running(lane), 0, "{lane:?}");
        }
        evidence
    }

    /// `settle` for the last time.
    pub fn finish(mut self) -> Evidence {
        self.settle()
    }
}
