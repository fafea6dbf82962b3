//! Case `lane-order`: time is a reserve, too. Beside each load on the public lane the
//! provider's probe is answered, without a gap, and the public lane serves; how long both take
//! beside an idle guest's stands in the report.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::http::Tally;
use crate::lane::Lane;
use crate::load::account::rest;
use crate::load::going::Site;
use crate::load::prober::{Probed, Prober};
use crate::load::quantiles::milliseconds;
use crate::load::table::{self, Of};
use crate::machine::share::Shares;
use crate::record::Side;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire::{Wire, Wires};

pub(crate) const CASE: Case = Case {
    name: "lane-order",
    title: "beside every load on the public lane the probe comes first, and the lane serves",
    suite: Suite::Attack,
    need: Need::Programs(&["wrk", "slowhttptest", "hping3"]),
    wires: Wires::All(&[Wire::Tap]),
    run,
    controls: &[Control {
        name: "swapped-listeners",
        breaks: "the public loads come in on the provider's listener",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "swapped-listeners",
        },
        must_fail: "public requests are answered 200, 95 of 100",
    }],
};

/// Ten probes and two public requests a second.
const PROBE_PACE: Duration = Duration::from_millis(100);
const PUBLIC_PACE: Duration = Duration::from_millis(500);
/// Public requests that may fail however few there are: those of the moment in which a load fills
/// the lane, before whoever fills it has had its time.
const UNLUCKY: usize = 2;
/// The longest time without an answer, in time that the host gave.
const GAP: Duration = Duration::from_millis(250);

/// What both saw beside a load.
struct Beside {
    probe: Probed,
    public: Probed,
    shares: Shares,
}

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?.at_most();
    let time = trial.session.load_time();
    trial.session.step("none");
    let idle = beside(&mut trial, || {
        std::thread::sleep(time);
        Ok(Tally::default())
    })?;
    tell(trial.session, "none", &idle, &idle);
    let title = "provider probe beside each load";
    let before = ("none".to_owned(), idle.probe.line());
    table::each(
        &mut trial,
        Of::LaneOrder,
        title,
        Some(before),
        |trial, row| {
            let site = Site::of(trial)?;
            let load = || Ok(row.load.carry_on(&site, time)?.tally);
            let loaded = beside(trial, load)?;
            rest(trial, row.name)?;
            tell(trial.session, row.name, &loaded, &idle);
            Ok(loaded.probe.line())
        },
    )?;
    trial.settle().map(drop)
}

fn beside(
    trial: &mut Trial<'_, '_>,
    load: impl FnOnce() -> Result<Tally, Failure>,
) -> Result<Beside, Failure> {
    let shares = trial.guest.machine().watch_share();
    let probe = Prober::start(trial.guest.provider()?, PROBE_PACE);
    let public = Prober::start(trial.guest.public()?, PUBLIC_PACE);
    let seen = load()?;
    let (probe, public) = (probe.finish(), public.finish());
    trial.count(Lane::ProviderHealth, &probe.tally);
    trial.count(Lane::Anonymous, &public.tally);
    trial.count(Lane::Anonymous, &seen);
    Ok(Beside {
        probe,
        public,
        shares: shares.finish(),
    })
}

/// Asserts what is promised beside a load, and reports what it took.
fn tell(session: &mut Session<'_>, name: &str, loaded: &Beside, idle: &Beside) {
    loaded.probe.judge(session, name);
    let (served, asked) = (loaded.public.healthy(), loaded.public.samples.len());
    session.check(
        format!("{name}: public requests are answered 200, 95 of 100"),
        served > 0 && asked - served <= (asked / 20).max(UNLUCKY),
        format_args!("{served} of {asked}: {:?}", loaded.public.tally),
    );
    let gap = loaded.probe.longest_gap();
    // Where in the load the gap was is not known, so the guest is given the doubt.
    let given = loaded.shares.given_of(gap);
    session.check(
        format!("{name}: no gap of the probe's is longer than {GAP:?} that the host gave"),
        given < GAP,
        format_args!(
            "{}, of which the host gave at least {}",
            milliseconds(gap),
            milliseconds(given)
        ),
    );
    session.probes([
        loaded
            .probe
            .row(name, Side::Outside, &idle.probe, &loaded.shares),
        loaded
            .public
            .row(name, Side::Public, &idle.public, &loaded.shares),
    ]);
}
