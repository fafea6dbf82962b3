//! Case `starvation`: each point where the public lane could starve another is loaded by
//! itself, and the provider's probe is measured beside an idle guest's.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::lane::Lane;
use crate::load::account::rest;
use crate::load::going::Site;
use crate::load::sampler::Sampler;
use crate::load::table::{self, Of};
use crate::load::watch::{idle, watch};
use crate::session::{Sabotage, Session};
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "starvation",
    title: "each point of contention, loaded by itself, leaves the provider's probe answered",
    suite: Suite::Attack,
    need: Need::Programs(&["wrk"]),
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing, as if it had been starved",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered 200",
    }],
};

const LOADED_FOR: Duration = Duration::from_secs(6);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?.at_most();
    let sampler = Sampler::start(trial.guest.public()?);
    let idle = idle(&mut trial)?;
    let title = "provider probe from outside, under each load";
    let before = ("idle".to_owned(), idle.outside.line());
    table::each(
        &mut trial,
        Of::Starvation,
        title,
        Some(before),
        |trial, row| {
            let site = Site::of(trial)?;
            let (loaded, carried) =
                watch(trial, LOADED_FOR, |_| row.load.carry_on(&site, LOADED_FOR))?;
            trial.count(Lane::Anonymous, &carried.tally);
            rest(trial, row.name)?;
            loaded.judge(trial.session, row.name);
            trial.session.probes(loaded.rows(row.name, &idle));
            Ok(loaded.outside.line())
        },
    )?;
    sampler.record(&mut trial);
    trial.settle().map(drop)
}
