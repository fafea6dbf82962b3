//! Case `starvation`: each point where the public lane could starve another is loaded by
//! itself, and the provider's probe is measured beside an idle guest's.

use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, Tally, Wire};
use crate::lane::Lane;
use crate::load::account::rest;
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::load::storm;
use crate::load::watch::{count, watch};
use crate::record::Chart;
use crate::session::{ClientCounts, Sabotage, Session};
use crate::tool::wrk;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "starvation",
    title: "each point of contention, loaded by itself, leaves the provider's probe answered",
    suite: Suite::Attack,
    need: Need::Programs(&["wrk"]),
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing, as if it had been starved",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered 200",
    }],
};

/// Connections of `wrk`.
const CONNECTIONS: usize = 32;
const LOADED_FOR: Duration = Duration::from_secs(6);
/// Long enough that an idle guest's p99 is not its one slowest probe.
const IDLE_FOR: Duration = Duration::from_secs(12);

/// A load: its name, the point that it loads, and what makes it.
type Load = (&'static str, fn(&Guest) -> Result<Tally, Failure>);

const LOADS: &[Load] = &[
    ("accept: a connection for each request", per_request),
    ("serve loop: keep-alive requests", keep_alive),
    ("slots and bytes: unread pages", unread),
    ("parser: pipelined requests", pipelined),
    ("backlog: resets", resets),
    ("permits: silent connections", silent),
];

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut guest = session.boot("three-lanes")?;
    let mut clients = ClientCounts::at_most();
    let sampler = Sampler::start(guest.public());
    session.step("idle baseline");
    let idle = watch(&mut guest, IDLE_FOR, |_| std::thread::sleep(IDLE_FOR))?;
    count(&mut clients, &idle);
    session.probes(idle.rows("idle", &idle));
    let mut lines = vec![("idle".to_owned(), idle.outside.line())];
    for (name, load) in LOADS {
        session.step(*name);
        let mut seen = Ok(Tally::default());
        let loaded = watch(&mut guest, LOADED_FOR, |guest| seen = load(guest))?;
        clients.lane(Lane::Anonymous).add(&seen?);
        rest(session, &guest, &mut clients, name);
        count(&mut clients, &loaded);
        loaded.judge(session, name);
        session.probes(loaded.rows(name, &idle));
        lines.push(((*name).to_owned(), loaded.outside.line()));
    }
    session.chart(Chart {
        title: "provider probe from outside, under each load".into(),
        unit: "ms".into(),
        lines,
    });
    sampler.record(session, &mut clients);
    session.settle(guest, &clients).map(drop)
}

/// `wrk`, which takes little of the processor that it shares with the guest.
fn wrk(guest: &Guest, headers: &[&str]) -> Result<Tally, Failure> {
    let report = wrk::load(guest.public(), "/healthz", CONNECTIONS, LOADED_FOR, headers)?;
    let mut tally = Tally::default();
    tally.status(200, report.requests.saturating_sub(report.unsuccessful));
    Ok(tally)
}

fn per_request(guest: &Guest) -> Result<Tally, Failure> {
    wrk(guest, &["Connection: close"])
}

fn keep_alive(guest: &Guest) -> Result<Tally, Failure> {
    wrk(guest, &[])
}

fn unread(guest: &Guest) -> Result<Tally, Failure> {
    // Ten thousand pages a second are asked for in all. What is asked for faster than it is
    // served waits in the host's buffers, and is served long after the clients have gone.
    let pace = Duration::from_secs(1);
    let slow = SlowClients::start(guest.public(), Slowness::Read, 200, pace);
    std::thread::sleep(LOADED_FOR);
    slow.finish();
    Ok(Tally::default())
}

fn silent(guest: &Guest) -> Result<Tally, Failure> {
    let pace = Duration::from_millis(250);
    let slow = SlowClients::start(guest.public(), Slowness::Silent, 1_100, pace);
    std::thread::sleep(LOADED_FOR);
    slow.finish();
    Ok(Tally::default())
}

fn resets(guest: &Guest) -> Result<Tally, Failure> {
    storm::resets(guest.public(), usize::MAX, LOADED_FOR);
    Ok(Tally::default())
}

/// Connections that send a hundred requests at once, over and over.
fn pipelined(guest: &Guest) -> Result<Tally, Failure> {
    let request = http::keep("GET", "/healthz");
    let hundred = request.repeat(100);
    let mut tally = Tally::default();
    let begun = Instant::now();
    while begun.elapsed() < LOADED_FOR {
        let Ok(mut wire) = Wire::connect(guest.public()) else {
            continue;
        };
        if wire.send(&hundred).is_err() {
            continue;
        }
        for _ in 0..100 {
            let answer = wire.response(&request);
            let ended = answer.is_err();
            tally.count(&answer);
            if ended {
                break;
            }
        }
    }
    Ok(tally)
}
