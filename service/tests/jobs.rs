//! Requests that wait for something outside (INV-JOBS): whenever an outcome comes, and whether it
//! does, the request is answered or released once, and what was lent for the job comes back once.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "a test fails loudly"
)]

mod support;

use ingress_ledger::Lane::{self, Anonymous, LocalHealth};
use proptest::prelude::*;
use remote_session_web_ui::answer::reply::Reply;
use remote_session_web_ui::handlers::Verdict;
use remote_session_web_ui::http::method::{Method, Methods};
use remote_session_web_ui::http::status::Status;
use remote_session_web_ui::request::asked::{Field, Request};
use remote_session_web_ui::request::job::{Job, Outcome};
use remote_session_web_ui::request::jobs::JOBS_PER_LANE;
use remote_session_web_ui::request::route::{About, ROUTES, Route};
use remote_session_web_ui::{ConnId, JobId};
use support::{ALL_LANES, TIGHT, Wire};

const STATUS: &str = "GET /api/status HTTP/1.1\r\nHost: a\r\n\r\n";

/// A server with a wall clock, whose jobs the test ends.
fn wire() -> Wire<'static> {
    let mut wire = Wire::tight(&[]);
    with_clock(&mut wire);
    wire
}

fn with_clock(wire: &mut Wire) {
    let wall = wire.wall_clock();
    wire.server.set_wall_clock(wall);
    wire.ends_jobs = false;
}

fn only_job(wire: &Wire) -> JobId {
    assert_eq!(wire.jobs.len(), 1);
    *wire.jobs.keys().next().unwrap()
}

fn end(wire: &mut Wire, id: JobId, outcome: Outcome) {
    wire.end_job(id, outcome);
    wire.run();
}

#[test]
fn a_status_waits_for_the_wall_clock() {
    let mut wire = wire();
    let conn = wire.connect(LocalHealth);
    wire.send(conn, STATUS);
    assert!(wire.try_response(conn, false).is_none());
    assert_eq!(wire.evidence().ledger.lanes[LocalHealth].serving, 1);
    assert_eq!(wire.server.jobs_running(LocalHealth), 1);
    let id = only_job(&wire);
    let wall = wire.wall_clock();
    end(&mut wire, id, Outcome::WallClock(wall));
    let response = wire.response(conn);
    assert_eq!(response.status, 200);
    let expected = format!("\"utc_seconds\":{}", wall.unix_seconds);
    assert!(response.body.contains(&expected), "{}", response.body);
    assert_eq!(wire.finish().faults, 0);
}

#[test]
fn dates_follow_the_clock_that_was_read() {
    let mut wire = wire();
    let conn = wire.connect(LocalHealth);
    wire.send(conn, STATUS);
    let id = only_job(&wire);
    let mut wall = wire.wall_clock();
    wall.unix_seconds = 0;
    end(&mut wire, id, Outcome::WallClock(wall));
    assert_eq!(
        wire.response(conn).field("date"),
        Some("Thu, 01 Jan 1970 00:00:00 GMT")
    );
    wire.finish();
}

#[test]
fn without_an_outcome_the_status_is_told_all_the_same() {
    for outcome in [Outcome::Failed, Outcome::Busy, Outcome::TooLate] {
        let mut wire = wire();
        let conn = wire.connect(LocalHealth);
        wire.send(conn, STATUS);
        let id = only_job(&wire);
        end(&mut wire, id, outcome);
        let response = wire.response(conn);
        assert_eq!(response.status, 200);
        assert!(!response.body.contains("utc_seconds"));
        wire.finish();
    }
}

#[test]
fn an_outcome_that_never_comes_is_waited_for_a_second_and_its_place_stays_lent() {
    let mut wire = wire();
    let conn = wire.connect(LocalHealth);
    wire.send(conn, STATUS);
    wire.pass_ms(900);
    assert!(wire.try_response(conn, false).is_none());
    wire.pass_ms(150);
    assert_eq!(wire.response(conn).status, 200);
    assert_eq!(wire.server.jobs_running(LocalHealth), 1);
    let id = only_job(&wire);
    let wall = wire.wall_clock();
    end(&mut wire, id, Outcome::WallClock(wall));
    assert_eq!(wire.server.jobs_running(LocalHealth), 0);
    assert!(wire.try_response(conn, false).is_none(), "it is nobody's");
    assert_eq!(wire.finish().faults, 0);
}

#[test]
fn an_outcome_after_the_connections_end_is_nobodys() {
    let mut wire = wire();
    let conn = wire.connect(LocalHealth);
    wire.send(conn, STATUS);
    let id = only_job(&wire);
    let now = wire.now();
    wire.server.failed(conn, now);
    wire.run();
    assert_eq!(wire.evidence().ledger.outstanding(), 0);
    assert_eq!(wire.server.jobs_running(LocalHealth), 1);
    let next = wire.connect(LocalHealth);
    assert_eq!(next.index(), conn.index(), "in the same place");
    end(&mut wire, id, Outcome::Failed);
    assert_eq!(wire.server.jobs_running(LocalHealth), 0);
    assert!(wire.peer(next).inbound.is_empty());
    assert_eq!(wire.finish().faults, 0);
}

