//! Case `boot-refusal`: a boot package that is no package, or holds what is no program, is
//! refused with the reason, as is a good one on a machine that lacks something; damage at any
//! place of its head panics nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mkmanifest::LaneRules;

use crate::cases::{Case, Control, Need, Suite};
use crate::exit_code::MachineExit;
use crate::failure::Failure;
use crate::machine::spec::Less;
use crate::package;
use crate::random::Random;
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::wire;

pub(crate) const CASE: Case = Case {
    name: "boot-refusal",
    title: "a bad boot package is refused with the reason, and panics nothing",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: wire::ANY,
    run,
    controls: &[Control {
        name: "good-package",
        breaks: "the package that should be cut in half is whole, of a program that ends well",
        sabotage: Sabotage::Package {
            of: "cut-in-half",
            instead: "smoke",
        },
        must_fail: "cut-in-half: the boot is refused",
    }],
};

/// Damaged packages that are tried.
const DAMAGED: usize = 10;
/// Where damage is done: the head of the message, and its first structures.
const HEAD_BYTES: usize = 512;
/// How long a machine that started is looked at: its programs need not run, or say so.
const RUNS_WITHIN: Duration = Duration::from_secs(2);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let good = session.folder().join("good.package");
    session.compile("three-lanes", LaneRules::Checked, &good)?;
    let good = std::fs::read(&good).map_err(|error| Failure::host("reading a package", error))?;
    let mut random = Random::new(0xb007);

    refused(session, "noise", &random.bytes(8192))?;
    refused(session, "one-byte", b"\0")?;
    let half = good.get(..good.len() / 2).unwrap_or_default();
    refused(session, "cut-in-half", half)?;
    let no_program = session.folder().join("no-program");
    put(&no_program, &random.bytes(4096))?;
    let manifest = session.artefacts().manifests.join("three-lanes.toml");
    let package = package::with_programs_of(&manifest, &no_program);
    let package = package.map_err(|error| Failure::Manifest {
        name: "three-lanes".into(),
        cause: error.to_string(),
    })?;
    refused(session, "no-program", &package)?;
    for feature in ["nx", "fxsr"] {
        let label = format!("without-{feature}");
        refused_on(session, &label, &good, Less::Processor(feature))?;
    }
    refused_on(session, "little-memory", &good, Less::Memory(24))?;
    damaged(session, &good, &mut random)
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|error| Failure::host(path.display().to_string(), error))
}

fn package_file(session: &Session<'_>, label: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
    let file = session.folder().join(format!("{label}.package"));
    put(&file, bytes)?;
    Ok(file)
}

fn refused(session: &mut Session<'_>, label: &str, bytes: &[u8]) -> Result<(), Failure> {
    refused_on(session, label, bytes, Less::Nothing)
}

fn refused_on(
    session: &mut Session<'_>,
    label: &str,
    bytes: &[u8],
    less: Less,
) -> Result<(), Failure> {
    let file = package_file(session, label, bytes)?;
    let mut guest = session.launch_package_on(label, file, session.nics(), less)?;
    let exit = guest.machine_mut().wait_exit(SLOW_HOST)?;
    session.note_end(&guest, exit);
    session.check_equal(
        format!("{label}: the boot is refused"),
        exit.to_string(),
        MachineExit::BootRefused.to_string(),
    );
    let lines = guest.machine().console().lines();
    let reason = lines
        .iter()
        .find_map(|line| line.text.strip_prefix("[kernel] boot refused: "));
    session.check(
        format!("{label}: the reason is told"),
        reason.is_some_and(|reason| !reason.is_empty()),
        reason.unwrap_or("no line"),
    );
    Ok(())
}

/// A package that boots in spite of its damage is ended once its programs run, or after a
/// moment; one that makes the kernel panic, reset or hang without a word is a defect.
fn damaged(session: &mut Session<'_>, good: &[u8], random: &mut Random) -> Result<(), Failure> {
    for number in 0..DAMAGED {
        let mut bytes = good.to_vec();
        for _ in 0..4 {
            let at = random.below(HEAD_BYTES.min(bytes.len()));
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= random.byte() | 1;
            }
        }
        let label = format!("damaged-{number}");
        let file = package_file(session, &label, &bytes)?;
        let mut guest = session.launch_package(&label, file, session.nics())?;
        let machine = guest.machine_mut();
        let (_, word) = machine.await_line(0, "a refusal or a start", SLOW_HOST, |line| {
            line.starts_with("[kernel] boot refused") || line.starts_with("[kernel] started")
        })?;
        let refused = word.text.contains("refused");
        let awaited = if refused { SLOW_HOST } else { RUNS_WITHIN };
        let ran = machine.await_line(0, "both programs", awaited, |line| {
            line.starts_with("[probe] ready")
        });
        let exit = match ran {
            Err(Failure::EndedEarly { exit, .. }) => Some(exit),
            Ok(_) | Err(Failure::Hang { .. }) if !refused => {
                machine.kill();
                None
            }
            Ok(_) => None,
            Err(failure) => return Err(failure),
        };
        if let Some(exit) = exit {
            session.note_end(&guest, exit);
        }
        session.check(
            format!("{label}: the machine goes on, or ends by a word of the kernel's"),
            match exit {
                Some(MachineExit::BootRefused) => true,
                Some(MachineExit::ServiceFailure | MachineExit::Success) | None => !refused,
                Some(_) => false,
            },
            format_args!("{}; {exit:?}", word.text),
        );
    }
    Ok(())
}
