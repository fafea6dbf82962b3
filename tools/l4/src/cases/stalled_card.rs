//! Case `stalled-card`: the public card is never read while hundreds of connections on it are
//! owed answers and are aborted. Whoever has their places next, on another lane, is served.

use std::time::Duration;

use crate::attacks::Attacker;
use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::Flow;
use crate::http;
use crate::lane::Lane;
use crate::load::beside::{Deed, beside};
use crate::session::{Sabotage, Session};
use crate::wire::{Wire, Wires};

pub(crate) const CASE: Case = Case {
    name: "stalled-card",
    title: "a public card that is never read, and aborted connections on it, delay no other lane",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::All(&[Wire::Frames]),
    run,
    controls: &[Control {
        name: "no-provider",
        breaks: "the provider lane is missing, as if the stalled card had silenced it",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "no-provider",
        },
        must_fail: "every provider probe is answered 200",
    }],
};

const SEED: u64 = 0x5eed_0006;
/// Connections: what they are owed is more frames than the card and the wire hold together,
/// and so few sockets are left that the next owners soon have theirs.
const CONNECTIONS: usize = 900;
/// How long the card stands still at least.
const STALLED_FOR: Duration = Duration::from_secs(6);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (mut trial, peer) = session.boot_by_hand("three-lanes")?;
    let mut attacker = Attacker::new(peer, SEED);
    for (name, abort) in [
        ("a stalled card that owes answers", false),
        ("a stalled card with aborted connections", true),
    ] {
        let time = STALLED_FOR;
        let flows = beside(&mut trial, Deed { name, time }, |_| {
            stall(&mut attacker, abort)
        })?;
        attacker.set_deaf(false);
        let owed = attacker.read_all()?;
        trial.session.check(
            format!("{name}: the card stood still over answers"),
            owed > 0,
            format_args!("{owed} segments were read afterwards"),
        );
        attacker.reset(&flows)?;
    }
    attacker.judge_serving(trial.session, "the card's standstill")?;
    trial.count(Lane::Anonymous, &attacker.answers);
    trial.settle().map(drop)
}

/// Asks for more than the wire takes unread, and resets the connections if `abort` says so.
fn stall(attacker: &mut Attacker, abort: bool) -> Result<Vec<Flow>, Failure> {
    let mut flows = attacker.open_all(CONNECTIONS)?;
    attacker.set_deaf(true);
    let request = http::keep("GET", "/healthz");
    for flow in &mut flows {
        let segment = flow.data(&request);
        attacker.send(&segment)?;
    }
    if abort {
        // Those that the card could send nothing of first: theirs are the next places taken.
        flows.reverse();
        attacker.reset(&flows)?;
    }
    Ok(flows)
}
