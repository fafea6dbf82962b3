//! Case `abi`: the published runtime's own smoke program, unchanged, ends well on the
//! harness kernel.

use mkmanifest::LaneRules;

use crate::artefacts;
use crate::cases::{Case, Control, Need, Suite};
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::wire;

pub(crate) const CASE: Case = Case {
    name: "abi",
    title: "the published runtime's own smoke program exits 0 on the harness kernel",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: wire::ANY,
    run,
    controls: &[Control {
        name: "no-console",
        breaks: "the smoke program is not granted its console",
        sabotage: Sabotage::Manifest {
            of: "smoke",
            instead: "smoke-without-console",
        },
        must_fail: "the smoke program exits 0",
    }],
};

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let smoke = &session.artefacts().smoke;
    artefacts::present("the published smoke program", smoke, "guest")?;
    let mut guest = session.launch("smoke", LaneRules::Checked, session.nics())?;
    let exit = guest.machine_mut().wait_exit(SLOW_HOST)?;
    session.note_end(&guest, exit);
    let lines = guest.machine().console().lines();
    let ended = lines
        .iter()
        .find(|line| line.text.starts_with("[kernel] process ") && line.text.contains("exited"));
    let words = ended.map_or("no exit line", |line| line.text.as_str());
    session.check(
        "the smoke program exits 0",
        words.split_whitespace().any(|word| word == "code=0"),
        words,
    );
    session.check_equal(
        "the machine ends with success",
        exit.to_string(),
        MachineExit::Success.to_string(),
    );
    let own = lines
        .iter()
        .filter(|line| !line.text.starts_with("[kernel] "))
        .count();
    session.check(
        "the smoke program writes to its console",
        own > 0,
        format_args!("{own} lines"),
    );
    Ok(())
}
