//! Boots the service in QEMU and proves its lanes end to end.
//!
//! ```text
//! commands/  one file a subcommand      cases/   one file a case of the proof matrix
//! machine/   QEMU and its console       load/    bounded clients that load a lane
//! attacks/   a peer that plays TCP by hand
//! http/      the harness's own client   report/  table, JSON, JUnit, one HTML page
//! wire/      what a case's traffic goes over, and the TAP devices
//! session    one run of one case: boots, checks, figures
//! trial/     one booted guest, what its clients saw, and the assertions common to all
//! guest      a booted guest as a case uses it; probe is the in-guest client's wire
//! ```

#![forbid(unsafe_code)]
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts and times of one bounded run; an overflow panics and fails the run"
)]

mod accel;
mod artefacts;
mod attacks;
mod cases;
mod child;
mod commands;
mod evidence;
mod exit_code;
mod failure;
mod frames;
mod guest;
mod http;
mod lane;
mod limits;
mod load;
mod machine;
mod package;
mod probe;
mod random;
mod record;
mod report;
mod session;
mod tool;
mod trial;
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::artefacts::Artefacts;

/// Proves the ingress lanes on a booted guest.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    artefacts: Artefacts,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the proof matrix, or parts of it.
    Prove(commands::prove::Prove),
    /// Boots a manifest and stays up until Ctrl-C.
    Run(commands::run::Run),
    /// Lists the cases and their negative controls.
    List,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refusal) => return mkmanifest::refused(&refusal),
    };
    limits::raise_descriptors();
    machine::registry::end_all_on_panic();
    mkmanifest::finish(match arguments.command {
        Command::Prove(prove) => prove.execute(arguments.artefacts),
        Command::Run(run) => run.execute(&arguments.artefacts),
        Command::List => commands::list::execute(),
    })
}
