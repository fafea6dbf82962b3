//! Case `loss`: a page over TAP devices that lose packets or are far away, with the host's own
//! TCP as the client. Every answer comes whole; what it took stands in the report.

use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::load::lossy::Reading;
use crate::machine::nic::Filter;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire::tap::Loss;
use crate::wire::{Wire, Wires};

pub(crate) const CASE: Case = Case {
    name: "loss",
    title: "1 and 5 % of packets lost, 20 and 100 ms away: every answer comes whole",
    suite: Suite::Attack,
    need: Need::Programs(&["nft"]),
    wires: Wires::All(&[Wire::Tap]),
    run,
    controls: &[Control {
        name: "swapped-listeners",
        breaks: "the wire leads to the provider lane, which has no page to carry",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "swapped-listeners",
        },
        must_fail: "every answer over a clean wire is whole",
    }],
};

/// A page of 4 KiB with its head.
const READING: Reading = Reading {
    clients: 8,
    rounds: 40,
    pages: &["/"],
};

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?.at_most();
    read(&mut trial, "a clean wire")?;
    for percent in [1, 5] {
        let loss = Loss::of(percent)?;
        let wire = format!("a wire that loses {percent} %");
        read(&mut trial, &wire)?;
        drop(loss);
    }
    trial.settle()?;
    for round_trip_ms in [20, 100] {
        let mut nics = session.nics();
        if let Some(public) = nics.first_mut() {
            // What comes in an interval goes on at its end, each way: a round trip is two.
            let interval = Duration::from_millis(round_trip_ms / 2);
            public.filters.push(Filter::Hold(interval));
        }
        let mut trial = session.boot_on("three-lanes", nics)?.at_most();
        let wire = format!("a wire of {round_trip_ms} ms");
        read(&mut trial, &wire)?;
        trial.settle()?;
    }
    Ok(())
}

fn read(trial: &mut Trial<'_, '_>, wire: &str) -> Result<(), Failure> {
    trial.session.step(format!("pages over {wire}"));
    READING.judge(trial, wire)
}
