//! Case `slow-clients`: slow heads, bodies and readers that open again whatever is closed,
//! more of them than the public lane has permits, take nothing from the provider lane, and
//! little from whoever asks on the public one.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http;
use crate::lane::Lane;
use crate::load::account::rest;
use crate::load::flood::{Flood, Flooded};
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::load::watch::{count, watch};
use crate::record::Chart;
use crate::session::{ClientCounts, Sabotage, Session};
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "slow-clients",
    title: "slow clients that always come back give way to whoever asks, and hold nothing else",
    suite: Suite::Attack,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing, as if the slow clients had starved it",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered 200",
    }],
};

const CLIENTS: usize = 1_000;
const HELD_FOR: Duration = Duration::from_secs(14);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut guest = session.boot("three-lanes")?;
    let mut clients = ClientCounts::at_most();
    let sampler = Sampler::start(guest.public());
    let mut lines = Vec::new();
    for slowness in Slowness::ALL {
        lines.push(attack(session, &mut guest, &mut clients, slowness)?);
    }
    session.chart(Chart {
        title: "provider probe under slow clients".into(),
        unit: "ms".into(),
        lines,
    });
    sampler.record(session, &mut clients);
    let evidence = session.settle(guest, &clients)?;
    let gave_way = evidence.lane("gave_way", Lane::Anonymous)?;
    session.check("slow clients give way", gave_way > 0, gave_way);
    Ok(())
}

fn attack(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
    slowness: Slowness,
) -> Result<(String, Vec<(f64, f64)>), Failure> {
    let name = slowness.name();
    session.step(format!("{CLIENTS} clients, {name}"));
    let pace = Duration::from_millis(500);
    let slow = SlowClients::start(guest.public(), slowness, CLIENTS, pace);
    let most = slow.await_open(CLIENTS);
    session.check_equal(
        format!("{name}: clients that were open at one time"),
        most,
        CLIENTS,
    );
    let mut public = Flood::of(guest.public(), http::once("GET", "/healthz"), 1, usize::MAX);
    public.time_max = HELD_FOR;
    // Less than what any refusal asks for.
    public.pause = Duration::from_millis(250);
    let mut asked = Flooded::default();
    let watched = watch(guest, HELD_FOR, |_| asked = public.run())?;
    let held = slow.finish();
    rest(session, guest, clients, name);
    clients.lane(Lane::Anonymous).add(&asked.tally);
    count(clients, &watched);
    watched.judge(session, name);
    session.figure(
        format!("{name}: connections"),
        format_args!("{} opened, {} ended", held.opened, held.closed),
    );
    session.figure(
        format!("{name}: provider probe"),
        watched.outside.latencies(),
    );
    let healthy = asked.tally.of(200);
    let all = asked.tally.responses() + asked.tally.unanswered();
    session.check(
        format!("{name}: public requests are served, 95 % at the least"),
        all > 0 && healthy * 100 >= all * 95,
        format_args!("{healthy} of {all}"),
    );
    session.figure(
        format!("{name}: public /healthz meanwhile"),
        format_args!("{:?} {:?}", asked.tally.statuses, asked.tally.endings),
    );
    Ok((name.to_owned(), watched.outside.line()))
}
