//! Case 3: each protected lane is bounded too. A flood on one reaches its own typed
//! overloads and counters only; the other lanes keep what is theirs.

use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::evidence::Evidence;
use crate::failure::Failure;
use crate::http::{self, Answer, PATIENCE, Tally, Wire};
use crate::lane::Lane;
use crate::load::account::Account;
use crate::load::flood::{Flood, Reuse};
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "protected-abuse",
    title: "a flood on a protected lane is bounded in rate, occupancy, bytes and time",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "wide-rates",
        breaks: "the protected lanes' rates are so wide that no burst reaches them",
        sabotage: Sabotage::Manifest {
            of: "three-lanes-tight",
            instead: "wide-rates",
        },
        must_fail: "per connection: of 24 requests at once, the first past the rate is refused",
    }],
};

/// How long the flood goes on at least, so that the rate is seen beside the burst.
const FLOOD_TIME: Duration = Duration::from_secs(3);
/// Every counter of a refusal.
const REFUSALS: [&str; 8] = [
    "overload_rate_limited",
    "overload_per_connection_limit",
    "overload_lane_pool_full",
    "overload_aggregate_full",
    "overload_byte_budget_exhausted",
    "overload_deadline_exceeded",
    "overload_clock_lost",
    "conns_refused",
];
/// Connections that a holder tries to keep: more than any protected lane may have.
const HOLDERS: usize = 40;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes-tight")?.at_most();
    provider_pipeline(&mut trial)?;
    provider_rate(&mut trial)?;
    provider_occupancy(&mut trial)?;
    let between = trial.at_rest()?;
    for (counter, count) in refused(&between, Lane::LocalHealth)? {
        trial.session.check_equal(
            format!("own counters only: a provider flood leaves local_health's {counter}"),
            count,
            0,
        );
    }
    local_rate(&mut trial)?;
    local_occupancy(&mut trial)?;
    let bytes_max = trial.guest.policy("total_bytes")?;
    let ceilings = [
        (
            Lane::ProviderHealth,
            trial.guest.policy("provider_slots")?,
            trial.guest.policy("provider_conns")?,
        ),
        (
            Lane::LocalHealth,
            trial.guest.policy("local_slots")?,
            trial.guest.policy("local_conns")?,
        ),
    ];
    let evidence = trial.settle()?;
    for (lane, slots, conns) in ceilings {
        bounded(session, &evidence, lane, slots, conns)?;
    }
    let before = refused(&between, Lane::ProviderHealth)?;
    let after = refused(&evidence, Lane::ProviderHealth)?;
    for ((counter, before), (_, after)) in before.into_iter().zip(after) {
        session.check_equal(
            format!("own counters only: a local flood leaves provider_health's {counter}"),
            after,
            before,
        );
    }
    for (counter, count) in refused(&evidence, Lane::Anonymous)? {
        session.check_equal(
            format!("own counters only: no flood adds to anonymous' {counter}"),
            count,
            0,
        );
    }
    let bytes = evidence.count("bytes_high_water")?;
    session.check(
        "in-flight bytes: never more than the budget",
        bytes <= bytes_max,
        format_args!("{bytes} of {bytes_max}"),
    );
    session.check_equal(
        "in-flight bytes: none left",
        evidence.count("bytes_in_flight")?,
        0,
    );
    exempt(session)
}

/// What a lane has refused, by its counters.
fn refused(evidence: &Evidence, lane: Lane) -> Result<Vec<(&'static str, u64)>, Failure> {
    REFUSALS
        .iter()
        .map(|counter| Ok((*counter, evidence.lane(counter, lane)?)))
        .collect()
}

/// Back-to-back requests over the budget, until the others have been served beside them.
fn provider_rate(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial.session.step("sustained rate on the provider lane");
    let request = http::keep("GET", "/healthz");
    let mut flood = Flood::of(trial.guest.provider()?, request.clone(), 2, usize::MAX);
    flood.reuse = Reuse::KeepAlive;
    let public = Flood::of(trial.guest.public()?, http::once("GET", "/healthz"), 2, 40);
    let sampler = Sampler::start(trial.guest.public()?);
    let begun = Instant::now();
    let mut seen = Tally::default();
    let flooding = flood.start();
    // From here on the lane's rate is spent; what it has served is judged below.
    drop(http::ask_until(
        &mut seen,
        trial.guest.provider()?,
        &request,
        |status| status == 429,
    ));
    let fair = public.run();
    let local = trial.ask(Lane::LocalHealth, "get local /readyz")?;
    std::thread::sleep(FLOOD_TIME.saturating_sub(begun.elapsed()));
    seen.add(&flooding.finish().tally);
    let took = begun.elapsed();
    sampler.record(trial);
    trial.count(Lane::ProviderHealth, &seen);
    trial.count(Lane::Anonymous, &fair.tally);
    budget(trial, Lane::ProviderHealth, &seen, took)?;
    trial.session.check(
        "reserved floor: the local lane answers during a provider flood",
        local.count("status_200") == 1,
        &local.line,
    );
    trial.session.check_equal(
        "fair progress: every public request is served during a provider flood",
        fair.tally.of(200),
        80,
    );
    trial
        .session
        .figure("public latency during a provider flood", &fair.latencies);
    Ok(())
}

