//! Case 1: a connection is charged to the lane of the listener that accepted it, and to no
//! other.

use crate::cases::{Case, Control, Need, Suite};
use crate::evidence::Evidence;
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http;
use crate::lane::Lane;
use crate::load::flood::Flood;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire::{Wire, Wires};

pub(crate) const CASE: Case = Case {
    name: "lane-selection",
    title: "each connection is charged to its own lane and to no other",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::All(&[Wire::Tap, Wire::User]),
    run,
    controls: &[Control {
        name: "swapped-listeners",
        breaks: "the public and the provider lane have each other's listeners",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "swapped-listeners",
        },
        must_fail: "a public connection is charged to anonymous alone",
    }],
};

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?;
    trial.session.step("one connection to each listener");
    let get = http::once("GET", "/healthz");

    let public = trial.clients.lane(Lane::Anonymous);
    let answer = http::counted(public, trial.guest.public()?, &get);
    trial.session.check(
        "public /healthz is answered 200",
        is_200(&answer),
        http::told(&answer),
    );
    fed(
        &mut trial,
        "a public connection is charged to anonymous alone",
        [1, 0, 0],
    )?;

    let provider = trial.clients.lane(Lane::ProviderHealth);
    let answer = http::counted(provider, trial.guest.provider()?, &get);
    trial.session.check(
        "provider /healthz is answered 200",
        is_200(&answer),
        http::told(&answer),
    );
    fed(
        &mut trial,
        "a provider connection from outside is charged to provider_health alone",
        [1, 0, 1],
    )?;

    trial.ask(Lane::ProviderHealth, "get provider /healthz")?;
    fed(
        &mut trial,
        "a provider connection from inside is charged to provider_health alone",
        [1, 0, 2],
    )?;

    trial.ask(Lane::LocalHealth, "get local /api/status")?;
    fed(
        &mut trial,
        "a local connection is charged to local_health alone",
        [1, 1, 2],
    )?;

    many(&mut trial)?;
    trial
        .session
        .figure("start to readiness", ready(&trial.guest));
    trial.settle().map(drop)
}

fn many(trial: &mut Trial<'_, '_>) -> Result<(), Failure> {
    trial.session.step("many connections to each listener");
    let get = http::once("GET", "/healthz");
    let many = Flood::of(trial.guest.public()?, get.clone(), 16, 8).run();
    trial.count(Lane::Anonymous, &many.tally);
    let outside = Flood::of(trial.guest.provider()?, get, 4, 5).run();
    trial.count(Lane::ProviderHealth, &outside.tally);
    trial.ask(
        Lane::ProviderHealth,
        "flood provider /healthz count=12 conns=4 keepalive=off",
    )?;
    trial.ask(
        Lane::LocalHealth,
        "flood local /api/status count=24 conns=4 keepalive=off",
    )?;
    fed(
        trial,
        "many connections to every lane are charged to the lanes they came in on",
        [129, 25, 34],
    )?;
    let unanswered: u64 = trial
        .clients
        .lanes
        .values()
        .map(http::Tally::unanswered)
        .sum();
    trial
        .session
        .check_equal("every connection was answered", unanswered, 0);
    Ok(())
}

fn is_200(answer: &Result<http::Response, http::Ending>) -> bool {
    matches!(answer, Ok(response) if response.status == 200)
}

fn ready(guest: &Guest) -> String {
    let seconds = guest.ready_seconds().unwrap_or_default();
    format!("{:.0} ms", seconds * 1e3)
}

/// Asserts how many connections each lane has been charged so far: anonymous, local,
/// provider.
fn fed(trial: &mut Trial<'_, '_>, claim: &str, expected: [u64; 3]) -> Result<(), Failure> {
    let clients = &trial.clients;
    let agrees = |evidence: &Evidence| Lane::ALL.iter().all(|lane| clients.agree(evidence, *lane));
    let evidence = trial.guest.quiescent(trial.session.patience(), agrees)?;
    let got = charged(&evidence)?;
    let held = got == [expected, expected];
    trial.session.check(
        claim,
        held,
        format_args!("connections and requests: expected {expected:?} each, got {got:?}"),
    );
    Ok(())
}

fn charged(evidence: &Evidence) -> Result<[[u64; 3]; 2], Failure> {
    let [anonymous, local, provider] = Lane::ALL;
    let of = |counter: &str| -> Result<[u64; 3], Failure> {
        Ok([
            evidence.lane(counter, anonymous)?,
            evidence.lane(counter, local)?,
            evidence.lane(counter, provider)?,
        ])
    };
    Ok([of("conns_admitted")?, of("admitted")?])
}
