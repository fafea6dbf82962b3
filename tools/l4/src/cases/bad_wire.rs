//! Case `bad-wire`: a public wire that loses, doubles and reorders frames still carries
//! every answer whole.

use std::time::Duration;

use mkmanifest::LaneRules;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::{Badness, Relay};
use crate::http;
use crate::lane::Lane;
use crate::machine::spec::{Backend, HostPort};
use crate::session::{ClientCounts, Counting, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "bad-wire",
    title: "5 % loss, doubled and reordered frames: every answer still comes whole",
    suite: Suite::Attack,
    need: Need::Nothing,
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
const ROUNDS: usize = 40;

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let (relay, ports) = Relay::open(BADNESS, 0xbad)?;
    let mut nics = Session::usual_nics();
    if let Some(public) = nics.first_mut() {
        public.backend = Backend::UserThroughRelay(HostPort::Ephemeral, ports);
    }
    let mut guest = session.launch("three-lanes", LaneRules::Checked, nics)?;
    guest.await_ready()?;
    session.note_ready(&guest);
    let mut clients = ClientCounts {
        counting: Counting::AtMost,
        ..ClientCounts::default()
    };
    session.step("pages over the bad wire");
    let mut first = std::collections::BTreeMap::new();
    let (mut whole, mut asked) = (0, 0);
    let mut broken = Vec::new();
    for _ in 0..ROUNDS {
        for target in ["/", "/app.js", "/style.css"] {
            asked += 1;
            let begun = std::time::Instant::now();
            let tally = clients.lane(Lane::Anonymous);
            let bytes = http::once("GET", target);
            let answer = http::counted(tally, guest.public(), &bytes, Duration::from_secs(30));
            let answer = match answer {
                Ok(answer) => answer,
                Err(ending) => {
                    broken.push(format!("{target}: {ending} after {:?}", begun.elapsed()));
                    continue;
                }
            };
            let body = first.entry(target).or_insert_with(|| answer.body.clone());
            whole += u64::from(answer.status == 200 && *body == answer.body && !body.is_empty());
        }
    }
    session.check(
        "every answer over the bad wire is whole",
        whole == asked,
        format_args!("{whole} of {asked}; {broken:?}"),
    );
    let [passed, lost, doubled, overtaken] = relay.counts();
    session.check(
        "the wire was bad",
        lost > 0 && doubled > 0 && overtaken > 0,
        format_args!("{passed} passed, {lost} lost, {doubled} doubled, {overtaken} overtaken"),
    );
    session.settle(guest, &clients).map(drop)
}
