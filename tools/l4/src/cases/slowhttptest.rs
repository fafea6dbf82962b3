//! Case `slowhttptest`: the tool that others test servers with, in each of its slow modes,
//! against the public lane. Its own report lies beside the console's log.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::lane::Lane;
use crate::load::going::{Load, Site};
use crate::load::sampler::Sampler;
use crate::load::table::{self, Of, Row, TOOL_CONNECTIONS};
use crate::load::watch::watch;
use crate::session::{Sabotage, Session};
use crate::tool::slowhttptest::Mode;
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "slowhttptest",
    title: "slowhttptest finds the public lane serving and takes nothing from the provider's",
    suite: Suite::Attack,
    need: Need::Programs(&["slowhttptest"]),
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing, as if the slow clients had starved it",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered 200",
    }],
};

/// The tool opens its connections one after the other, and a busy host delays the last ones.
const HALF: u64 = TOOL_CONNECTIONS as u64 / 2;
/// Long enough for the tool to find out that its own probe is not answered, and for slow
/// heads to run into their deadline.
const TIME: Duration = Duration::from_secs(20);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?.at_most();
    let sampler = Sampler::start(trial.guest.public()?);
    let title = "provider probe under slowhttptest";
    table::each(&mut trial, Of::Slowhttptest, title, None, attack)?;
    sampler.record(&mut trial);
    let evidence = trial.settle()?;
    // The tool looks once a second, the service counts.
    for (claim, counter) in [
        ("slow heads run into their deadline", "timed_out"),
        ("no public route takes a body", "route_denied"),
    ] {
        let count = evidence.lane(counter, Lane::Anonymous)?;
        session.check(
            claim,
            count >= HALF,
            format_args!("{count} of {TOOL_CONNECTIONS}"),
        );
    }
    Ok(())
}

fn attack(trial: &mut Trial<'_, '_>, row: Row) -> Result<Vec<(f64, f64)>, Failure> {
    let name = row.name;
    let site = Site::of(trial)?;
    let (watched, carried) = watch(trial, TIME, |_| row.load.carry_on(&site, TIME))?;
    let (session, report) = (&mut *trial.session, carried.report);
    watched.judge(session, name);
    session.check_equal(
        format!("{name}: seconds in which slowhttptest finds the public lane unavailable"),
        report.unavailable,
        0,
    );
    if matches!(row.load, Load::Tool(Mode::Read, ..)) {
        session.check(
            format!("{name}: slow readers are held open"),
            report.connected_most >= HALF,
            format_args!("{report:?}"),
        );
    }
    session.figure(
        format!("{name}: slowhttptest's report"),
        format_args!(
            "{} connections at most, {} closed by the service, unavailable in {} of {} s",
            report.connected_most, report.closed, report.unavailable, report.seconds
        ),
    );
    session.figure(
        format!("{name}: provider probe"),
        watched.outside.latencies(),
    );
    Ok(watched.outside.line())
}
