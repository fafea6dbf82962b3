//! Case `balancer`: HAProxy before the guest, as a provider runs it. A saturated public lane
//! never makes it look dead; a drain takes it out without losing a request.

use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::http;
use crate::lane::Lane;
use crate::load::flood::{Flood, Flooded, Reuse};
use crate::load::sampler::Sampler;
use crate::session::{Sabotage, Session};
use crate::tool::haproxy::Haproxy;
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "balancer",
    title: "HAProxy never sees a saturated guest down, and a drain loses nothing",
    suite: Suite::Matrix,
    need: Need::Programs(&["haproxy"]),
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the guest has no provider lane for HAProxy's checks",
        sabotage: Sabotage::Manifest {
            of: "three-lanes-tight",
            instead: "no-provider",
        },
        must_fail: "the guest stays up",
    }],
};

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    saturated(session)?;
    drained(session)
}

/// Floods the public lane through HAProxy, with bounds so tight that it is saturated.
fn saturated(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes-tight")?.at_most();
    let haproxy = Haproxy::start(
        trial.session.folder(),
        trial.guest.public()?,
        trial.guest.provider()?,
    )?;
    let up = haproxy.await_state("UP");
    trial.session.check(
        "HAProxy finds the guest up",
        up.is_some(),
        format_args!("{up:?}"),
    );
    trial
        .session
        .step("a flood through HAProxy past the public bounds, 10 s");
    let sampler = Sampler::start(trial.guest.public()?);
    let mut flood = Flood::of(
        haproxy.address(),
        http::once("GET", "/app.js"),
        64,
        usize::MAX,
    );
    flood.time_max = Duration::from_secs(10);
    let (flooded, states) = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| flood.run());
        let mut states = Vec::new();
        while !flooding.is_finished() {
            states.extend(haproxy.state());
            std::thread::sleep(Duration::from_millis(50));
        }
        (flooding.join().unwrap_or_default(), states)
    });
    sampler.record(&mut trial);
    trial
        .clients
        .lane(Lane::Anonymous)
        .status(200, flooded.tally.of(200));
    // `UP 2/3` is one late check on a loaded host; only `DOWN` takes the guest out.
    let up = states
        .iter()
        .filter(|state| state.starts_with("UP"))
        .count();
    let wavered = states.iter().filter(|state| *state != "UP").count();
    trial.session.check(
        "the guest stays up while its public lane is saturated through HAProxy",
        !states.is_empty() && up == states.len(),
        format_args!("up in {up} of {} samples", states.len()),
    );
    trial.session.figure(
        "HAProxy's view while the public lane is saturated",
        format_args!(
            "up in {up} of {} samples, {wavered} with a check missed",
            states.len()
        ),
    );
    told(trial.session, &flooded);
    drop(haproxy);
    let evidence = trial.settle()?;
    session.check_equal(
        "no refusal goes unanswered",
        evidence.lane("refusals_unanswered", Lane::Anonymous)?,
        0,
    );
    session.check(
        "the public lane was saturated",
        evidence.lane("conns_refused", Lane::Anonymous)? > 0
            || evidence.lane("overload_lane_pool_full", Lane::Anonymous)? > 0,
        format_args!("{:?}", evidence.statuses(Lane::Anonymous)),
    );
    Ok(())
}

/// What HAProxy cannot tell from a broken server it answers 502 by itself.
fn told(session: &mut Session<'_>, flooded: &Flooded) {
    let refused = flooded.tally.of(429) + flooded.tally.of(503);
    let broken = flooded.tally.of(502) + flooded.tally.of(504);
    session.check(
        "every refusal through HAProxy is the guest's own",
        refused > 0 && broken == 0,
        format_args!("{:?}", flooded.tally.statuses),
    );
    session.figure(
        "answers through HAProxy by status",
        format_args!("{:?}", flooded.tally.statuses),
    );
}

/// Drains the guest under moderate load.
fn drained(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?.at_most();
    let haproxy = Haproxy::start(
        trial.session.folder(),
        trial.guest.public()?,
        trial.guest.provider()?,
    )?;
    let up = haproxy.await_state("UP");
    trial.session.check(
        "HAProxy finds the guest up before the drain",
        up.is_some(),
        format_args!("{up:?}"),
    );
    trial.session.step("drain under load");
    let request = http::keep("GET", "/app.js");
    let mut flood = Flood::of(haproxy.address(), request.clone(), 8, usize::MAX);
    flood.reuse = Reuse::KeepAlive;
    let flooding = flood.start();
    // One answer through HAProxy, beside the flood's.
    let local = trial.clients.lane(Lane::Anonymous);
    let served = http::ask_until(local, haproxy.address(), &request, |status| status == 200);
    trial.session.check(
        "HAProxy is serving when the drain begins",
        served.as_ref().is_ok_and(|one| one.status == 200),
        http::told(&served),
    );
    let took = drain(&mut trial, &haproxy)?;
    let flooded = flooding.finish();
    trial.session.check(
        "HAProxy takes the draining guest out",
        took.is_some(),
        format_args!("{took:?} after the drain began"),
    );
    if let Some(took) = took {
        trial
            .session
            .figure("drain to down at HAProxy", format_args!("{took:.2?}"));
    }
    nothing_lost(trial.session, &flooded);
    trial
        .clients
        .lane(Lane::Anonymous)
        .status(200, flooded.tally.of(200));
    drop(haproxy);
    // Whoever has been waited for has left; the grace may end.
    trial.guest.drain()?;
    trial.settle_drained().map(drop)
}

/// How long the drained guest is to take what HAProxy still sends: longer than HAProxy could
/// take to see it on any host.
const GRACE: Duration = Duration::from_secs(600);

/// Begins the drain; tells how long HAProxy took to see it.
fn drain(trial: &mut Trial<'_, '_>, haproxy: &Haproxy) -> Result<Option<Duration>, Failure> {
    let begun = Instant::now();
    let command = format!("post local /drain body=grace_ms={}", GRACE.as_millis());
    trial.ask(Lane::LocalHealth, &command)?;
    let provider = trial.clients.lane(Lane::ProviderHealth);
    let answer = http::counted(
        provider,
        trial.guest.provider()?,
        &http::once("GET", "/healthz"),
    );
    let seen = haproxy.await_state("DOWN");
    trial.session.check(
        "the provider's health is answered 503 in the drain",
        answer.as_ref().is_ok_and(|one| one.status == 503),
        http::told(&answer),
    );
    Ok(seen.map(|_| begun.elapsed()))
}

/// Once HAProxy has the guest out it answers 503 by itself, which is no loss; a bad gateway
/// or a broken connection is.
fn nothing_lost(session: &mut Session<'_>, flooded: &Flooded) {
    let tally = &flooded.tally;
    let lost = tally.of(502) + tally.of(504) + tally.unanswered();
    session.check(
        "no request is lost in the drain",
        tally.of(200) > 0 && lost == 0,
        format_args!("{:?}, {:?}", tally.statuses, tally.endings),
    );
}
