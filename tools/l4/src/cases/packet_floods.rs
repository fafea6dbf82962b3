//! Case `packet-floods`: floods of single packets on the public NIC. The provider lane
//! answers throughout, and afterwards the public lane serves again within a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::Injector;
use crate::frames::attack::{self, Kind, Sources};
use crate::guest::Guest;
use crate::http::{self, PATIENCE};
use crate::lane::Lane;
use crate::load::flood::{Flood, Flooded};
use crate::load::sampler::Sampler;
use crate::load::watch::{Watched, count, watch};
use crate::machine::nic::Between;
use crate::record::Chart;
use crate::session::{ClientCounts, Sabotage, Session};
use crate::wire::{Wire, Wires};

pub(crate) const CASE: Case = Case {
    name: "packet-floods",
    title: "SYN, half-open, RST, FIN and stray-data floods leave the provider lane answering",
    suite: Suite::Attack,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing, as if the floods had starved it",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered 200",
    }],
};

/// Packets a second: about a third of what the emulated NIC can take at all.
const RATE: u32 = 15_000;
const FLOOD_TIME: Duration = Duration::from_secs(6);
/// Long enough that an idle guest's p99 is not its one slowest probe.
const IDLE_FOR: Duration = Duration::from_secs(12);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (injector, ports) = Injector::open()?;
    let mut nics = session.nics();
    if let Some(public) = nics.first_mut() {
        public.between = Between::Injector(ports);
    }
    let sources = match session.wire() {
        Wire::Tap => Sources::Many,
        Wire::User | Wire::Frames => Sources::Few,
    };
    let mut guest = session.boot_on("three-lanes", nics)?;
    let mut clients = ClientCounts::at_most();
    let sampler = Sampler::start(guest.public());
    session.step("idle baseline");
    let idle = watch(&mut guest, IDLE_FOR, |_| std::thread::sleep(IDLE_FOR))?;
    count(&mut clients, &idle);
    session.probes(idle.rows("idle", &idle));
    let mut lines = vec![("idle".to_owned(), idle.outside.line())];
    for kind in Kind::ALL {
        let frames = kind.frames(Lane::Anonymous.port(), sources);
        let attack = || attack::flood(|frame| injector.send(frame), &frames, RATE, FLOOD_TIME);
        let watched = flood(session, &mut guest, &mut clients, kind, attack)?;
        session.probes(watched.rows(kind.name(), &idle));
        lines.push((kind.name().to_owned(), watched.outside.line()));
    }
    session.chart(Chart {
        title: "provider probe from outside, under packet floods".into(),
        unit: "ms".into(),
        lines,
    });
    sampler.record(session, &mut clients);
    session.settle(guest, &clients).map(drop)
}

fn flood(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
    kind: Kind,
    attack: impl Fn() -> u64 + Sync,
) -> Result<Watched, Failure> {
    let name = kind.name();
    session.step(name);
    let mut public = Flooded::default();
    let mut sent = 0;
    let watched = watch(guest, FLOOD_TIME, |guest| {
        let mut asking = Flood::of(guest.public(), http::once("GET", "/healthz"), 2, usize::MAX);
        asking.time_max = FLOOD_TIME;
        (sent, public) = std::thread::scope(|scope| {
            let attacker = scope.spawn(&attack);
            let public = asking.run();
            (attacker.join().unwrap_or_default(), public)
        });
    })?;
    let shares = guest.machine().watch_share();
    let recovered = recovery(guest, clients);
    let shares = shares.finish();
    let given = recovered.map(|took| shares.given_of(took));
    clients.lane(Lane::Anonymous).add(&public.tally);
    count(clients, &watched);
    watched.judge(session, name);
    session.check(
        format!("{name}: the public lane serves again within a second that the host gave"),
        given.is_some_and(|given| given < Duration::from_secs(1)),
        format_args!("{recovered:?}, of which the host gave {given:?} at least"),
    );
    let asked = public.tally.responses() + public.tally.unanswered();
    session.figure(
        format!(
            "{name}: {} packets/s, public /healthz meanwhile",
            sent / FLOOD_TIME.as_secs()
        ),
        format_args!("{} of {asked} answered 200", public.tally.of(200)),
    );
    Ok(watched)
}

/// How long after a flood the public lane takes to answer 200: asked anew every moment, for
/// a connection whose first packet the flood still swallowed comes back seconds later.
fn recovery(guest: &Guest, clients: &mut ClientCounts) -> Option<Duration> {
    let begun = Instant::now();
    let get = http::once("GET", "/healthz");
    let address = guest.public();
    let served = AtomicBool::new(false);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = || {
            let answer = http::exchange(address, &get);
            let healthy = answer.as_ref().is_ok_and(|one| one.status == 200);
            served.fetch_or(healthy, Ordering::AcqRel);
            (answer, healthy.then(|| begun.elapsed()))
        };
        let mut asking = Vec::new();
        while !served.load(Ordering::Acquire) && begun.elapsed() < PATIENCE {
            asking.push(scope.spawn(ask));
            std::thread::sleep(Duration::from_millis(80));
        }
        asking
            .into_iter()
            .filter_map(|asking| asking.join().ok())
            .collect()
    });
    for (answer, _) in &answers {
        clients.lane(Lane::Anonymous).count(answer);
    }
    answers.into_iter().filter_map(|(_, took)| took).min()
}
