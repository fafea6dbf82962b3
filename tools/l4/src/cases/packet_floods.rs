//! Case `packet-floods`: floods of single packets on the public NIC. The provider lane
//! answers throughout, and afterwards the public lane serves again within a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::Injector;
use crate::frames::attack::Sources;
use crate::http::{self, PATIENCE};
use crate::lane::Lane;
use crate::load::flood::Flood;
use crate::load::going::Site;
use crate::load::sampler::Sampler;
use crate::load::table::{self, Of, Row};
use crate::load::watch::{Watched, idle, watch};
use crate::machine::nic::Between;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
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

const FLOOD_TIME: Duration = Duration::from_secs(6);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (injector, ports) = Injector::open()?;
    let injector = Arc::new(injector);
    let mut nics = session.nics();
    if let Some(public) = nics.first_mut() {
        public.between = Between::Injector(ports);
    }
    let sources = match session.wire() {
        Wire::Tap => Sources::Many,
        Wire::User | Wire::Frames => Sources::Few,
    };
    let mut trial = session.boot_on("three-lanes", nics)?.at_most();
    let sampler = Sampler::start(trial.guest.public()?);
    let idle = idle(&mut trial)?;
    let title = "provider probe from outside, under packet floods";
    let before = ("idle".to_owned(), idle.outside.line());
    table::each(
        &mut trial,
        Of::PacketFloods,
        title,
        Some(before),
        |trial, row| {
            let site = Site::of(trial)?.with(&injector, sources);
            let watched = flood(trial, row, &site)?;
            trial.session.probes(watched.rows(row.name, &idle));
            Ok(watched.outside.line())
        },
    )?;
    sampler.record(&mut trial);
    trial.settle().map(drop)
}

fn flood(trial: &mut Trial<'_, '_>, row: Row, site: &Site) -> Result<Watched, Failure> {
    let name = row.name;
    let request = http::once("GET", "/healthz");
    let mut asking = Flood::of(trial.guest.public()?, request, 2, usize::MAX);
    asking.time_max = FLOOD_TIME;
    let (watched, (carried, public)) = watch(trial, FLOOD_TIME, |_| {
        let attack = row.load.begin(site, FLOOD_TIME)?;
        let public = asking.run();
        Ok((attack.finish()?, public))
    })?;
    let shares = trial.guest.machine().watch_share();
    let recovered = recovery(trial)?;
    let shares = shares.finish();
    let given = recovered.map(|took| shares.given_of(took));
    trial.count(Lane::Anonymous, &public.tally);
    watched.judge(trial.session, name);
    trial.session.check(
        format!("{name}: the public lane serves again within a second that the host gave"),
        given.is_some_and(|given| given < Duration::from_secs(1)),
        format_args!("{recovered:?}, of which the host gave {given:?} at least"),
    );
    let asked = public.tally.responses() + public.tally.unanswered();
    let packets = carried.packets / FLOOD_TIME.as_secs();
    trial.session.figure(
        format!("{name}: {packets} packets/s, public /healthz meanwhile"),
        format_args!("{} of {asked} answered 200", public.tally.of(200)),
    );
    Ok(watched)
}

/// How long after a flood the public lane takes to answer 200: asked anew every moment, for
/// a connection whose first packet the flood still swallowed comes back seconds later.
fn recovery(trial: &mut Trial<'_, '_>) -> Result<Option<Duration>, Failure> {
    let begun = Instant::now();
    let get = http::once("GET", "/healthz");
    let address = trial.guest.public()?;
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
        trial.clients.lane(Lane::Anonymous).count(answer);
    }
    Ok(answers.into_iter().filter_map(|(_, took)| took).min())
}
