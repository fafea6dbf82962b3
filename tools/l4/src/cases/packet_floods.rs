//! Case `packet-floods`: floods of single packets on the public NIC. The provider lane
//! answers throughout, and afterwards the public lane serves again within a second.

use std::time::{Duration, Instant};

use mkmanifest::LaneRules;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::Injector;
use crate::frames::attack::{self, Kind};
use crate::guest::Guest;
use crate::http;
use crate::lane::Lane;
use crate::load::flood::Flood;
use crate::load::prober::{Probed, Prober};
use crate::load::quantiles::milliseconds;
use crate::machine::spec::{Backend, HostPort, Nic};
use crate::record::Chart;
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "packet-floods",
    title: "SYN, half-open, RST, FIN and stray-data floods leave the provider lane answering",
    suite: Suite::Attack,
    need: Need::Nothing,
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
/// Within the provider lane's default rate.
const PACE: Duration = Duration::from_millis(25);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (injector, ports) = Injector::open()?;
    let mut nics = Session::usual_nics();
    if let Some(public) = nics.first_mut() {
        public.backend = Backend::UserWithInjector(HostPort::Ephemeral, ports);
    }
    floods(session, &injector, nics)
}

/// Floods the public NIC, the first of `nics`, with every kind of packet.
pub(crate) fn floods(
    session: &mut Session<'_>,
    injector: &Injector,
    nics: Vec<Nic>,
) -> Result<(), Failure> {
    injector.answer_arp()?;
    let mut guest = session.launch("three-lanes", LaneRules::Checked, nics)?;
    guest.await_ready()?;
    session.note_ready(&guest);
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    session.step("idle baseline");
    let prober = Prober::start(guest.provider(), PACE, Duration::from_secs(5));
    std::thread::sleep(Duration::from_secs(3));
    let idle = prober.finish();
    clients.lane(Lane::ProviderHealth).add(&idle.tally);
    session.figure("idle: provider probe", idle.latencies());
    let mut lines = vec![("idle".to_owned(), idle.line())];
    for kind in Kind::ALL {
        let probed = flood(session, &guest, injector, &mut clients, kind, &idle);
        lines.push((kind.name().to_owned(), probed.line()));
    }
    session.chart(Chart {
        title: "provider probe under packet floods".into(),
        unit: "ms".into(),
        lines,
    });
    session.settle(guest, &clients).map(drop)
}

fn flood(
    session: &mut Session<'_>,
    guest: &Guest,
    injector: &Injector,
    clients: &mut ClientCounts,
    kind: Kind,
    idle: &Probed,
) -> Probed {
    let name = kind.name();
    session.step(name);
    let frames = kind.frames(Lane::Anonymous.port());
    let mut public = Flood::of(guest.public(), http::once("GET", "/healthz"), 2, usize::MAX);
    public.time_max = FLOOD_TIME;
    public.timeout = Duration::from_secs(4);
    let prober = Prober::start(guest.provider(), PACE, Duration::from_secs(5));
    let (sent, public) = std::thread::scope(|scope| {
        let attacker = scope.spawn(|| attack::flood(injector, &frames, RATE, FLOOD_TIME));
        let public = public.run();
        (attacker.join().unwrap_or_default(), public)
    });
    let probed = prober.finish();
    let recovered = recovery(guest, clients);
    clients.lane(Lane::Anonymous).add(&public.tally);
    clients.lane(Lane::ProviderHealth).add(&probed.tally);
    session.check(
        format!("{name}: every provider probe is answered 200"),
        probed.all_healthy(),
        format_args!(
            "{} of {}: {:?}",
            probed.healthy(),
            probed.samples.len(),
            probed.tally
        ),
    );
    session.check(
        format!("{name}: no gap between probes is longer than a second"),
        probed.longest_gap() < Duration::from_secs(1),
        milliseconds(probed.longest_gap()),
    );
    session.check(
        format!("{name}: the public lane serves again within a second"),
        recovered.is_some_and(|took| took < Duration::from_secs(1)),
        format_args!("{recovered:?}"),
    );
    session.figure(
        format!("{name}: {} packets/s", sent / FLOOD_TIME.as_secs()),
        format_args!("{}; {}", probed.latencies(), ratios(&probed, idle)),
    );
    let asked = public.tally.responses() + public.tally.unanswered();
    session.figure(
        format!("{name}: public /healthz meanwhile"),
        format_args!("{} of {asked} answered 200", public.tally.of(200)),
    );
    probed
}

/// How long after a flood the public lane takes to answer 200.
fn recovery(guest: &Guest, clients: &mut ClientCounts) -> Option<Duration> {
    let begun = Instant::now();
    let get = http::once("GET", "/healthz");
    while begun.elapsed() < Duration::from_secs(10) {
        let tally = clients.lane(Lane::Anonymous);
        let answer = http::counted(tally, guest.public(), &get, Duration::from_secs(2));
        if answer.is_ok_and(|one| one.status == 200) {
            return Some(begun.elapsed());
        }
    }
    None
}

/// A probe's p50, p90 and p99 as multiples of the idle ones.
pub(crate) fn ratios(probed: &Probed, idle: &Probed) -> String {
    let (probed, idle) = (probed.latencies(), idle.latencies());
    let ratio = |percent| {
        let idle = idle.percent(percent).as_secs_f64().max(1e-9);
        probed.percent(percent).as_secs_f64() / idle
    };
    format!(
        "{:.1}x, {:.1}x, {:.1}x of idle p50, p90, p99",
        ratio(50),
        ratio(90),
        ratio(99)
    )
}
