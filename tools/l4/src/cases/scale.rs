//! Case `scale`: as many connections as the limits allow, idle ones and unfinished heads giving
//! way, what a request costs beside a thousand idle ones, and a refusal with count and limit.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, Ending, Pinned, Response, Tally, Wire};
use crate::lane::Lane;
use crate::load::account::Account;
use crate::load::quantiles::Quantiles;
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "scale",
    title: "1,024 connections at once, idle ones and slow heads give way, refusals name the limit",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "tight",
        breaks: "the service holds far fewer connections",
        sabotage: Sabotage::Manifest {
            of: "anonymous-patient",
            instead: "three-lanes-tight",
        },
        must_fail: "all connections are open at once",
    }],
};

const CONNECTIONS: usize = 1_024;
/// Connections that are opened before the service is asked whether it has them all: half of
/// what the listener's backlog holds, so that none of them has to knock again.
const BURST: usize = 256;
/// Longer than the service lets a head take once its lane is full.
const HEADS_TIME: Duration = Duration::from_millis(700);
/// How often a cost is measured: whatever else the host runs only ever adds to it, so the
/// least is the guest's own.
const ROUNDS: usize = 10;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("anonymous-patient")?.at_most();
    cost(&mut trial)?;
    idle_give_way(&mut trial)?;
    calm(&mut trial.guest)?;
    busy(&mut trial)?;
    let limit = trial.guest.policy("total_conns")?;
    let evidence = trial.settle()?;
    session.check_equal(
        "the most connections held at once is the limit",
        evidence.count("conns_high_water")?,
        limit,
    );
    for (claim, counter) in [
        ("heads that gave way are counted", "gave_way"),
        ("idle connections that gave way are counted", "idle_closed"),
    ] {
        let count = evidence.lane(counter, Lane::Anonymous)?;
        session.check(claim, count > 0, count);
    }
    refused(session)
}

/// Waits until the service has nothing open.
fn calm(guest: &mut Guest) -> Result<(), Failure> {
    guest
        .quiescent(SLOW_HOST, |evidence| evidence.all_released(Lane::Anonymous))
        .map(drop)
}

/// That many connections that were each answered once and are kept; fewer, if some were not.
fn idle(trial: &mut Trial<'_, '_>, count: usize) -> Result<Vec<Wire>, Failure> {
    let (address, tally) = (trial.guest.public()?, trial.clients.lane(Lane::Anonymous));
    Ok((0..count).filter_map(|_| kept(address, tally)).collect())
}

fn kept(address: SocketAddr, tally: &mut Tally) -> Option<Wire> {
    let request = http::keep("GET", "/healthz");
    let mut kept = None;
    let answer = Wire::connect(address).and_then(|mut wire| {
        wire.send(&request)?;
        let response = wire.response(&request)?;
        kept = Some(wire);
        Ok(response)
    });
    tally.count(&answer);
    kept
}

/// What a request costs with few and with many idle connections beside it. Judged by the
/// client inside the guest: QEMU's user network looks at each of its connections in every
/// turn, which an outside client pays for as well.
fn cost(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial
        .session
        .step("cost of a request beside 10 and beside 1,000 idle connections");
    let few = idle(trial, 10)?;
    let beside_few = inside(trial, 0)?;
    let outside_few = requests(trial)?;
    let many = idle(trial, 990)?;
    let kept = few.len() + many.len();
    trial
        .session
        .check_equal("a thousand idle connections are kept", kept, 1_000);
    let beside_many = inside(trial, beside_few)?;
    let outside_many = requests(trial)?;
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
        trial.session.figure(name, figure);
    }
    let ratio = beside_many as f64 / beside_few.max(1) as f64;
    trial.session.figure(
        "request inside the guest beside 10 and 1,000 idle connections",
        format_args!("p50 {} us and {} us", beside_few / 1000, beside_many / 1000),
    );
    trial.session.check(
        "a request beside 1,000 idle connections costs less than twice as much",
        beside_few > 0 && ratio < 2.0,
        format_args!("{ratio:.2}"),
    );
    Ok(())
}

/// The median of 400 requests of the client inside the guest, in nanoseconds: the least of a
/// few rounds, or the first that is no more than `enough`.
fn inside(trial: &mut Trial<'_, '_>, enough: u64) -> Result<u64, Failure> {
    let command = "get public /healthz count=400 keepalive=on";
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        let reply = trial.ask(Lane::Anonymous, command)?;
        least = least.min(reply.count("ns_p50"));
        if least <= enough {
            break;
        }
    }
    Ok(least)
}

