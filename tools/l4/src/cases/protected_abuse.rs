//! Case 3: each protected lane is bounded too. A flood on one reaches its own typed
//! overloads and counters only; the other lanes keep what is theirs.

use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::evidence::Evidence;
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, Ending, Response, Tally, Wire};
use crate::lane::Lane;
use crate::load::flood::{Flood, Reuse};
use crate::load::sampler::Sampler;
use crate::load::slow::{SlowClients, Slowness};
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "protected-abuse",
    title: "a flood on a protected lane is bounded in rate, occupancy, bytes and time",
    suite: Suite::Matrix,
    need: Need::Nothing,
    run,
    controls: &[Control {
        name: "wide-rates",
        breaks: "the protected lanes' rates are so wide that no flood reaches them",
        sabotage: Sabotage::Manifest {
            of: "three-lanes-tight",
            instead: "wide-rates",
        },
        must_fail: "sustained rate: the provider lane answers 429",
    }],
};

/// In this time a lane's rate brings back far more than one request.
const REFILL: Duration = Duration::from_secs(1);
const FLOOD_TIME: Duration = Duration::from_secs(3);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut guest = session.boot("three-lanes-tight")?;
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    provider_rate(session, &mut guest, &mut clients)?;
    provider_occupancy(session, &mut guest, &mut clients)?;
    provider_pipeline(session, &guest, &mut clients);
    local_rate(session, &mut guest, &mut clients)?;
    local_occupancy(session, &mut guest, &mut clients)?;
    let bytes_max = guest.policy("total_bytes")?;
    let ceilings = [
        (
            Lane::ProviderHealth,
            guest.policy("provider_slots")?,
            guest.policy("provider_conns")?,
        ),
        (
            Lane::LocalHealth,
            guest.policy("local_slots")?,
            guest.policy("local_conns")?,
        ),
    ];
    let evidence = session.settle(guest, &clients)?;
    for (lane, slots, conns) in ceilings {
        bounded(session, &evidence, lane, slots, conns)?;
    }
    own_counters_only(session, &evidence)?;
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

/// Back-to-back requests over the budget, while the others are asked too.
fn provider_rate(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
) -> Result<(), Failure> {
    session.step("sustained rate on the provider lane");
    let request = http::keep("GET", "/healthz");
    let mut flood = Flood::of(guest.provider(), request, 2, usize::MAX);
    flood.reuse = Reuse::KeepAlive;
    flood.time_max = FLOOD_TIME;
    let public = Flood::of(guest.public(), http::once("GET", "/healthz"), 2, 40);
    let sampler = Sampler::start(guest.public());
    let (flooded, fair, local) = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| flood.run());
        std::thread::sleep(Duration::from_millis(500));
        let fair = public.run();
        let local = guest.ask(&mut Tally::default(), "get local /readyz");
        (flooding.join().unwrap_or_default(), fair, local)
    });
    sampler.record(session, clients);
    let local = local?;
    clients.lane(Lane::ProviderHealth).add(&flooded.tally);
    clients.lane(Lane::Anonymous).add(&fair.tally);
    clients.lane(Lane::LocalHealth).add(&local.tally());
    budget(session, guest, "provider", &flooded.tally, flooded.took)?;
    session.check(
        "reserved floor: the local lane answers during a provider flood",
        local.count("status_200") == 1,
        &local.line,
    );
    session.check_equal(
        "fair progress: every public request is served during a provider flood",
        fair.tally.of(200),
        80,
    );
    session.figure("public latency during a provider flood", &fair.latencies);
    Ok(())
}

