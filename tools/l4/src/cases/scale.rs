//! Case `scale`: as many connections as the limits allow, the next one refused with count
//! and limit, idle ones giving way, and what a request costs beside a thousand idle ones.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, Ending, Pinned, Response, Wire};
use crate::lane::Lane;
use crate::load::quantiles::Quantiles;
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "scale",
    title: "1,024 connections at once, the next refused by count and limit, idle ones give way",
    suite: Suite::Matrix,
    need: Need::Nothing,
    run,
    controls: &[Control {
        name: "tight",
        breaks: "the service holds far fewer connections",
        sabotage: Sabotage::Manifest {
            of: "anonymous-only",
            instead: "three-lanes-tight",
        },
        must_fail: "all connections are open at once",
    }],
};

const CONNECTIONS: usize = 1_024;
const PATIENCE: Duration = Duration::from_secs(20);
/// Connections that are opened before the service is asked whether it has them all: half of
/// what the listener's backlog holds, so that none of them has to knock again.
const BURST: usize = 256;
/// Less than a head may take, so that none of them runs into its deadline meanwhile.
const OPEN_WITHIN: Duration = Duration::from_secs(5);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut guest = session.boot("anonymous-only")?;
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    cost(session, &mut guest, &mut clients)?;
    idle_give_way(session, &guest, &mut clients);
    calm(&mut guest)?;
    busy(session, &guest, &mut clients);
    let limit = guest.policy("total_conns")?;
    let evidence = session.settle(guest, &clients)?;
    session.check_equal(
        "the most connections held at once is the limit",
        evidence.count("conns_high_water")?,
        limit,
    );
    for (claim, counter) in [
        ("connections past the limit are counted", "conns_refused"),
        (
            "refusals past their own ceiling are counted",
            "refusals_unanswered",
        ),
        ("idle connections that gave way are counted", "idle_closed"),
    ] {
        let count = evidence.lane(counter, Lane::Anonymous)?;
        session.check(claim, count > 0, count);
    }
    Ok(())
}

/// Waits until the service has nothing open.
fn calm(guest: &mut Guest) -> Result<(), Failure> {
    guest
        .quiescent(PATIENCE, |evidence| {
            let of = |counter| evidence.lane(counter, Lane::Anonymous).ok();
            of("conns_admitted") == of("conns_released")
        })
        .map(drop)
}

/// A connection that was answered once and is kept.
fn idle(address: SocketAddr, clients: &mut ClientCounts) -> Option<Wire> {
    let request = http::keep("GET", "/healthz");
    let mut kept = None;
    let answer = Wire::connect(address, PATIENCE).and_then(|mut wire| {
        wire.send(&request)?;
        let response = wire.response(&request)?;
        kept = Some(wire);
        Ok(response)
    });
    clients.lane(Lane::Anonymous).count(&answer);
    kept
}

/// What a request costs with few and with many idle connections beside it. Judged by the
/// client inside the guest: QEMU's user network looks at each of its connections in every
/// turn, which an outside client pays for as well.
fn cost(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
) -> Result<(), Failure> {
    session.step("cost of a request beside 10 and beside 1,000 idle connections");
    let few: Vec<Wire> = (0..10)
        .filter_map(|_| idle(guest.public(), clients))
        .collect();
    let beside_few = inside(guest, clients)?;
    let outside_few = requests(guest, clients);
    let many: Vec<Wire> = (0..990)
        .filter_map(|_| idle(guest.public(), clients))
        .collect();
    let kept = few.len() + many.len();
    session.check_equal("a thousand idle connections are kept", kept, 1_000);
    let beside_many = inside(guest, clients)?;
    let outside_many = requests(guest, clients);
    for (name, figure) in [
        (
            "request from outside beside 10 idle connections",
            &outside_few,
        ),
        (
            "request from outside beside 1,000 idle connections",
            &outside_many,
        ),
    ] {
        session.figure(name, figure);
    }
    let ratio = beside_many as f64 / beside_few.max(1) as f64;
    session.figure(
        "request inside the guest beside 10 and 1,000 idle connections",
        format_args!("p50 {} us and {} us", beside_few / 1000, beside_many / 1000),
    );
    session.check(
        "a request beside 1,000 idle connections costs less than twice as much",
        beside_few > 0 && ratio < 2.0,
        format_args!("{ratio:.2}"),
    );
    Ok(())
}