/// Served requests stay within burst + rate x time; what is over gets 429.
fn budget(
    trial: &mut Trial<'_, '_>,
    lane: Lane,
    tally: &Tally,
    took: Duration,
) -> Result<(), Failure> {
    let word = lane.target();
    let rate = trial.guest.policy(&format!("{word}_rate"))?;
    let burst = trial.guest.policy(&format!("{word}_burst"))?;
    let whole_seconds = took.as_secs() + 1;
    let served = tally.of(200);
    trial.session.check(
        format!("sustained rate: the {word} lane answers 429 over its budget"),
        tally.of(429) > 0,
        format_args!("{:?}", tally.statuses),
    );
    trial.session.check(
        format!("sustained rate: the {word} lane serves within burst + rate x time"),
        served > 0 && served <= burst + rate * whole_seconds,
        format_args!("{served} served in {took:.2?}; {burst} + {rate} x {whole_seconds}"),
    );
    trial.session.figure(
        format!("{word} flood"),
        format_args!(
            "{served} served, {} refused 429 in {took:.2?}",
            tally.of(429)
        ),
    );
    Ok(())
}

/// More connections than the lane may hold, none of which finishes its head: first until the
/// lane is full and refuses, then until it has ended some and taken others in their place.
fn provider_occupancy(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial
        .session
        .step("occupancy and deadline of the provider lane");
    let lane = Lane::ProviderHealth;
    let limit = trial.guest.policy("provider_conns")?;
    let mut account = Account::of(trial.guest.public()?);
    let before = account.await_free(lane);
    let pace = Duration::from_millis(100);
    let holders = SlowClients::start(trial.guest.provider()?, Slowness::Head, HOLDERS, pace);
    let full = account.until(|lanes| {
        lanes.of(lane, "conns") == Some(limit) && lanes.of(lane, "conns_refused") > Some(0)
    });
    trial.session.check(
        "occupancy: the provider lane is held in full, and refuses",
        full,
        format_args!("within {SLOW_HOST:?}"),
    );
    let public = Flood::of(trial.guest.public()?, http::once("GET", "/healthz"), 2, 10).run();
    trial.count(Lane::Anonymous, &public.tally);
    trial.session.check_equal(
        "occupancy: every public request is served while the provider lane is held",
        public.tally.of(200),
        20,
    );
    let local = trial.ask(Lane::LocalHealth, "get local /readyz")?;
    trial.session.check(
        "reserved floor: the local lane answers while the provider lane is held",
        local.count("status_200") == 1,
        &local.line,
    );
    // Holders let go of nothing, so whoever is admitted now comes in the place of one that
    // the service has ended.
    let ended = before.is_some_and(|before| {
        account.until(|lanes| lanes.of(lane, "conns_admitted") > Some(before + limit))
    });
    trial.session.check(
        "deadline: the provider lane ends what does not finish its head",
        ended,
        format_args!("within {SLOW_HOST:?}"),
    );
    let held = holders.finish();
    trial.session.figure(
        "held provider connections",
        format_args!(
            "{} opened, {} ended by the service",
            held.opened, held.closed
        ),
    );
    trial.count(Lane::Anonymous, &account.tally);
    Ok(())
}

/// Many requests at once on the first connection of all: what is in flight is that
/// connection's alone.
fn provider_pipeline(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial
        .session
        .step("many requests at once on one provider connection");
    let limit = trial.guest.policy("provider_per_conn")?;
    let request = http::keep("GET", "/healthz");
    let bytes = request.repeat(24);
    let mut answered = Tally::default();
    let sent = Wire::connect(trial.guest.provider()?).and_then(|mut wire| {
        wire.send(&bytes)?;
        for _ in 0..24 {
            let response = wire.response(&request)?;
            let closes = response.closes();
            answered.count(&Ok(response));
            if closes {
                break;
            }
        }
        Ok(())
    });
    trial.count(Lane::ProviderHealth, &answered);
    trial.session.check_equal(
        "per connection: of 24 requests at once, the first past the rate is refused, and the last",
        answered.of(429),
        1,
    );
    let evidence = trial.at_rest()?;
    trial.session.check_equal(
        "per connection: the provider lane has no more than that in flight",
        in_flight_most(&evidence, Lane::ProviderHealth)?,
        limit,
    );
    trial.session.figure(
        "24 requests at once on one provider connection",
        format_args!("{:?}, {sent:?}", answered.statuses),
    );
    Ok(())
}

/// The most requests that a lane had admitted at one time, or more.
fn in_flight_most(evidence: &Evidence, lane: Lane) -> Result<u64, Failure> {
    Ok(evidence.lane("high_water", lane)? + evidence.lane("waiting_high_water", lane)?)
}

