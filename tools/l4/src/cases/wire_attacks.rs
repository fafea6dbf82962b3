//! Case `wire-attacks`: a peer that plays TCP by hand on the public wire. Whatever it sends,
//! nothing panics, resets and requests inside a live connection do what RFC 5961 says, and
//! both protected lanes answer meanwhile.

use std::time::Duration;

use crate::attacks::{self, Attacker};
use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::lane::Lane;
use crate::load::beside::{Deed, beside};
use crate::session::{Sabotage, Session};
use crate::wire::{Wire, Wires};

pub(crate) const CASE: Case = Case {
    name: "wire-attacks",
    title: "segments made by hand panic nothing, close nothing and open nothing that they must not",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::All(&[Wire::Frames]),
    run,
    controls: &[Control {
        name: "any-cookie",
        breaks: "any acknowledgement completes a handshake",
        sabotage: Sabotage::Kernel("broken-any-cookie"),
        must_fail: "whose handshake was not carried through",
    }],
};

const SEED: u64 = 0x5eed_0005;
/// How long the probes go on beside each attack at least.
const PROBED_FOR: Duration = Duration::from_secs(2);
/// How long a machine that has broken its wire may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(10);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (mut trial, peer) = session.boot_by_hand("three-lanes")?;
    let mut attacker = Attacker::new(peer, SEED);
    for (name, attack) in attacks::ALL {
        let time = PROBED_FOR;
        let deed = Deed { name, time };
        let attacked = beside(&mut trial, deed, |session| attack(&mut attacker, session));
        // A wire that breaks is how an attacker sees the machine's end.
        let outlived =
            attacked.is_ok() || trial.guest.machine_mut().wait_exit(GONE_WITHIN).is_err();
        let last = trial.guest.machine().console().tail();
        trial.session.check(
            format!("the machine outlives {name}"),
            outlived,
            last.last().map_or("", String::as_str),
        );
        attacked?;
    }
    trial.count(Lane::Anonymous, &attacker.answers);
    let evidence = trial.settle()?;
    let charged = evidence.lane("conns_admitted", Lane::Anonymous)?
        + evidence.lane("conns_refused", Lane::Anonymous)?
        + evidence.lane("conns_turned_away", Lane::Anonymous)?;
    session.check(
        "no connection is charged whose handshake was not carried through",
        charged <= attacker.opened,
        format_args!("{charged} charged, {} opened", attacker.opened),
    );
    Ok(())
}
