//! Case 4: a protected lane serves its own few routes; everything else is a small typed
//! denial, counted, and no handler is entered.

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::http;
use crate::lane::Lane;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire;

pub(crate) const CASE: Case = Case {
    name: "route-scope",
    title: "login, assets, manual, ACME, recovery and wrong methods are denied on protected lanes",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: wire::ANY,
    run,
    controls: &[Control {
        name: "swapped-listeners",
        breaks: "the provider's port leads to the public lane, which serves more",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "swapped-listeners",
        },
        must_fail: "is a typed denial",
    }],
};

/// A denial's head and body together may not be larger than this.
const DENIAL_BYTES_MAX: usize = 512;

/// Routes of the public lane and of no protected one, those of later stages among them.
const FOREIGN: &[(&str, &str)] = &[
    ("GET", "/"),
    ("GET", "/index.html"),
    ("GET", "/app.js"),
    ("GET", "/style.css"),
    ("GET", "/api/ingress"),
    ("POST", "/login"),
    ("GET", "/login"),
    ("POST", "/api/login"),
    ("POST", "/api/session"),
    ("GET", "/manual"),
    ("GET", "/manual/boot"),
    ("GET", "/.well-known/acme-challenge/token"),
    ("GET", "/assets/large.bin"),
    ("POST", "/upload"),
    ("GET", "/api/login?next=/healthz"),
];

/// Denied on the provider lane besides: the local lane's routes, and wrong methods.
const PROVIDER_ONLY: &[(&str, &str)] = &[
    ("GET", "/api/status"),
    ("GET", "/readyz"),
    ("POST", "/drain"),
    ("POST", "/recovery"),
    ("POST", "/setup"),
    ("POST", "/healthz"),
    ("PUT", "/healthz"),
    ("DELETE", "/healthz"),
    ("OPTIONS", "/healthz"),
    ("GET", "/healthz/"),
    ("GET", "/healthz/deep"),
];

/// Denied on the local lane besides: wrong methods on its own routes.
const LOCAL_ONLY: &[(&str, &str)] = &[
    ("POST", "/readyz"),
    ("POST", "/api/status"),
    ("DELETE", "/api/status"),
    ("GET", "/drain"),
    ("PUT", "/drain"),
];

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?;
    trial
        .session
        .step("foreign routes and methods on the provider lane");
    let provider: Vec<_> = FOREIGN.iter().chain(PROVIDER_ONLY).collect();
    for (method, target) in &provider {
        on_provider(&mut trial, method, target)?;
    }
    trial
        .session
        .step("foreign routes and methods on the local lane");
    let local: Vec<_> = FOREIGN.iter().chain(LOCAL_ONLY).collect();
    for (method, target) in &local {
        on_local(&mut trial, method, target)?;
    }
    let evidence = trial.settle()?;
    for (lane, sent) in [
        (Lane::ProviderHealth, provider.len()),
        (Lane::LocalHealth, local.len()),
    ] {
        session.check_equal(
            format!("{}: every denial is counted", lane.key()),
            evidence.lane("route_denied", lane)?,
            sent as u64,
        );
        session.check_equal(
            format!(
                "{}: no request was admitted, so no handler was entered",
                lane.key()
            ),
            evidence.lane("admitted", lane)?,
            0,
        );
    }
    Ok(())
}

/// Whether a status is one that a denial may have.
fn denies(status: u16) -> bool {
    matches!(status, 403..=405)
}

fn on_provider(trial: &mut Trial<'_, '_>, method: &str, target: &str) -> Result<(), Failure> {
    let bodiless = matches!(method, "GET" | "HEAD" | "OPTIONS" | "DELETE");
    let length = if bodiless {
        "Accept: */*"
    } else {
        "Content-Length: 0"
    };
    let bytes = http::request(method, target, &[length, "Connection: close"]);
    let tally = trial.clients.lane(Lane::ProviderHealth);
    let answer = http::counted(tally, trial.guest.provider()?, &bytes);
    let held = answer.as_ref().is_ok_and(|one| {
        denies(one.status)
            && one.header("content-type") == Some("application/problem+json")
            && one.json().is_some_and(|body| body.get("code").is_some())
            && one.body.len() <= DENIAL_BYTES_MAX
    });
    trial.session.check(
        format!("provider {method} {target} is a typed denial"),
        held,
        answer.map_or_else(
            |ending| ending.to_string(),
            |one| format!("status {}, {}", one.status, one.text()),
        ),
    );
    Ok(())
}

fn on_local(trial: &mut Trial<'_, '_>, method: &str, target: &str) -> Result<(), Failure> {
    let verb = method.to_ascii_lowercase();
    let reply = trial.ask(Lane::LocalHealth, &format!("{verb} local {target}"))?;
    // The body is percent-encoded in the reply.
    let typed = reply.text("body").is_some_and(|body| body.contains("code"));
    let held = typed
        && reply.count("body_size") <= DENIAL_BYTES_MAX as u64
        && denies(u16::try_from(reply.count("status")).unwrap_or_default());
    trial.session.check(
        format!("local {method} {target} is a typed denial"),
        held,
        &reply.line,
    );
    Ok(())
}
