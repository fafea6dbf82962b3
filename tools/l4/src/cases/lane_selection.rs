//! Case 1: a connection is charged to the lane of the listener that accepted it, and to no
//! other.

use crate::cases::{Case, Control, Need, Suite};
use crate::evidence::Evidence;
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http;
use crate::lane::Lane;
use crate::load::flood::Flood;
use crate::session::{ClientCounts, Sabotage, Session};
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
    let mut guest = session.boot("three-lanes")?;
    let mut clients = ClientCounts::default();
    session.step("one connection to each listener");
    let get = http::once("GET", "/healthz");

    let public = clients.lane(Lane::Anonymous);
    let answer = http::counted(public, guest.public(), &get);
    session.check(
        "public /healthz is answered 200",
        is_200(&answer),
        http::told(&answer),
    );
    fed(
        session,
        &mut guest,
        &clients,
        "a public connection",
        [1, 0, 0],
    )?;

    let provider = clients.lane(Lane::ProviderHealth);
    let answer = http::counted(provider, guest.provider(), &get);
    session.check(
        "provider /healthz is answered 200",
        is_200(&answer),
        http::told(&answer),
    );
    fed(
        session,
        &mut guest,
        &clients,
        "a provider connection from outside",
        [1, 0, 1],
    )?;

    guest.ask(clients.lane(Lane::ProviderHealth), "get provider /healthz")?;
    fed(
        session,
        &mut guest,
        &clients,
        "a provider connection from inside",
        [1, 0, 2],
    )?;

    guest.ask(clients.lane(Lane::LocalHealth), "get local /api/status")?;
    fed(
        session,
        &mut guest,
        &clients,
        "a local connection",
        [1, 1, 2],
    )?;

    many(session, &mut guest, &mut clients)?;
    session.figure("start to readiness", ready(&guest));
    session.settle(guest, &clients).map(drop)
}

fn many(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
) -> Result<(), Failure> {
    session.step("many connections to each listener");
    let get = http::once("GET", "/healthz");
    let many = Flood::of(guest.public(), get.clone(), 16, 8).run();
    clients.lane(Lane::Anonymous).add(&many.tally);
    let outside = Flood::of(guest.provider(), get, 4, 5).run();
    clients.lane(Lane::ProviderHealth).add(&outside.tally);
    guest.ask(
        clients.lane(Lane::ProviderHealth),
        "flood provider /healthz count=12 conns=4 keepalive=off",
    )?;
    guest.ask(
        clients.lane(Lane::LocalHealth),
        "flood local /api/status count=24 conns=4 keepalive=off",
    )?;
    fed(
        session,
        guest,
        clients,
        "many connections to every lane",
        [129, 25, 34],
    )?;
    let unanswered: u64 = clients.lanes.values().map(http::Tally::unanswered).sum();
    session.check_equal("every connection was answered", unanswered, 0);
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
fn fed(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &ClientCounts,
    what: &str,
    expected: [u64; 3],
) -> Result<(), Failure> {
    let evidence = guest.quiescent(session.patience(), |evidence| {
        Lane::ALL.iter().all(|lane| clients.agree(evidence, *lane))
    })?;
    let names = match what {
        "a public connection" => "anonymous alone",
        "a local connection" => "local_health alone",
        "many connections to every lane" => "the lanes they came in on",
        _ => "provider_health alone",
    };
    let got = charged(&evidence)?;
    let held = got == [expected, expected];
    session.check(
        format!("{what} is charged to {names}"),
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
