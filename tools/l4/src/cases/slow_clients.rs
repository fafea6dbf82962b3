//! Case `slow-clients`: slow heads, bodies and readers that open again whatever is closed,
//! more of them than the public lane has permits, take nothing from the provider lane, and
//! little from whoever asks on the public one.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::http;
use crate::lane::Lane;
use crate::load::account::rest;
use crate::load::flood::{Flood, Flooded};
use crate::load::going::Site;
use crate::load::sampler::Sampler;
use crate::load::table::{self, Of, Row, SLOW_CLIENTS};
use crate::load::watch::watch;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "slow-clients",
    title: "slow clients that always come back give way to whoever asks, and hold nothing else",
    suite: Suite::Attack,
    need: Need::Nothing,
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

const HELD_FOR: Duration = Duration::from_secs(14);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?.at_most();
    let sampler = Sampler::start(trial.guest.public()?);
    let title = "provider probe under slow clients";
    table::each(&mut trial, Of::SlowClients, title, None, attack)?;
    sampler.record(&mut trial);
    let evidence = trial.settle()?;
    let gave_way = evidence.lane("gave_way", Lane::Anonymous)?;
    session.check("slow clients give way", gave_way > 0, gave_way);
    Ok(())
}

fn attack(trial: &mut Trial<'_, '_>, row: Row) -> Result<Vec<(f64, f64)>, Failure> {
    let name = row.name;
    let slow = row.load.begin(&Site::of(trial)?, HELD_FOR)?;
    let most = slow.await_open(SLOW_CLIENTS);
    trial.session.check_equal(
        format!("{name}: clients that were open at one time"),
        most,
        SLOW_CLIENTS,
    );
    let request = http::once("GET", "/healthz");
    let mut public = Flood::of(trial.guest.public()?, request, 1, usize::MAX);
    public.time_max = HELD_FOR;
    // Less than what any refusal asks for.
    public.pause = Duration::from_millis(250);
    let (watched, asked) = watch(trial, HELD_FOR, |_| Ok(public.run()))?;
    let held = slow.finish()?.slowed;
    rest(trial, name)?;
    trial.count(Lane::Anonymous, &asked.tally);
    watched.judge(trial.session, name);
    trial.session.figure(
        format!("{name}: connections"),
        format_args!("{} opened, {} ended", held.opened, held.closed),
    );
    trial.session.figure(
        format!("{name}: provider probe"),
        watched.outside.latencies(),
    );
    judge_public(trial.session, name, &asked);
    Ok(watched.outside.line())
}

fn judge_public(session: &mut Session<'_>, name: &str, asked: &Flooded) {
    let healthy = asked.tally.of(200);
    let all = asked.tally.responses() + asked.tally.unanswered();
    session.check(
        format!("{name}: public requests are served, 95 % at the least"),
        all > 0 && healthy * 100 >= all * 95,
        format_args!("{healthy} of {all}"),
    );
    session.figure(
        format!("{name}: public /healthz meanwhile"),
        format_args!("{:?} {:?}", asked.tally.statuses, asked.tally.endings),
    );
}
