//! Case `soak`, on demand: everything mixed for ten minutes, ending balanced, with no more
//! memory in use than after the first round. `L4_SOAK_SECONDS` sets another length.

use std::time::{Duration, Instant};

use crate::cases::release_balance;
use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::lane::Lane;
use crate::load::prober::Prober;
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "soak",
    title: "ten minutes of everything mixed end balanced",
    suite: Suite::OnDemand,
    need: Need::Nothing,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered",
    }],
};

fn seconds() -> u64 {
    let asked = std::env::var("L4_SOAK_SECONDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(600)
}

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let time = Duration::from_secs(seconds());
    let mut guest = session.boot("three-lanes")?;
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    let prober = Prober::start(
        guest.provider(),
        Duration::from_millis(100),
        Duration::from_secs(5),
    );
    let sampler = Sampler::start(guest.public());
    let begun = Instant::now();
    let mut held = Vec::new();
    while begun.elapsed() < time {
        held.push(round(session, &mut guest, &mut clients)?);
    }
    let probed = prober.finish();
    sampler.record(session, &mut clients);
    clients.lane(Lane::ProviderHealth).add(&probed.tally);
    session.figure("rounds", held.len());
    memory(session, &held);
    session.figure("provider probe throughout", probed.latencies());
    // The in-guest flood spends the lane's rate, so a probe may be told 429; never nothing.
    let answered = probed.tally.responses();
    session.check_equal(
        "every provider probe is answered",
        answered,
        probed.samples.len() as u64,
    );
    let evidence = session.settle(guest, &clients)?;
    session.figure(
        "requests admitted",
        evidence.lane("admitted", Lane::Anonymous)?,
    );
    Ok(())
}

/// One round of everything; tells the service's memory once it is quiescent again.
fn round(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
) -> Result<u64, Failure> {
    let pace = Duration::from_millis(100);
    let slow: Vec<SlowClients> = [
        Slowness::Head,
        Slowness::Body,
        Slowness::Read,
        Slowness::Silent,
    ]
    .into_iter()
    .map(|slowness| SlowClients::start(guest.public(), slowness, 24, pace))
    .collect();
    release_balance::mixed(session, guest, clients)?;
    for slow in slow {
        slow.finish();
    }
    let evidence = guest.quiescent(Duration::from_secs(30), |evidence| {
        clients.agree(evidence, Lane::Anonymous)
    })?;
    evidence.count("memory_bytes")
}

/// Memory may grow while rounds first reach their peaks, and not later: the last round holds
/// no more than the first half's largest.
fn memory(session: &mut Session<'_>, held: &[u64]) {
    let (first, second) = held.split_at(held.len().div_ceil(2));
    let before = first.iter().max().copied().unwrap_or_default();
    let after = second.last().copied().unwrap_or(before);
    session.figure("service memory by round", format_args!("{held:?} bytes"));
    session.check(
        "the service's memory does not grow with time",
        after <= before + before / 4,
        format_args!("{before} bytes at most at first, {after} at last"),
    );
}
