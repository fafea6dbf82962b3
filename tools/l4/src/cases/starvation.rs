//! Case `starvation`: each point where the public lane could starve another is loaded by
//! itself, and the provider's probe is measured beside an idle one just before it.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, Tally, Wire};
use crate::lane::Lane;
use crate::load::flood::{Flood, Reuse};
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::load::storm;
use crate::load::watch::watch;
use crate::record::Chart;
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "starvation",
    title: "each point of contention, loaded by itself, leaves the provider's probe answered",
    suite: Suite::Attack,
    need: Need::Nothing,
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

const LOADED_FOR: Duration = Duration::from_secs(6);
const IDLE_FOR: Duration = Duration::from_secs(3);

/// A load: its name, the point that it loads, and what makes it.
type Load = (&'static str, fn(&Guest) -> Tally);

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
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    let sampler = Sampler::start(guest.public());
    let mut lines = Vec::new();
    for (name, load) in LOADS {
        session.step(*name);
        let idle = watch(&mut guest, IDLE_FOR, |_| std::thread::sleep(IDLE_FOR))?;
        let mut seen = Tally::default();
        let loaded = watch(&mut guest, LOADED_FOR, |guest| seen = load(guest))?;
        clients.lane(Lane::Anonymous).add(&seen);
        for one in [&idle, &loaded] {
            let provider = clients.lane(Lane::ProviderHealth);
            provider.add(&one.outside.tally);
            provider.add(&one.inside.tally());
        }
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

fn flood(guest: &Guest, request: Vec<u8>, clients: usize, reuse: Reuse) -> Tally {
    let mut flood = Flood::of(guest.public(), request, clients, usize::MAX);
    flood.reuse = reuse;
    flood.time_max = LOADED_FOR;
    flood.run().tally
}

fn per_request(guest: &Guest) -> Tally {
    flood(guest, http::once("GET", "/healthz"), 32, Reuse::Never)
}

fn keep_alive(guest: &Guest) -> Tally {
    flood(guest, http::keep("GET", "/healthz"), 32, Reuse::KeepAlive)
}

fn unread(guest: &Guest) -> Tally {
    let pace = Duration::from_millis(100);
    let slow = SlowClients::start(guest.public(), Slowness::Read, 200, pace);
    std::thread::sleep(LOADED_FOR);
    slow.finish();
    Tally::default()
}

fn silent(guest: &Guest) -> Tally {
    let pace = Duration::from_millis(250);
    let slow = SlowClients::start(guest.public(), Slowness::Silent, 1_100, pace);
    std::thread::sleep(LOADED_FOR);
    slow.finish();
    Tally::default()
}

fn resets(guest: &Guest) -> Tally {
    storm::resets(guest.public(), usize::MAX, LOADED_FOR);
    Tally::default()
}

/// Connections that send a hundred requests at once, over and over.
fn pipelined(guest: &Guest) -> Tally {
    let request = http::keep("GET", "/healthz");
    let hundred = request.repeat(100);
    let mut tally = Tally::default();
    let begun = std::time::Instant::now();
    while begun.elapsed() < LOADED_FOR {
        let Ok(mut wire) = Wire::connect(guest.public(), Duration::from_secs(5)) else {
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
    tally
}
