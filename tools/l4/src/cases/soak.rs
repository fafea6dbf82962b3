//! Case `soak`, on demand: everything mixed for ten minutes, ending balanced, with no more
//! memory in use than after the first round. `L4_SOAK_SECONDS` sets another length.

use std::time::{Duration, Instant};

use crate::cases::release_balance;
use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::lane::Lane;
use crate::load::account::Account;
use crate::load::prober::Prober;
use crate::load::sampler::{Sampled, Sampler};
use crate::load::slow::{SlowClients, Slowness};
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "soak",
    title: "ten minutes of everything mixed end balanced",
    suite: Suite::OnDemand,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered, or counted",
    }],
};

fn seconds() -> u64 {
    let asked = std::env::var("L4_SOAK_SECONDS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(600)
}

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let time = Duration::from_secs(seconds());
    let mut trial = session.boot("three-lanes")?.at_most();
    let prober = Prober::start(trial.guest.provider()?, Duration::from_millis(100));
    trial.session.step("reach every peak once");
    peaks(&mut trial)?;
    let begun = Instant::now();
    let mut sampled = Sampled::default();
    let mut held = Vec::new();
    while begun.elapsed() < time {
        let sampler = Sampler::resume(trial.guest.public()?, begun);
        load(&mut trial)?;
        sampler.pause(&mut sampled, &mut trial);
        held.push(rest(&mut trial)?);
    }
    trial.guest.await_memory_told();
    held.push(rest(&mut trial)?);
    sampled.chart(trial.session);
    let probed = prober.finish();
    trial.count(Lane::ProviderHealth, &probed.tally);
    trial.session.figure("rounds", held.len() - 1);
    memory(trial.session, &held);
    trial
        .session
        .figure("provider probe throughout", probed.latencies());
    let evidence = trial.settle()?;
    // The rounds load the provider lane itself past its rate and its connections, so a probe
    // may be told 429 or 503, or be closed when an answer is not taken: counted, in any case.
    let unanswered = probed.samples.len() as u64 - probed.tally.responses();
    let closed = evidence.lane("refusals_unanswered", Lane::ProviderHealth)?;
    session.check(
        "every provider probe is answered, or counted as unanswered",
        probed.healthy() > 0 && unanswered <= closed,
        format_args!(
            "{} probes, {unanswered} unanswered, {closed} closed without an answer",
            probed.samples.len()
        ),
    );
    session.figure(
        "requests admitted",
        evidence.lane("admitted", Lane::Anonymous)?,
    );
    Ok(())
}

/// Holds as many connections as there are permits, then as many answers as there are slots:
/// what memory that ever takes is taken now, and later rounds may take no more.
fn peaks(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    let public = trial.guest.public()?;
    let pace = Duration::from_millis(50);
    for (slowness, held, limit) in [
        (Slowness::Head, "conns", "conn_limit"),
        (Slowness::Read, "high_water", "slot_limit"),
    ] {
        let mut account = Account::of(public);
        // It has its place before the others come.
        account.ask();
        let slow = SlowClients::start(public, slowness, 1_100, pace);
        let full = account.until(|lanes| {
            let of = |counter| lanes.of(Lane::Anonymous, counter);
            of(held).is_some() && of(held) == of(limit)
        });
        drop(slow);
        trial.count(Lane::Anonymous, &account.tally);
        trial.session.check(
            format!("{}: the public lane reaches its {limit}", slowness.name()),
            full,
            format_args!("within {SLOW_HOST:?}"),
        );
    }
    Ok(())
}

/// One round of everything.
fn load(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    let pace = Duration::from_millis(100);
    let slow = SlowClients::start_all(trial.guest.public()?, 24, pace);
    release_balance::mixed(trial)?;
    drop(slow);
    Ok(())
}

/// What is in use once the service is quiescent again.
#[derive(Clone, Copy, Debug)]
struct InUse {
    /// The service's memory, in bytes.
    service: u64,
    /// The machine's frames and the kernel's heap, in bytes, if they were told yet.
    kernel: Option<u64>,
}

fn rest(trial: &mut Trial<'_, '_>) -> Result<InUse, Failure> {
    let clients = &trial.clients;
    let evidence = trial.guest.quiescent(SLOW_HOST, |evidence| {
        evidence.all_released(Lane::Anonymous) && clients.agree(evidence, Lane::Anonymous)
    })?;
    Ok(InUse {
        service: evidence.count("memory_bytes")?,
        kernel: trial.guest.kernel_memory(),
    })
}

/// Judges the memory of both.
fn memory(session: &mut Session<'_>, held: &[InUse]) {
    let service: Vec<u64> = held.iter().map(|in_use| in_use.service).collect();
    let kernel: Vec<u64> = held.iter().filter_map(|in_use| in_use.kernel).collect();
    no_growth(session, "service", &service);
    no_growth(session, "kernel", &kernel);
}

/// The last round holds no more than the first half's largest.
fn no_growth(session: &mut Session<'_>, side: &str, held: &[u64]) {
    let (first, second) = held.split_at(held.len().div_ceil(2));
    let before = first.iter().copied().max().unwrap_or_default();
    let after = second.last().copied().unwrap_or(before);
    let least = held.iter().copied().min().unwrap_or_default();
    session.figure(
        format!("{side} memory over the rounds"),
        format_args!("{least} bytes at least, {before} at most in the first half, {after} at last"),
    );
    session.check(
        format!("the {side}'s memory does not grow with time"),
        held.len() > 1 && before > 0 && after <= before,
        format_args!("{before} bytes at most at first, {after} at last"),
    );
}