/// Served requests stay within burst + rate x time; what is over gets 429.
fn budget(
    session: &mut Session<'_>,
    guest: &Guest,
    word: &str,
    tally: &Tally,
    took: Duration,
) -> Result<(), Failure> {
    let rate = guest.policy(&format!("{word}_rate"))?;
    let burst = guest.policy(&format!("{word}_burst"))?;
    let whole_seconds = took.as_secs() + 1;
    let served = tally.of(200);
    session.check(
        format!("sustained rate: the {word} lane answers 429 over its budget"),
        tally.of(429) > 0,
        format_args!("{:?}", tally.statuses),
    );
    session.check(
        format!("sustained rate: the {word} lane serves within burst + rate x time"),
        served > 0 && served <= burst + rate * whole_seconds,
        format_args!("{served} served in {took:.2?}; {burst} + {rate} x {whole_seconds}"),
    );
    session.figure(
        format!("{word} flood"),
        format_args!(
            "{served} served, {} refused 429 in {took:.2?}",
            tally.of(429)
        ),
    );
    Ok(())
}

/// More connections than the lane may hold, none of which finishes its head.
fn provider_occupancy(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
) -> Result<(), Failure> {
    session.step("occupancy and deadline of the provider lane");
    let pace = Duration::from_millis(100);
    let holders = SlowClients::start(guest.provider(), Slowness::Head, 40, pace);
    std::thread::sleep(Duration::from_millis(1500));
    let public = Flood::of(guest.public(), http::once("GET", "/healthz"), 2, 10).run();
    clients.lane(Lane::Anonymous).add(&public.tally);
    session.check_equal(
        "occupancy: every public request is served while the provider lane is held",
        public.tally.of(200),
        20,
    );
    let local = guest.ask(clients.lane(Lane::LocalHealth), "get local /readyz")?;
    session.check(
        "reserved floor: the local lane answers while the provider lane is held",
        local.count("status_200") == 1,
        &local.line,
    );
    std::thread::sleep(Duration::from_millis(2500));
    let held = holders.finish();
    session.check(
        "deadline: the provider lane ends what does not finish its head",
        held.closed > 0,
        format_args!("{held:?}"),
    );
    session.figure(
        "held provider connections",
        format_args!(
            "{} opened, {} ended by the service",
            held.opened, held.closed
        ),
    );
    Ok(())
}