/// The median of 400 requests of the client inside the guest, in nanoseconds.
fn inside(guest: &mut Guest, clients: &mut ClientCounts) -> Result<u64, Failure> {
    let command = "get public /healthz count=400 keepalive=on";
    let reply = guest.ask(clients.lane(Lane::Anonymous), command)?;
    Ok(reply.count("ns_p50"))
}

fn requests(guest: &Guest, clients: &mut ClientCounts) -> Quantiles {
    let request = http::keep("GET", "/healthz");
    let mut times = Vec::new();
    if let Some(mut wire) = idle(guest.public(), clients) {
        for _ in 0..300 {
            let begun = Instant::now();
            let answer = wire.send(&request).and_then(|()| wire.response(&request));
            times.push(begun.elapsed());
            clients.lane(Lane::Anonymous).count(&answer);
            if answer.is_err() {
                break;
            }
        }
    }
    Quantiles::of(times)
}

/// More connections than permits, all idle: the newcomers are served, the oldest idle go.
fn idle_give_way(session: &mut Session<'_>, guest: &Guest, clients: &mut ClientCounts) {
    session.step("idle connections give way to newcomers");
    let kept: Vec<Wire> = (0..CONNECTIONS)
        .filter_map(|_| idle(guest.public(), clients))
        .collect();
    session.check_equal("all idle connections were served", kept.len(), CONNECTIONS);
    let get = http::once("GET", "/healthz");
    let served = (0..20)
        .filter(|_| {
            let tally = clients.lane(Lane::Anonymous);
            let answer = http::counted(tally, guest.public(), &get, PATIENCE);
            answer.is_ok_and(|one| one.status == 200)
        })
        .count();
    session.check_equal(
        "newcomers are served while idle connections hold every permit",
        served,
        20,
    );
}

/// Connections in the middle of a request hold every permit: newcomers are refused.
fn busy(session: &mut Session<'_>, guest: &Guest, clients: &mut ClientCounts) {
    session.step("working connections hold every permit");
    let mut held = Vec::new();
    if let Ok(mut watcher) = Pinned::open(guest.public(), "/api/ingress", PATIENCE) {
        let mut open = 1;
        while held.len() + 1 < CONNECTIONS && open == held.len() + 1 {
            let more = BURST.min(CONNECTIONS - open);
            let opened = (0..more).map(|_| Pinned::open(guest.public(), "/healthz", PATIENCE));
            held.extend(opened.filter_map(Result::ok));
            open = await_open(&mut watcher, clients, held.len() + 1);
        }
        session.check_equal("the service counts all connections", open, CONNECTIONS);
        held.push(watcher);
    }
    let tally = clients.lane(Lane::Anonymous);
    let refused = http::counted(tally, guest.public(), &http::once("GET", "/"), PATIENCE);
    refusal(session, &refused);
    // Past the ceiling of refusals, newcomers that say nothing are closed unanswered.
    let silent: Vec<Wire> = (0..64)
        .filter_map(|_| Wire::connect(guest.public(), PATIENCE).ok())
        .collect();
    let mut served = 0;
    for pinned in held {
        let answer = pinned.finish();
        served += usize::from(answer.as_ref().is_ok_and(|one| one.status == 200));
        clients.lane(Lane::Anonymous).count(&answer);
    }
    session.check_equal("all connections are open at once", served, CONNECTIONS);
    drop(silent);
}

/// Asks until the service has `expected` connections open, or for as long as that may take;
/// tells how many there were at last.
fn await_open(watcher: &mut Pinned, clients: &mut ClientCounts, expected: usize) -> usize {
    let begun = Instant::now();
    let mut open = 0;
    while open != expected && begun.elapsed() < OPEN_WITHIN {
        let answer = watcher.ask();
        clients.lane(Lane::Anonymous).count(&answer);
        let Ok(answer) = answer else { break };
        let told = answer
            .json()
            .and_then(|json| json.pointer("/lanes/0/conns")?.as_u64());
        open = told
            .and_then(|count| count.try_into().ok())
            .unwrap_or_default();
    }
    open
}

fn refusal(session: &mut Session<'_>, answer: &Result<Response, Ending>) {
    let body = answer.as_ref().ok().and_then(Response::json);
    let number = |key: &str| body.as_ref()?.get(key)?.as_u64();
    let told = answer.as_ref().map_or_else(
        |ending| ending.to_string(),
        |one| format!("status {}, {}", one.status, one.text()),
    );
    session.check(
        "the next connection is refused with count and limit",
        answer.as_ref().is_ok_and(|one| one.status == 503)
            && number("in_use") == Some(CONNECTIONS as u64)
            && number("limit") == Some(CONNECTIONS as u64),
        told,
    );
}
