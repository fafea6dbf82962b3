//! Case `wrk`: the usual load generator, with keep-alive and with a connection for each
//! request, is served without an error.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::lane::Lane;
use crate::session::{Sabotage, Session};
use crate::tool::wrk::{self, Report};
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "wrk",
    title: "wrk over 64 connections is served without an error",
    suite: Suite::Matrix,
    need: Need::Programs(&["wrk"]),
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "tight",
        breaks: "the public lane holds fewer connections than wrk opens",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "three-lanes-tight",
        },
        must_fail: "keep-alive on /healthz: every answer is a success",
    }],
};

const CONNECTIONS: usize = 64;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?.at_most();
    let close: &[&str] = &["Connection: close"];
    let loads: [(&str, &str, u64, &[&str]); 4] = [
        ("keep-alive on /healthz", "/healthz", 30, &[]),
        ("keep-alive on /app.js", "/app.js", 5, &[]),
        ("keep-alive on /api/ingress", "/api/ingress", 5, &[]),
        (
            "a connection per request on /healthz",
            "/healthz",
            10,
            close,
        ),
    ];
    for (name, target, seconds, headers) in loads {
        trial.session.step(format!("{name}, {seconds} s"));
        let time = Duration::from_secs(seconds);
        let report = wrk::load(trial.guest.public()?, target, CONNECTIONS, time, headers)?;
        let served = report.requests.saturating_sub(report.unsuccessful);
        trial.clients.lane(Lane::Anonymous).status(200, served);
        judge(trial.session, name, &report);
    }
    trial.settle().map(drop)
}

fn judge(session: &mut Session<'_>, name: &str, report: &Report) {
    session.figure(name, format_args!("{:.0} requests/s", report.rate));
    session.check(
        format!("{name}: every answer is a success"),
        report.requests > 0 && report.unsuccessful == 0,
        format_args!("{report:?}"),
    );
    session.check_equal(format!("{name}: no connection fails"), report.errors(), 0);
}
