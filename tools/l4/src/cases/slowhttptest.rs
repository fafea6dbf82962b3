//! Case `slowhttptest`: the tool that others test servers with, in each of its slow modes,
//! against the public lane. Its own report lies beside the console's log.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::lane::Lane;
use crate::load::sampler::Sampler;
use crate::load::watch::{count, watch};
use crate::record::Chart;
use crate::session::{ClientCounts, Sabotage, Session};
use crate::tool::slowhttptest::{self, Mode, Report};
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

/// As many as leave room for the tool's own probe: what happens past the limit is
/// `slow-clients`' matter.
const CONNECTIONS: usize = 900;
/// The tool opens its connections one after the other, and a busy host delays the last ones.
const HALF: u64 = CONNECTIONS as u64 / 2;
/// Long enough for the tool to find out that its own probe is not answered, and for slow
/// heads to run into their deadline.
const TIME: Duration = Duration::from_secs(20);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut guest = session.boot("three-lanes")?;
    let mut clients = ClientCounts::at_most();
    let sampler = Sampler::start(guest.public());
    let mut lines = Vec::new();
    for mode in Mode::ALL {
        lines.push(attack(session, &mut guest, &mut clients, mode)?);
    }
    session.chart(Chart {
        title: "provider probe under slowhttptest".into(),
        unit: "ms".into(),
        lines,
    });
    sampler.record(session, &mut clients);
    let evidence = session.settle(guest, &clients)?;
    // The tool looks once a second, the service counts.
    for (claim, counter) in [
        ("slow heads run into their deadline", "timed_out"),
        ("no public route takes a body", "route_denied"),
    ] {
        let count = evidence.lane(counter, Lane::Anonymous)?;
        session.check(
            claim,
            count >= HALF,
            format_args!("{count} of {CONNECTIONS}"),
        );
    }
    Ok(())
}

fn attack(
    session: &mut Session<'_>,
    guest: &mut Guest,
    clients: &mut ClientCounts,
    mode: Mode,
) -> Result<(String, Vec<(f64, f64)>), Failure> {
    let name = mode.name();
    session.step(format!("{CONNECTIONS} connections, {name}"));
    let mut report = Ok(Report::default());
    let folder = session.folder().to_owned();
    let watched = watch(guest, TIME, |guest| {
        report = slowhttptest::attack(guest.public(), "/app.js", mode, CONNECTIONS, TIME, &folder);
    })?;
    let report = report?;
    count(clients, &watched);
    watched.judge(session, name);
    session.check_equal(
        format!("{name}: seconds in which slowhttptest finds the public lane unavailable"),
        report.unavailable,
        0,
    );
    if mode == Mode::Read {
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
    Ok((name.to_owned(), watched.outside.line()))
}
