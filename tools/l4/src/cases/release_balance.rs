//! Case 7: whatever clients do, every token is given back exactly once. Mixed load on all
//! lanes, with aborts, resets, half-closes, slow readers and time-outs, past 10,000 requests.

use std::net::SocketAddr;
use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::http::{self, PATIENCE, Tally, Wire};
use crate::lane::Lane;
use crate::load::flood::{Flood, Reuse};
use crate::load::slow::SlowClients;
use crate::load::storm;
use crate::random::Random;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "release-balance",
    title: "after 10,000 mixed requests every token is given back exactly once",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "leak-on-cancel",
        breaks: "the service forgets the reservation of a connection that fails",
        sabotage: Sabotage::Service("broken-leak-on-cancel"),
        must_fail: "completed + cancelled == admitted",
    }],
};

const REQUESTS: u64 = 10_000;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?.at_most();
    trial
        .session
        .step("slow heads, bodies and readers stay throughout");
    let pace = Duration::from_millis(100);
    let slow = SlowClients::start_all(trial.guest.public()?, 24, pace);
    let rate = mixed(&mut trial)?;
    trial
        .session
        .figure("keep-alive requests a second", format_args!("{rate:.0}"));
    for slow in slow {
        slow.finish();
    }
    let evidence = trial.settle()?;
    let mut admitted = 0;
    for lane in Lane::ALL {
        let of_lane = evidence.lane("admitted", lane)?;
        session.check(format!("{} was fed", lane.key()), of_lane > 0, of_lane);
        session.check_equal(
            format!("{}: every permit is given back", lane.key()),
            evidence.lane("conns_released", lane)?,
            evidence.lane("conns_admitted", lane)?,
        );
        admitted += of_lane;
    }
    let cancelled = evidence.lane("cancelled", Lane::Anonymous)?;
    session.check("some requests were cancelled", cancelled > 0, cancelled);
    session.check(
        "the case went past 10,000 requests",
        admitted >= REQUESTS,
        format_args!("{admitted}"),
    );
    session.figure("requests admitted", admitted);
    session.figure("requests cancelled", cancelled);
    Ok(())
}

/// The mixed load; tells how many keep-alive requests a second were served.
pub(crate) fn mixed(trial: &mut Trial<'_, '_>) -> Result<f64, Failure> {
    let (public, provider) = (trial.guest.public()?, trial.guest.provider()?);
    trial.session.step("keep-alive requests");
    let mut keep = Flood::of(public, http::keep("GET", "/healthz"), 16, 600);
    keep.reuse = Reuse::KeepAlive;
    let kept = keep.run();
    trial.count(Lane::Anonymous, &kept.tally);
    let rate = kept.latencies.len() as f64 / kept.took.as_secs_f64();
    trial
        .session
        .step("a connection for each request, pages and denials too");
    for target in ["/", "/healthz", "/api/ingress", "/nothing"] {
        let once = Flood::of(public, http::once("GET", target), 8, 40).run();
        trial.count(Lane::Anonymous, &once.tally);
    }
    trial
        .session
        .step("half-closed, abandoned and reset connections");
    half_closed(public, trial.clients.lane(Lane::Anonymous));
    abandoned(public);
    storm::resets(public, 1_000, PATIENCE);
    storm::noise(public, 60, &mut Random::new(7));
    storm::resets(provider, 100, PATIENCE);
    trial.session.step("the protected lanes, past their rates");
    trial.ask(
        Lane::LocalHealth,
        "flood local /api/status count=300 conns=4",
    )?;
    trial.ask(
        Lane::ProviderHealth,
        "flood provider /healthz count=300 conns=4",
    )?;
    Ok(rate)
}

/// Requests whose sender closes its half at once: they are still owed an answer.
fn half_closed(public: SocketAddr, tally: &mut Tally) {
    let request = http::once("GET", "/");
    for _ in 0..60 {
        let outcome = Wire::connect(public).and_then(|mut wire| {
            wire.send(&request)?;
            wire.finish_sending();
            wire.response(&request)
        });
        tally.count(&outcome);
    }
}

/// Pages that are asked for many times over and left unread.
fn abandoned(public: SocketAddr) {
    let request = http::keep("GET", "/").repeat(40);
    for _ in 0..60 {
        if let Ok(mut wire) = Wire::connect(public) {
            // The connection may be closed under the requests; either way it is left.
            drop(wire.send(&request));
        }
    }
}
