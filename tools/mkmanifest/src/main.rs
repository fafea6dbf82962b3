//! `mkmanifest`: one subcommand a file of `commands/`.

#![forbid(unsafe_code)]

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use mkmanifest::complain;

/// Compiles boot manifests from TOML and checks their lane rules.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(commands::build::Build),
    Check(commands::check::Check),
    Export(commands::export::Export),
    Show(commands::show::Show),
}

fn main() -> ExitCode {
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(refusal) => return mkmanifest::refused(&refusal),
    };
    let outcome = match command {
        Command::Build(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Show(command) => command.run(),
    };
    mkmanifest::finish(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain!("{error}");
            ExitCode::FAILURE
        }
    })
}
