//! Case 2: the public lane, loaded past every one of its bounds, takes nothing that is
//! another lane's.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, PATIENCE, Pinned, Tally};
use crate::lane::Lane;
use crate::load::flood::{Flood, Flooded};
use crate::load::prober::{Probed, Prober};
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::record::Chart;
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "public-non-escalation",
    title: "a public flood past every public bound takes nothing of the protected lanes",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[
        Control {
            name: "roomy",
            breaks: "the public bounds are so wide that the flood does not reach them",
            sabotage: Sabotage::Manifest {
                of: "three-lanes-tight",
                instead: "three-lanes",
            },
            must_fail: "the public lane answers 429",
        },
        Control {
            name: "swapped-listeners",
            breaks: "the public flood comes in on the provider's listener",
            sabotage: Sabotage::Manifest {
                of: "three-lanes-tight",
                instead: "swapped-listeners",
            },
            must_fail: "nothing is charged to provider_health",
        },
    ],
};

/// Connections that hardly read what they ask for: they hold slots.
const READERS: usize = 20;
/// Clients of the health flood: with the readers, more than the public lane's connections.
const FLOODERS: usize = 48;
const FLOOD_TIME: Duration = Duration::from_secs(5);
/// How often the health is asked for while heads hold the connections, which they do for half
/// a second.
const ASKED_BESIDE_HEADS: usize = 20;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes-tight")?.at_most();
    trial.session.step("public flood alone");
    let sampler = Sampler::start(trial.guest.public()?);
    let (flooded, refused) = flood_past_every_bound(&trial.guest)?;
    sampler.record(&mut trial);
    trial.count(Lane::Anonymous, &flooded.tally);
    judge_flood(trial.session, &flooded);
    trial.session.check(
        "a connection past the public lane's is refused by its ceiling",
        refused,
        format_args!("{:?}", flooded.tally.statuses),
    );
    let clients = &trial.clients;
    let evidence = trial.guest.quiescent(SLOW_HOST, |evidence| {
        clients.agree(evidence, Lane::Anonymous)
    })?;
    for lane in [Lane::LocalHealth, Lane::ProviderHealth] {
        for counter in ["admitted", "conns_admitted", "conns_refused", "high_water"] {
            trial.session.check_equal(
                format!("nothing is charged to {}: {counter}", lane.key()),
                evidence.lane(counter, lane)?,
                0,
            );
        }
    }
    let ceiling = trial.guest.policy("public_slots")?;
    trial.session.check_equal(
        "the public lane was saturated: its slots' high water is its ceiling",
        evidence.lane("high_water", Lane::Anonymous)?,
        ceiling,
    );
    let conns = evidence.lane("conns_high_water", Lane::Anonymous)?;
    let conns_ceiling = trial.guest.policy("public_conns")?;
    trial.session.check(
        "the public lane never holds more connections than its ceiling",
        conns <= conns_ceiling,
        format_args!("{conns} of {conns_ceiling}"),
    );

    let probed = probe_mid_flood(&mut trial)?;
    let evidence = trial.settle()?;
    session.check_equal(
        "the provider's probes are charged to the provider lane, one each",
        evidence.lane("admitted", Lane::ProviderHealth)?,
        probed.samples.len() as u64,
    );
    // By the service's own clock: what takes longer is not answered 200.
    for counter in ["timed_out", "expired", "overload_deadline_exceeded"] {
        session.check_equal(
            format!("no provider probe met the lane's deadline: {counter}"),
            evidence.lane(counter, Lane::ProviderHealth)?,
            0,
        );
    }
    Ok(())
}

/// Reaches each bound in turn and floods past it: the slots, held by readers that
/// hardly read; then the connections, held by heads that do not end. Whether a connection was
/// refused for that comes with the answers.
fn flood_past_every_bound(guest: &Guest) -> Result<(Flooded, bool), Failure> {
    let public = guest.public()?;
    let mut flooded = flood(public, || ());
    let count = usize::try_from(guest.policy("public_conns")?).unwrap_or(usize::MAX);
    let begun = Instant::now();
    let mut refused = false;
    // Heads have their deadline, and whoever is slow to ask finds room: then, once more.
    while !refused && begun.elapsed() < PATIENCE {
        let held: Vec<Pinned> = (0..count)
            .filter_map(|_| Pinned::open(public, "/").ok())
            .collect();
        let request = http::once("GET", "/healthz");
        for _ in 0..ASKED_BESIDE_HEADS {
            let answer = http::counted(&mut flooded.tally, public, &request);
            refused = answer.is_ok_and(|one| one.text().contains("lane_at_capacity"));
            if refused {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(held);
    }
    Ok((flooded, refused))
}

/// A health flood over readers that hold every slot; `saturated` is called once they do.
fn flood(public: SocketAddr, saturated: impl FnOnce()) -> Flooded {
    let pace = Duration::from_millis(20);
    let readers = SlowClients::start(public, Slowness::Read, READERS, pace);
    let mut tally = Tally::default();
    let request = http::once("GET", "/healthz");
    drop(http::ask_until(&mut tally, public, &request, |status| {
        status == 429
    }));
    saturated();
    let mut flood = Flood::of(public, request, FLOODERS, usize::MAX);
    flood.time_max = FLOOD_TIME;
    let mut flooded = flood.run();
    readers.finish();
    flooded.tally.add(&tally);
    flooded
}

fn judge_flood(session: &mut Session<'_>, flooded: &Flooded) {
    let told = format!("{:?}, {:?}", flooded.tally.statuses, flooded.tally.endings);
    session.check(
        "the public lane answers 429 past its bounds",
        flooded.tally.of(429) > 0,
        &told,
    );
    session.figure("public answers by status", told);
}

fn probe_mid_flood(trial: &mut Trial<'_, '_>) -> Result<Probed, Failure> {
    trial
        .session
        .step("provider probe started in the middle of a flood");
    let (public, provider) = (trial.guest.public()?, trial.guest.provider()?);
    let (flooded, probed) = std::thread::scope(|scope| {
        let (saturated, is_saturated) = std::sync::mpsc::channel();
        let loader = scope.spawn(move || flood(public, || saturated.send(()).unwrap_or_default()));
        // Should the flood end without a word, the checks of it tell why.
        is_saturated.recv().unwrap_or_default();
        let prober = Prober::start(provider, Duration::from_millis(100));
        let flooded = loader.join().unwrap_or_default();
        (flooded, prober.finish())
    });
    trial.count(Lane::Anonymous, &flooded.tally);
    trial.count(Lane::ProviderHealth, &probed.tally);
    let latencies = probed.latencies();
    trial.session.figure("provider probe mid-flood", &latencies);
    trial.session.check(
        "every provider probe mid-flood is answered 200",
        probed.all_healthy(),
        format_args!(
            "{} of {}: {:?}",
            probed.healthy(),
            probed.samples.len(),
            probed.tally
        ),
    );
    trial.session.chart(Chart {
        title: "provider probe while the public lane is flooded".into(),
        unit: "ms".into(),
        lines: vec![("provider probe".into(), probed.line())],
    });
    let local = trial.ask(Lane::LocalHealth, "get local /readyz")?;
    trial.session.check(
        "the local lane serves after the flood",
        local.tally() == single(200),
        &local.line,
    );
    Ok(probed)
}

fn single(status: u16) -> Tally {
    let mut tally = Tally::default();
    tally.status(status, 1);
    tally
}