#[test]
fn an_outcome_that_is_told_twice_counts_once() {
    let mut wire = wire();
    let conn = wire.connect(LocalHealth);
    wire.send(conn, STATUS);
    let id = only_job(&wire);
    end(&mut wire, id, Outcome::Failed);
    assert_eq!(wire.response(conn).status, 200);
    wire.send(conn, STATUS);
    let other = only_job(&wire);
    assert_eq!(other.place(), id.place());
    let now = wire.now();
    wire.server.job_ended(id, Outcome::Failed, now);
    wire.run();
    assert!(wire.try_response(conn, false).is_none());
    end(&mut wire, other, Outcome::Failed);
    assert_eq!(wire.response(conn).status, 200);
    assert_eq!(wire.finish().faults, 0);
}

#[test]
fn jobs_that_never_end_cost_their_lane_alone_and_no_answer() {
    static TABLE: &[Route] = &[Route {
        path: "/wait",
        methods: Methods::of(&[Method::Get]),
        lanes: &Lane::ALL,
        body_bytes_max: 0,
        about: About::Present,
        handler: wait,
    }];
    let mut wire = Wire::serving(ALL_LANES, TIGHT, TABLE);
    with_clock(&mut wire);
    let request = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";
    for _ in 0..JOBS_PER_LANE {
        let conn = wire.connect(Anonymous);
        wire.send(conn, request);
        wire.pass_ms(1100);
        assert_eq!(wire.response(conn).body, "TooLate");
    }
    assert_eq!(wire.ask_once(Anonymous, request).body, "Busy");
    let conn = wire.connect(LocalHealth);
    wire.send(conn, request);
    assert_eq!(wire.server.jobs_running(LocalHealth), 1);
    assert_eq!(wire.server.jobs_running(Anonymous), JOBS_PER_LANE);
    assert_eq!(wire.finish().faults, 0);
}

fn wait(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    let Some(outcome) = request.outcome else {
        reply.write(Status::Ok, "text/plain").text("forgotten");
        return Verdict::Later(Job::ReadWallClock);
    };
    let word = match outcome {
        Outcome::WallClock(_) => "WallClock",
        Outcome::Failed => "Failed",
        Outcome::TooLate => "TooLate",
        Outcome::Busy => "Busy",
    };
    reply.write(Status::Ok, "text/plain").text(word);
    Verdict::Done
}

static ASKING: &[Route] = &[Route {
    path: "/asked/*",
    methods: Methods::of(&[Method::Post]),
    lanes: &[Anonymous],
    body_bytes_max: 64,
    about: About::Action,
    handler: tell_what_was_asked,
}];

/// Waits for a job first, so that all of it must have stayed.
fn tell_what_was_asked(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    if request.outcome.is_none() {
        return Verdict::Later(Job::ReadWallClock);
    }
    reply
        .write(Status::Ok, "text/plain")
        .text(request.lane.name())
        .bytes(b"|")
        .bytes(request.tail().map_or(b"", |tail| tail.raw()))
        .bytes(b"|")
        .bytes(request.query())
        .bytes(b"|")
        .bytes(request.field(Field::Cookie).unwrap_or(b"no cookie"))
        .bytes(b"|")
        .bytes(request.field(Field::Origin).unwrap_or(b"no origin"))
        .bytes(b"|")
        .bytes(request.body);
    Verdict::Done
}

const SECRET: &str = "opensesame";

#[test]
fn what_was_asked_stays_until_the_answer_and_its_body_is_wiped_then() {
    for split in 1..40 {
        let mut wire = Wire::serving(ALL_LANES, TIGHT, ASKING);
        with_clock(&mut wire);
        wire.grain.receive = split;
        let conn = wire.connect(Anonymous);
        let (first, last) = SECRET.split_at(4);
        let request = format!(
            "POST /asked/a%20b?c=d HTTP/1.1\r\nHost: a\r\nCookie: e=f\r\nOrigin: g\r\nOrigin: h\r\n\
             Transfer-Encoding: chunked\r\n\r\n4\r\n{first}\r\n6\r\n{last}\r\n0\r\n\r\n"
        );
        // Another request behind it, whose bytes are not the body's.
        wire.send(conn, format!("{request}GET /nothing HTTP/1.1\r\nHos"));
        let id = only_job(&wire);
        end(&mut wire, id, Outcome::Failed);
        let expected = format!("anonymous|a%20b|c=d|e=f|no origin|{SECRET}");
        assert_eq!(wire.response(conn).body, expected, "{split}");
        assert!(!holds_any_of(&mut wire, conn, SECRET), "{split}");
        wire.send(conn, "t: a\r\n\r\n");
        assert_eq!(wire.response(conn).status, 404);
        assert_eq!(wire.finish().faults, 0);
    }
}

