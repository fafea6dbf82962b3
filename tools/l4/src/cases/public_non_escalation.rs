//! Case 2: the public lane, loaded past every one of its bounds, takes nothing that is
//! another lane's.

use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, Pinned, Tally};
use crate::lane::Lane;
use crate::load::flood::{Flood, Flooded};
use crate::load::prober::{Probed, Prober};
use crate::load::quantiles::milliseconds;
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::record::Chart;
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "public-non-escalation",
    title: "a public flood past every public bound takes nothing of the protected lanes",
    suite: Suite::Matrix,
    need: Need::Nothing,
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
/// No slot is held for longer, and no head may take longer.
const PATIENCE: Duration = Duration::from_secs(10);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut guest = session.boot("three-lanes-tight")?;
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    session.step("public flood alone");
    let sampler = Sampler::start(guest.public());
    let flooded = flood_past_every_bound(&guest)?;
    sampler.record(session, &mut clients);
    clients.lane(Lane::Anonymous).add(&flooded.tally);
    judge_flood(session, &flooded);
    let evidence = guest.quiescent(Duration::from_secs(30), |evidence| {
        clients.agree(evidence, Lane::Anonymous)
    })?;
    for lane in [Lane::LocalHealth, Lane::ProviderHealth] {
        for counter in ["admitted", "conns_admitted", "conns_refused", "high_water"] {
            session.check_equal(
                format!("nothing is charged to {}: {counter}", lane.key()),
                evidence.lane(counter, lane)?,
                0,
            );
        }
    }
    let ceiling = guest.policy("public_slots")?;
    session.check_equal(
        "the public lane was saturated: its slots' high water is its ceiling",
        evidence.lane("high_water", Lane::Anonymous)?,
        ceiling,
    );
    let conns = evidence.lane("conns_high_water", Lane::Anonymous)?;
    let conns_ceiling = guest.policy("public_conns")?;
    session.check(
        "the public lane never holds more connections than its ceiling",
        conns <= conns_ceiling,
        format_args!("{conns} of {conns_ceiling}"),
    );

    let probed = probe_mid_flood(session, &mut guest, &mut clients)?;
    let evidence = session.settle(guest, &clients)?;
    session.check_equal(
        "the provider's probes are charged to the provider lane, one each",
        evidence.lane("admitted", Lane::ProviderHealth)?,
        probed.samples.len() as u64,
    );
    Ok(())
}

/// Reaches each bound in turn and floods past it: the slots, held by readers that
/// hardly read; then the connections, held by heads that do not end.
fn flood_past_every_bound(guest: &Guest) -> Result<Flooded, Failure> {
    let mut flooded = flood(guest);
    let count = usize::try_from(guest.policy("public_conns")?).unwrap_or(usize::MAX);
    let held: Vec<Pinned> = (0..count)
        .filter_map(|_| Pinned::open(guest.public(), "/", PATIENCE).ok())
        .collect();
    ask_until(guest, &mut flooded.tally, 503);
    drop(held);
    Ok(flooded)
}

/// A health flood over readers that hold every slot.
fn flood(guest: &Guest) -> Flooded {
    let pace = Duration::from_millis(20);
    let readers = SlowClients::start(guest.public(), Slowness::Read, READERS, pace);
    let mut tally = Tally::default();
    ask_until(guest, &mut tally, 429);
    let request = http::once("GET", "/healthz");
    let mut flood = Flood::of(guest.public(), request, FLOODERS, usize::MAX);
    flood.time_max = FLOOD_TIME;
    let mut flooded = flood.run();
    readers.finish();
    flooded.tally.add(&tally);
    flooded
}

/// Asks for the public health until the answer is `status`, or for as long as a slot or a
/// permit can be held at all.
fn ask_until(guest: &Guest, tally: &mut Tally, status: u16) {
    let begun = Instant::now();
    let request = http::once("GET", "/healthz");
    while tally.of(status) == 0 && begun.elapsed() < PATIENCE {
        // Closed unanswered is counted as such, and it is asked anew.
        drop(http::counted(tally, guest.public(), &request, PATIENCE));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn judge_flood(session: &mut Session<'_>, flooded: &Flooded) {
    let told = format!("{:?}, {:?}", flooded.tally.statuses, flooded.tally.endings);
    for status in [429, 503] {
        session.check(
            format!("the public lane answers {status} past its bounds"),
            flooded.tally.of(status) > 0,
            &told,
        );
    }
    session.figure("public answers by status", told);
}

fn probe_mid_flood(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
) -> Result<Probed, Failure> {
    session.step("provider probe started in the middle of a flood");
    let address = guest.provider();
    let (flooded, probed) = std::thread::scope(|scope| {
        let loader = scope.spawn(|| flood(guest));
        std::thread::sleep(Duration::from_secs(3));
        let pace = Duration::from_millis(100);
        let prober = Prober::start(address, pace, Duration::from_secs(5));
        let flooded = loader.join().unwrap_or_default();
        (flooded, prober.finish())
    });
    clients.lane(Lane::Anonymous).add(&flooded.tally);
    clients.lane(Lane::ProviderHealth).add(&probed.tally);
    let latencies = probed.latencies();
    session.figure("provider probe mid-flood", &latencies);
    session.check(
        "every provider probe mid-flood is answered 200",
        probed.all_healthy(),
        format_args!(
            "{} of {}: {:?}",
            probed.healthy(),
            probed.samples.len(),
            probed.tally
        ),
    );
    let deadline = Duration::from_millis(guest.policy("provider_deadline_ms")?);
    session.check(
        "no provider probe takes longer than the lane's deadline",
        latencies.max() < deadline,
        milliseconds(latencies.max()),
    );
    session.chart(Chart {
        title: "provider probe while the public lane is flooded".into(),
        unit: "ms".into(),
        lines: vec![("provider probe".into(), probed.line())],
    });
    let local = guest.ask(clients.lane(Lane::LocalHealth), "get local /readyz")?;
    session.check(
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