/// Many requests at once on one connection.
fn provider_pipeline(session: &mut Session<'_>, guest: &Guest, clients: &mut ClientCounts) {
    session.step("many requests at once on one provider connection");
    std::thread::sleep(Duration::from_secs(1));
    let request = http::keep("GET", "/healthz");
    let bytes = request.repeat(24);
    let mut answered = Tally::default();
    let sent = Wire::connect(guest.provider(), Duration::from_secs(5)).and_then(|mut wire| {
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
    clients.lane(Lane::ProviderHealth).add(&answered);
    let typed = answered
        .statuses
        .keys()
        .all(|status| matches!(status, 200 | 429 | 503));
    session.check(
        "per connection: pipelined requests get 200 or a typed overload",
        answered.responses() > 0 && typed,
        format_args!("{:?}, {sent:?}", answered.statuses),
    );
}

fn local_rate(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
) -> Result<(), Failure> {
    session.step("sustained rate on the local lane");
    let begun = Instant::now();
    let reply = guest.ask(
        clients.lane(Lane::LocalHealth),
        "flood local /readyz count=300 conns=2",
    )?;
    let took = begun.elapsed();
    budget(session, guest, "local", &reply.tally(), took)?;
    let answer = provider_answers(guest, clients.lane(Lane::ProviderHealth));
    session.check(
        "reserved floor: the provider lane answers after a local flood",
        answer.as_ref().is_ok_and(|one| one.status == 200),
        answer.map_or_else(
            |end| end.to_string(),
            |one| format!("status {}", one.status),
        ),
    );
    Ok(())
}

/// More connections than the lane may hold, from inside, none of which finishes its head.
fn local_occupancy(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
) -> Result<(), Failure> {
    session.step("occupancy and deadline of the local lane");
    let limit = guest.policy("local_conns")?;
    let head = Duration::from_millis(guest.policy("local_head_ms")?);
    let begun = "hold local count=40 send=GET%20/readyz%20HTTP/1.1%0d%0aHost:";
    let held = guest.probe()?.command(begun, Duration::from_secs(10))?;
    let refused = guest.ask(clients.lane(Lane::LocalHealth), "get local /readyz")?;
    let told = refused.text("body").unwrap_or_default();
    session.check(
        "occupancy: a local connection past the ceiling is refused, typed or unanswered",
        refused.tally().of(200) == 0
            && (told.contains("connections") || refused.tally().unanswered() == 1),
        format_args!("{}; {}", held.line, refused.line),
    );
    let public = Flood::of(guest.public(), http::once("GET", "/healthz"), 2, 10).run();
    clients.lane(Lane::Anonymous).add(&public.tally);
    session.check_equal(
        "fair progress: every public request is served while the local lane is held",
        public.tally.of(200),
        20,
    );
    let answer = provider_answers(guest, clients.lane(Lane::ProviderHealth));
    session.check(
        "reserved floor: the provider lane answers while the local lane is held",
        answer.as_ref().is_ok_and(|one| one.status == 200),
        format_args!("{answer:?}"),
    );
    // The service's own clock judges; this only gives it the time.
    std::thread::sleep(head + Duration::from_millis(500));
    let ended = guest.probe()?.command("drop", Duration::from_secs(10))?;
    session.check(
        "deadline: the local lane ends what does not finish its head",
        ended.count("closed") >= limit,
        &ended.line,
    );
    let served = guest.ask(clients.lane(Lane::LocalHealth), "get local /readyz")?;
    session.check(
        "the local lane serves again once the held connections are ended",
        served.tally().of(200) == 1,
        &served.line,
    );
    Ok(())
}

/// The provider lane's answer, once what this case itself took of the lane's rate has come
/// back.
fn provider_answers(guest: &Guest, tally: &mut Tally) -> Result<Response, Ending> {
    let begun = Instant::now();
    let get = http::once("GET", "/healthz");
    loop {
        let answer = http::counted(tally, guest.provider(), &get, Duration::from_secs(5));
        let limited = answer.as_ref().is_ok_and(|one| one.status == 429);
        if !limited || begun.elapsed() > REFILL {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
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
    for (claim, counter) in [
        (
            "occupancy: connections past the ceiling are refused",
            "conns_refused",
        ),
        ("deadline: time-outs are counted", "timed_out"),
    ] {
        let count = evidence.lane(counter, lane)?;
        session.check(format!("{}: {claim}", lane.key()), count > 0, count);
    }
    let limited = evidence.lane("overload_rate_limited", lane)?;
    session.check(
        format!("sustained rate: {} counts what it refuses", lane.key()),
        limited > 0,
        limited,
    );
    Ok(())
}

/// Nobody's flood shows in the public lane's overloads.
fn own_counters_only(session: &mut Session<'_>, evidence: &Evidence) -> Result<(), Failure> {
    for kind in [
        "lane_pool_full",
        "rate_limited",
        "aggregate_full",
        "byte_budget_exhausted",
    ] {
        session.check_equal(
            format!("own counters only: anonymous has no {kind}"),
            evidence.lane(&format!("overload_{kind}"), Lane::Anonymous)?,
            0,
        );
    }
    session.check_equal(
        "own counters only: no public connection was refused",
        evidence.lane("conns_refused", Lane::Anonymous)?,
        0,
    );
    Ok(())
}

/// The loopback lane that is declared exempt: occupancy and deadline only.
fn exempt(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut guest = session.boot("three-lanes-exempt")?;
    session.step("a local lane that is exempt from its rate");
    let mut clients = ClientCounts::default();
    let reply = guest.ask(
        clients.lane(Lane::LocalHealth),
        "flood local /readyz count=400 conns=2",
    )?;
    session.check_equal(
        "exempt: every request of a local flood is served",
        reply.count("status_200"),
        400,
    );
    let slots = guest.policy("local_slots")?;
    let evidence = session.settle(guest, &clients)?;
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
