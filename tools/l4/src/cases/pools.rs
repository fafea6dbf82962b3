//! Case `pools`: every pool below the ledger that the public wire can fill is filled from it,
//! one after the other. At each moment a probe of each protected lane is admitted and answered.

use std::time::Duration;

use crate::attacks::Attacker;
use crate::attacks::pools;
use crate::cases::{Case, Control, Need, Suite};
use crate::evidence::Evidence;
use crate::failure::Failure;
use crate::lane::Lane;
use crate::load::beside::{Deed, beside};
use crate::session::{Sabotage, Session};
use crate::wire::{Wire, Wires};

pub(crate) const CASE: Case = Case {
    name: "pools",
    title: "each shared pool below the ledger, filled from the public wire, keeps what is others'",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::All(&[Wire::Frames]),
    run,
    controls: &[Control {
        name: "thin-reserve",
        breaks: "the provider lane's own permits are too few for two probes at a time",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "thin-reserve",
        },
        must_fail: "nothing turns provider_health away",
    }],
};

const SEED: u64 = 0x5eed_0007;
/// How long the probes go on beside each fill at least.
const PROBED_FOR: Duration = Duration::from_secs(3);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (mut trial, peer) = session.boot_by_hand("three-lanes")?;
    let mut attacker = Attacker::new(peer, SEED);
    for (name, fill) in pools::ALL {
        let time = PROBED_FOR;
        let deed = Deed { name, time };
        let held = beside(&mut trial, deed, |_| fill(&mut attacker))?;
        attacker.reset(&held)?;
    }
    attacker.read_all()?;
    let evidence = trial.settle()?;
    filled(session, &evidence)?;
    for lane in [Lane::LocalHealth, Lane::ProviderHealth] {
        for counter in ["conns_refused", "conns_turned_away"] {
            session.check_equal(
                format!("nothing turns {} away: {counter}", lane.key()),
                evidence.lane(counter, lane)?,
                0,
            );
        }
    }
    Ok(())
}

/// Asserts that the pools were full, by the counts of those who found them so.
fn filled(session: &mut Session<'_>, evidence: &Evidence) -> Result<(), Failure> {
    for (claim, counter) in [
        ("the public lane's permits ran out", "conns_refused"),
        ("idlers gave way", "idle_closed"),
    ] {
        let count = evidence.lane(counter, Lane::Anonymous)?;
        session.check(claim, count > 0, count);
    }
    Ok(())
}
