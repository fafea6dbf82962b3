//! Case `bad-wire`: a public wire that loses, doubles and reorders frames still carries
//! every answer whole.

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::{Badness, Relay};
use crate::load::lossy::Reading;
use crate::machine::nic::Between;
use crate::session::{Sabotage, Session};
use crate::wire;

pub(crate) const CASE: Case = Case {
    name: "bad-wire",
    title: "5 % loss, doubled and reordered frames: every answer still comes whole",
    suite: Suite::Attack,
    need: Need::Nothing,
    wires: wire::ANY,
    run,
    controls: &[Control {
        name: "swapped-listeners",
        breaks: "the bad wire leads to the provider lane, which has no page to carry",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "swapped-listeners",
        },
        must_fail: "every answer over the bad wire is whole",
    }],
};

const BADNESS: Badness = Badness {
    lost: 5,
    doubled: 5,
    overtaken: 5,
};
const READING: Reading = Reading {
    clients: 4,
    rounds: 10,
    pages: &["/", "/app.js", "/style.css"],
};

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (relay, ports) = Relay::open(BADNESS, 0xbad)?;
    let mut nics = session.nics();
    if let Some(public) = nics.first_mut() {
        public.between = Between::Relay(ports);
    }
    let mut trial = session.boot_on("three-lanes", nics)?.at_most();
    trial.session.step("pages over the bad wire");
    READING.judge(&mut trial, "the bad wire")?;
    let [passed, lost, doubled, overtaken] = relay.counts();
    trial.session.check(
        "the wire was bad",
        lost > 0 && doubled > 0 && overtaken > 0,
        format_args!("{passed} passed, {lost} lost, {doubled} doubled, {overtaken} overtaken"),
    );
    trial.settle().map(drop)
}
