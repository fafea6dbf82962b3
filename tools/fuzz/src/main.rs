//! Runs targets under libFuzzer, keeps what they found, and replays single inputs.

mod engine;
mod outcome;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fuzz::{TARGETS, Target};

use engine::Engine;

#[derive(Parser)]
#[command(about = "Runs fuzz targets, keeps what they found, replays inputs")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fuzzes every target, or the named ones, for so many seconds each.
    Run {
        #[command(flatten)]
        engine: Engine,
        /// Seconds for each target.
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Targets at a time.
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// Which ones; all if none is named.
        #[arg(value_parser = target)]
        targets: Vec<&'static Target>,
    },
    /// Puts the fewest inputs that reach all that was ever reached into the kept corpus.
    Keep {
        #[command(flatten)]
        engine: Engine,
        /// Which ones; all if none is named.
        #[arg(value_parser = target)]
        targets: Vec<&'static Target>,
    },
    /// Gives inputs to a target once, in this program, where a debugger can look on.
    Replay {
        /// Which one.
        #[arg(value_parser = target)]
        target: &'static Target,
        /// The inputs.
        files: Vec<PathBuf>,
    },
}

fn target(name: &str) -> Result<&'static Target, String> {
    Target::named(name).ok_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("the targets are {}", names.join(", "))
    })
}

fn or_all(targets: Vec<&'static Target>) -> Vec<&'static Target> {
    if targets.is_empty() {
        TARGETS.iter().collect()
    } else {
        targets
    }
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run {
            engine,
            seconds,
            jobs,
            targets,
        } => engine.run(&or_all(targets), seconds, jobs),
        Command::Keep { engine, targets } => engine.keep(&or_all(targets)),
        Command::Replay { target, files } => files.iter().try_for_each(|file| {
            println!("{}: {}", target.name, file.display());
            (target.run)(&std::fs::read(file)?);
            Ok(())
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}