fn requests(trial: &mut Trial<'_, '_>) -> Result<Quantiles, Failure> {
    let request = http::keep("GET", "/healthz");
    let mut times = Vec::new();
    if let Some(mut wire) = idle(trial, 1)?.pop() {
        for _ in 0..300 {
            let begun = Instant::now();
            let answer = wire.send(&request).and_then(|()| wire.response(&request));
            times.push(begun.elapsed());
            trial.clients.lane(Lane::Anonymous).count(&answer);
            if answer.is_err() {
                break;
            }
        }
    }
    Ok(Quantiles::of(times))
}

/// More connections than permits, all idle: the newcomers are served, the oldest idle go.
fn idle_give_way(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial.session.step("idle connections give way to newcomers");
    let kept = idle(trial, CONNECTIONS)?;
    trial
        .session
        .check_equal("all idle connections were served", kept.len(), CONNECTIONS);
    let get = http::once("GET", "/healthz");
    let (address, tally) = (trial.guest.public()?, trial.clients.lane(Lane::Anonymous));
    let served = (0..20)
        .filter(|_| http::counted(tally, address, &get).is_ok_and(|one| one.status == 200))
        .count();
    trial.session.check_equal(
        "newcomers are served while idle connections hold every permit",
        served,
        20,
    );
    Ok(())
}

/// Connections in the middle of a request hold every permit: a newcomer takes that of the one
/// which has been in its head for longest.
fn busy(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial.session.step("working connections hold every permit");
    let public = trial.guest.public()?;
    let mut account = Account::of(public);
    account.ask();
    let mut held = Vec::new();
    let mut open = true;
    while open && held.len() + 1 < CONNECTIONS {
        let more = BURST.min(CONNECTIONS - 1 - held.len());
        let opened = (0..more).map(|_| Pinned::open(public, "/healthz"));
        held.extend(opened.filter_map(Result::ok));
        let expected = u64::try_from(held.len() + 1).ok();
        open = account.until(|lanes| lanes.of(Lane::Anonymous, "conns") == expected);
    }
    trial.session.check(
        "all connections are open at once",
        open && held.len() + 1 == CONNECTIONS,
        format_args!("{} held, {SLOW_HOST:?} waited", held.len() + 1),
    );
    // Every head has had its time, and the account's own connection has just been used: idle for
    // longer, or among heads that are younger, it would be the one that gives way.
    std::thread::sleep(HEADS_TIME);
    account.ask();
    let tally = trial.clients.lane(Lane::Anonymous);
    let newcomer = http::counted(tally, public, &http::once("GET", "/healthz"));
    trial.session.check(
        "a newcomer is served while unfinished heads hold every permit",
        newcomer.as_ref().is_ok_and(|one| one.status == 200),
        http::told(&newcomer),
    );
    let mut served = usize::from(account.ask().is_some());
    for pinned in held {
        let answer = pinned.finish();
        served += usize::from(answer.as_ref().is_ok_and(|one| one.status == 200));
        trial.clients.lane(Lane::Anonymous).count(&answer);
    }
    trial
        .session
        .check_equal("one of them has given way", served, CONNECTIONS - 1);
    trial.count(Lane::Anonymous, &account.tally);
    Ok(())
}

/// How often heads fill the tight lane until a newcomer comes before any has had its time.
const FILLED: usize = 50;

/// A lane that was filled a moment ago: the next connection is refused with count and limit.
fn refused(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes-tight")?.at_most();
    trial
        .session
        .step("a lane that was filled a moment ago refuses by count and limit");
    let limit = trial.guest.policy("public_conns")?;
    let (public, tally) = (trial.guest.public()?, trial.clients.lane(Lane::Anonymous));
    let get = http::once("GET", "/healthz");
    let mut answer = Err(Ending::TimedOut);
    for _ in 0..FILLED {
        let held: Vec<Pinned> = (0..limit)
            .filter_map(|_| Pinned::open(public, "/healthz").ok())
            .collect();
        answer = http::counted(tally, public, &get);
        drop(held);
        if answer.as_ref().is_ok_and(|one| one.status == 429) {
            break;
        }
    }
    refusal(trial.session, &answer, limit);
    let evidence = trial.settle()?;
    let count = evidence.lane("conns_refused", Lane::Anonymous)?;
    session.check("connections past the limit are counted", count > 0, count);
    session.check_equal(
        "no refusal goes unanswered",
        evidence.lane("refusals_unanswered", Lane::Anonymous)?,
        0,
    );
    Ok(())
}

fn refusal(session: &mut Session<'_>, answer: &Result<Response, Ending>, limit: u64) {
    let body = answer.as_ref().ok().and_then(Response::json);
    let number = |key: &str| body.as_ref()?.get(key)?.as_u64();
    let told = answer.as_ref().map_or_else(
        |ending| ending.to_string(),
        |one| format!("status {}, {}", one.status, one.text()),
    );
    session.check(
        "the next connection is refused with count and limit",
        answer.as_ref().is_ok_and(|one| one.status == 429)
            && number("in_use") == Some(limit)
            && number("limit") == Some(limit),
        told,
    );
}