#[test]
fn a_body_that_nobody_reads_is_wiped_too() {
    let mut wire = Wire::tight(&[]);
    let conn = wire.connect(Anonymous);
    let request = format!("POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\n{SECRET}");
    wire.send(conn, request);
    assert_eq!(wire.response(conn).status, 404);
    assert!(!holds_any_of(&mut wire, conn, SECRET), "what came with it");
    wire.send(conn, SECRET);
    assert!(!holds_any_of(&mut wire, conn, SECRET), "what came later");
    wire.finish();
}

/// Whether the input that the next receive goes to still has a piece of the secret.
fn holds_any_of(wire: &mut Wire, conn: ConnId, secret: &str) -> bool {
    let window = wire.server.receive_window(conn).expect("a window is out");
    let mut pieces = secret.as_bytes().windows(3);
    pieces.any(|piece| window.message.windows(3).any(|bytes| bytes == piece))
}

/// One thing that a client, whoever does the jobs, or time does.
#[derive(Debug, Clone)]
enum Event {
    Ask(usize),
    Reset(usize),
    End(usize, bool),
    /// An outcome that was told before is told again.
    Repeat(usize),
    Pass(u64),
    LoseClock(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => any::<usize>().prop_map(Event::Ask),
        2 => any::<usize>().prop_map(Event::Reset),
        4 => (any::<usize>(), any::<bool>()).prop_map(|(pick, succeeds)| Event::End(pick, succeeds)),
        2 => any::<usize>().prop_map(Event::Repeat),
        3 => prop_oneof![0u64..100, 0u64..4000].prop_map(Event::Pass),
        1 => prop::bool::weighted(0.2).prop_map(Event::LoseClock),
    ]
}

/// A connection that is open, or a new one of the local lane.
fn some_connection(wire: &mut Wire, pick: usize) -> Option<ConnId> {
    let open: Vec<_> = wire.peers.keys().copied().collect();
    let open: Vec<_> = open
        .into_iter()
        .filter(|conn| !wire.is_closed(*conn))
        .collect();
    match open.get(pick % (open.len() + 1)) {
        Some(conn) => Some(*conn),
        None => wire.try_connect(LocalHealth),
    }
}

fn apply(wire: &mut Wire, ended: &mut Vec<JobId>, event: Event) {
    match event {
        Event::Ask(pick) => {
            if let Some(conn) = some_connection(wire, pick) {
                wire.send(conn, STATUS);
            }
        }
        Event::Reset(pick) => {
            if let Some(conn) = some_connection(wire, pick) {
                let now = wire.now();
                wire.server.failed(conn, now);
                wire.run();
            }
        }
        Event::End(pick, succeeds) => {
            let Some(id) = wire.jobs.keys().nth(pick % wire.jobs.len().max(1)).copied() else {
                return;
            };
            let outcome = if succeeds {
                Outcome::WallClock(wire.wall_clock())
            } else {
                Outcome::Failed
            };
            end(wire, id, outcome);
            ended.push(id);
        }
        Event::Repeat(pick) => {
            if let Some(id) = ended.get(pick % ended.len().max(1)) {
                let now = wire.now();
                wire.server.job_ended(*id, Outcome::Failed, now);
                wire.run();
            }
        }
        Event::Pass(ms) => wire.pass_ms(ms),
        Event::LoseClock(is_lost) => wire.is_clock_lost = is_lost,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_lent_for_jobs_comes_back_once_whenever_they_end(
        events in prop::collection::vec(event(), 1..80),
    ) {
        let mut wire = wire();
        let mut ended = Vec::new();
        for event in events {
            apply(&mut wire, &mut ended, event);
            let evidence = wire.evidence();
            prop_assert!(evidence.release_balanced() && evidence.faults == 0, "{evidence}");
            prop_assert_eq!(wire.server.jobs_running(LocalHealth), wire.jobs.len());
            prop_assert!(wire.jobs.len() <= JOBS_PER_LANE);
        }
        prop_assert_eq!(wire.finish().faults, 0);
    }
}

/// The table is what other files know of handlers: no branch names one.
#[test]
fn no_branch_names_a_handler() {
    assert!(ROUTES.iter().any(|route| route.path == "/drain"));
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let handlers: Vec<String> = std::fs::read_dir(root.join("handlers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        // The files of the web UI are what a route is about, and no handler.
        .filter(|name| name != "mod" && name != "assets")
        .collect();
    assert!(handlers.len() > 7);
    let mut folders = vec![root];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.to_string_lossy().into_owned();
            if name.contains("/handlers/") || name.ends_with("/route.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            files += 1;
            for handler in &handlers {
                assert!(!text.contains(&format!("handlers::{handler}")), "{name}");
            }
        }
    }
    assert!(files > 40);
}
