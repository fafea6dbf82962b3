//! Case 5b: two lane grants that are one listener in truth are refused twice: when the
//! manifest is compiled, and, built past that, by the service before it accepts anything.

use mkmanifest::LaneRules;

use crate::cases::{Case, Control, Need, Suite};
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::http;
use crate::package;
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::wire;

pub(crate) const CASE: Case = Case {
    name: "aliased-grants",
    title: "aliased lane grants are refused by mkmanifest and, built past it, by the service",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: wire::ANY,
    run,
    controls: &[Control {
        name: "distinct-grants",
        breaks: "the manifest that should be aliased has three distinct listeners",
        sabotage: Sabotage::Manifest {
            of: "aliased-object",
            instead: "three-lanes",
        },
        must_fail: "aliased-object: the service refuses to serve",
    }],
};

/// The manifests, one a way in which two listeners are one.
const ALIASED: [&str; 4] = [
    "aliased-object",
    "aliased-port",
    "aliased-transport",
    "aliased-wildcard",
];
/// The two grants that a refusal has to name.
const GRANTS: [&str; 2] = ["ui_listener", "ui_provider_health_listener"];

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    for manifest in ALIASED {
        compiled(session, manifest);
        booted(session, manifest)?;
    }
    Ok(())
}

/// The first refusal: `mkmanifest` names file and both grants.
fn compiled(session: &mut Session<'_>, manifest: &str) {
    let artefacts = session.artefacts();
    let file = artefacts.manifests.join(format!("{manifest}.toml"));
    let refused = package::build(artefacts, &file, LaneRules::Checked);
    let words = match refused {
        Ok(_) => "it compiled".to_owned(),
        Err(error) => error.to_string(),
    };
    let named = GRANTS.iter().all(|grant| words.contains(grant)) && words.contains(manifest);
    session.check(
        format!("{manifest}: mkmanifest refuses and names both grants"),
        named,
        words,
    );
}

/// The second: the service says why, exits non-zero, and has accepted nothing.
fn booted(session: &mut Session<'_>, manifest: &str) -> Result<(), Failure> {
    let mut guest = session.launch(manifest, LaneRules::Unchecked, session.nics())?;
    let (_, line) = guest.machine_mut().await_line(
        0,
        "`[web-ui] refused: ...` or `[web-ui] ready ...`",
        SLOW_HOST,
        |line| line.starts_with("[web-ui] refused") || line.starts_with("[web-ui] ready"),
    )?;
    let refused = line.text.starts_with("[web-ui] refused");
    session.check(
        format!("{manifest}: the service refuses to serve"),
        refused,
        &line.text,
    );
    if !refused {
        guest.machine_mut().kill();
        return Ok(());
    }
    session.check(
        format!("{manifest}: the diagnostic names both grants"),
        GRANTS.iter().all(|grant| line.text.contains(grant)),
        &line.text,
    );
    let get = http::once("GET", "/healthz");
    for address in [guest.public()?, guest.provider()?] {
        let answer = http::exchange(address, &get);
        session.check(
            format!("{manifest}: no port answers"),
            answer.is_err(),
            http::told(&answer),
        );
    }
    let exit = guest.machine_mut().wait_exit(SLOW_HOST)?;
    session.note_end(&guest, exit);
    session.check_equal(
        format!("{manifest}: the machine ends with the service's failure"),
        exit.to_string(),
        MachineExit::ServiceFailure.to_string(),
    );
    let accepted: u64 = guest.listeners().iter().map(|count| count.accepted).sum();
    session.check_equal(format!("{manifest}: nothing was accepted"), accepted, 0);
    Ok(())
}