fn local_rate(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial.session.step("sustained rate on the local lane");
    let begun = Instant::now();
    let reply = trial.ask(Lane::LocalHealth, "flood local /readyz count=300 conns=2")?;
    let took = begun.elapsed();
    budget(trial, Lane::LocalHealth, &reply.tally(), took)?;
    let answer = provider_answers(trial)?;
    trial.session.check(
        "reserved floor: the provider lane answers after a local flood",
        answer.as_ref().is_ok_and(|one| one.status == 200),
        http::told(&answer),
    );
    Ok(())
}

/// More connections than the lane may hold, from inside, none of which finishes its head.
fn local_occupancy(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial
        .session
        .step("occupancy and deadline of the local lane");
    let (refused, line) = local_held(trial)?;
    trial.session.check(
        "occupancy: a local connection past the ceiling is refused",
        refused,
        line,
    );
    let public = Flood::of(trial.guest.public()?, http::once("GET", "/healthz"), 2, 10).run();
    trial.count(Lane::Anonymous, &public.tally);
    trial.session.check_equal(
        "fair progress: every public request is served while the local lane is held",
        public.tally.of(200),
        20,
    );
    let answer = provider_answers(trial)?;
    trial.session.check(
        "reserved floor: the provider lane answers while the local lane is held",
        answer.as_ref().is_ok_and(|one| one.status == 200),
        http::told(&answer),
    );
    // The in-guest client lets go of nothing, so it is the service that has.
    let mut account = Account::of(trial.guest.public()?);
    let free = account.await_free(Lane::LocalHealth);
    trial.count(Lane::Anonymous, &account.tally);
    let ended = trial.guest.tell("drop")?;
    trial.session.check(
        "deadline: the local lane ends what does not finish its head",
        free.is_some() && ended.count("open") == 0,
        &ended.line,
    );
    let served = trial.ask(Lane::LocalHealth, "get local /readyz")?;
    trial.session.check(
        "the local lane serves again once the held connections are ended",
        served.tally().of(200) == 1,
        &served.line,
    );
    Ok(())
}

/// Holds the local lane in full and asks it; tells whether and how it refused. Where the host
/// is so slow that the held connections' time was over before it was asked, once more.
fn local_held(trial: &mut Trial<'_, '_>) -> Result<(bool, String), Failure> {
    let begun = Instant::now();
    loop {
        trial.guest.tell(&format!(
            "hold local count={HOLDERS} send=GET%20/readyz%20HTTP/1.1%0d%0aHost:"
        ))?;
        let reply = trial.ask(Lane::LocalHealth, "get local /readyz")?;
        let told = reply.text("body").unwrap_or_default();
        let refused = told.contains("lane_at_capacity");
        if refused || begun.elapsed() > PATIENCE {
            return Ok((refused, reply.line));
        }
        trial.guest.tell("drop")?;
    }
}

/// The provider lane's answer, once what this case itself took of the lane's rate has come
/// back.
fn provider_answers(trial: &mut Trial<'_, '_>) -> Result<Answer, Failure> {
    let get = http::once("GET", "/healthz");
    let (address, tally) = (
        trial.guest.provider()?,
        trial.clients.lane(Lane::ProviderHealth),
    );
    Ok(http::ask_until(tally, address, &get, |status| {
        status != 429
    }))
}

fn bounded(
    session: &mut Session<'_>,
    evidence: &Evidence,
    lane: Lane,
    slots: u64,
    conns: u64,
) -> Result<(), Failure> {
    for (counter, ceiling) in [("high_water", slots), ("conns_high_water", conns)] {
        let high = evidence.lane(counter, lane)?;
        session.check(
            format!(
                "occupancy: {} {counter} stays within its ceiling",
                lane.key()
            ),
            high <= ceiling,
            format_args!("{high} of {ceiling}"),
        );
    }
    let refused = evidence.lane("conns_refused", lane)?;
    session.check(
        format!(
            "{}: occupancy: connections past the ceiling are refused",
            lane.key()
        ),
        refused > 0,
        refused,
    );
    // By its deadline, or earlier for others that wait.
    let ended = evidence.lane("timed_out", lane)? + evidence.lane("gave_way", lane)?;
    session.check(
        format!("{}: deadline: who is ended is counted", lane.key()),
        ended > 0,
        ended,
    );
    let limited = evidence.lane("overload_rate_limited", lane)?;
    session.check(
        format!("sustained rate: {} counts what it refuses", lane.key()),
        limited > 0,
        limited,
    );
    Ok(())
}

/// The loopback lane that is declared exempt: occupancy and deadline only.
fn exempt(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes-exempt")?;
    trial
        .session
        .step("a local lane that is exempt from its rate");
    let reply = trial.ask(Lane::LocalHealth, "flood local /readyz count=400 conns=2")?;
    trial.session.check_equal(
        "exempt: every request of a local flood is served",
        reply.count("status_200"),
        400,
    );
    let slots = trial.guest.policy("local_slots")?;
    let evidence = trial.settle()?;
    session.check_equal(
        "exempt: the evidence line says so",
        evidence.text("rate_local_health")?,
        "exempt",
    );
    let high = evidence.lane("high_water", Lane::LocalHealth)?;
    session.check(
        "exempt: occupancy still holds",
        high <= slots,
        format_args!("{high} of {slots}"),
    );
    Ok(())
}
