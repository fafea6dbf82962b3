//! Case `slow-clients`: slow heads, bodies and readers that open again whatever is closed,
//! more of them than the public lane has permits, take nothing from the provider lane.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http;
use crate::lane::Lane;
use crate::load::flood::Flood;
use crate::load::prober::Prober;
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::record::Chart;
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "slow-clients",
    title: "slow clients that always come back hold the public lane and nothing else",
    suite: Suite::Attack,
    need: Need::Nothing,
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
    let guest = session.boot("three-lanes")?;
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    let sampler = Sampler::start(guest.public());
    let mut lines = Vec::new();
    for slowness in Slowness::ALL {
        lines.push(attack(session, &guest, &mut clients, slowness));
    }
    session.chart(Chart {
        title: "provider probe under slow clients".into(),
        unit: "ms".into(),
        lines,
    });
    sampler.record(session, &mut clients);
    let evidence = session.settle(guest, &clients)?;
    let timed_out = evidence.lane("timed_out", Lane::Anonymous)?;
    session.check("slow clients run into deadlines", timed_out > 0, timed_out);
    Ok(())
}

fn attack(
    session: &mut Session<'_>,
    guest: &Guest,
    clients: &mut ClientCounts,
    slowness: Slowness,
) -> (String, Vec<(f64, f64)>) {
    let name = slowness.name();
    session.step(format!("{CLIENTS} clients, {name}"));
    let pace = Duration::from_millis(500);
    let slow = SlowClients::start(guest.public(), slowness, CLIENTS, pace);
    std::thread::sleep(Duration::from_secs(2));
    let prober = Prober::start(
        guest.provider(),
        Duration::from_millis(50),
        Duration::from_secs(5),
    );
    let mut public = Flood::of(guest.public(), http::once("GET", "/healthz"), 1, usize::MAX);
    public.time_max = HELD_FOR;
    public.timeout = Duration::from_secs(5);
    let public = public.run();
    let probed = prober.finish();
    let held = slow.finish();
    clients.lane(Lane::Anonymous).add(&public.tally);
    clients.lane(Lane::ProviderHealth).add(&probed.tally);
    probed.judge(session, name);
    session.check(
        format!("{name}: no gap between probes is longer than the prober's patience"),
        probed.longest_gap() < Duration::from_secs(5),
        format_args!("{:?}", probed.longest_gap()),
    );
    session.check(
        format!("{name}: the attack held what it could"),
        held.most > CLIENTS / 2,
        format_args!(
            "{} of {CLIENTS} open at most, {} ended",
            held.most, held.closed
        ),
    );
    session.figure(format!("{name}: provider probe"), probed.latencies());
    session.figure(
        format!("{name}: public /healthz meanwhile"),
        format_args!("{:?} {:?}", public.tally.statuses, public.tally.endings),
    );
    (name.to_owned(), probed.line())
}
