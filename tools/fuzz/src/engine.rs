//! libFuzzer as a program: one process a target, its log and its finds in a folder of their own.

use std::fs::{self, File};
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use fuzz::Target;

use crate::outcome::{Outcome, panic_of};

/// Seconds that no input may take.
const INPUT_SECONDS_MAX: u32 = 10;

/// Memory that no process may have.
const MEMORY_MB_MAX: u32 = 2048;

/// The instrumented program and where its runs leave what they find.
#[derive(Debug, clap::Args)]
pub(crate) struct Engine {
    /// The instrumented program.
    #[arg(long)]
    program: PathBuf,
    /// A folder a target: its log, the inputs that reached something new, and crashes.
    #[arg(long, default_value = "target/fuzz")]
    out: PathBuf,
}

impl Engine {
    /// Runs targets, `jobs` at a time; fails if one of them did.
    pub(crate) fn run(&self, targets: &[&Target], seconds: u32, jobs: usize) -> Result<()> {
        let begin = Instant::now();
        println!("target            edges: kept  reached        inputs   a second");
        let next = AtomicUsize::new(0);
        let worker = || -> Result<(u64, u32)> {
            let (mut inputs, mut failed) = (0_u64, 0_u32);
            while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                let (outcome, is_sound) = self.run_one(target, seconds)?;
                inputs = inputs.saturating_add(outcome.inputs);
                failed = failed.saturating_add(u32::from(!is_sound));
            }
            Ok((inputs, failed))
        };
        let (inputs, failed) = thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().try_fold((0_u64, 0_u32), |sum, one| {
                let one = one
                    .join()
                    .map_err(|_| Error::other("a worker panicked"))??;
                Ok::<_, Error>((sum.0.saturating_add(one.0), sum.1.saturating_add(one.1)))
            })
        })?;
        let targets = targets.len();
        let seconds = begin.elapsed().as_secs();
        println!("{inputs} inputs on {targets} targets in {seconds} s, {failed} failed");
        if failed > 0 {
            return Err(Error::other("some targets failed, see above"));
        }
        Ok(())
    }

    fn run_one(&self, target: &Target, seconds: u32) -> Result<(Outcome, bool)> {
        let folder = self.out.join(target.name);
        let found = folder.join("found");
        fs::create_dir_all(&found)?;
        fs::create_dir_all(target.corpus())?;
        let log = folder.join("log");
        let begin = Instant::now();
        let mut command = self.command(target, &log)?;
        command.args([
            format!("-max_total_time={seconds}"),
            format!("-timeout={INPUT_SECONDS_MAX}"),
            format!("-rss_limit_mb={MEMORY_MB_MAX}"),
            format!("-artifact_prefix={}/", folder.display()),
            "-print_final_stats=1".into(),
            "-lazy_counters=1".into(),
        ]);
        let status = command.arg(&found).arg(target.corpus()).status()?;
        let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let outcome = Outcome::of(&text);
        let rate = outcome
            .inputs
            .checked_div(begin.elapsed().as_secs())
            .unwrap_or(outcome.inputs);
        let Outcome {
            edges_at_first,
            edges,
            inputs,
        } = outcome;
        let name = target.name;
        println!("{name:18}{edges_at_first:11}{edges:9}{inputs:14}{rate:11}");
        if !status.success() {
            tell_failure(target, status, &text, &log);
        }
        Ok((outcome, status.success()))
    }

    /// Replaces the kept corpora by the fewest inputs, old and found, that reach every edge.
    pub(crate) fn keep(&self, targets: &[&Target]) -> Result<()> {
        for target in targets {
            let folder = self.out.join(target.name);
            let (found, fresh) = (folder.join("found"), folder.join("fresh"));
            for empty in [&found, &target.corpus()] {
                fs::create_dir_all(empty)?;
            }
            if fresh.exists() {
                fs::remove_dir_all(&fresh)?;
            }
            fs::create_dir_all(&fresh)?;
            let log = folder.join("keep.log");
            let mut command = self.command(target, &log)?;
            // How often an edge was passed would make the corpus many times larger.
            command.args(["-set_cover_merge=1", "-use_counters=0"]);
            command.args([&fresh, &target.corpus(), &found]);
            let status = command.status()?;
            if !status.success() {
                let log = log.display();
                return Err(Error::other(format!(
                    "{}: {status}, see {log}",
                    target.name
                )));
            }
            let (files, bytes) = replace(&target.corpus(), &fresh)?;
            println!("{:18}{files:6} inputs {bytes:9} bytes", target.name);
        }
        Ok(())
    }

    fn command(&self, target: &Target, log: &Path) -> Result<Command> {
        let mut command = Command::new(&self.program);
        command
            .env("FUZZ_TARGET", target.name)
            .env("RUST_BACKTRACE", "1")
            .arg(format!("-max_len={}", target.input_bytes_max))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log)?);
        Ok(command)
    }
}

/// Says what failed, on which input, and how to see it again.
fn tell_failure(target: &Target, status: ExitStatus, text: &str, log: &Path) {
    let name = target.name;
    let why = panic_of(text).unwrap_or_else(|| status.to_string());
    println!("{name}: FAILED: {why}");
    let written = "Test unit written to ";
    for input in text.lines().filter_map(|line| line.split_once(written)) {
        println!("{name}: input: {}", input.1);
        println!(
            "{name}: again: cargo run -p fuzz -- replay {name} {}",
            input.1
        );
    }
    println!("{name}: log: {}", log.display());
}

/// Moves the files of `fresh` in place of those of `kept`; answers how many, and their bytes.
fn replace(kept: &Path, fresh: &Path) -> Result<(usize, u64)> {
    for old in fs::read_dir(kept)? {
        fs::remove_file(old?.path())?;
    }
    let (mut files, mut bytes) = (0_usize, 0_u64);
    for new in fs::read_dir(fresh)? {
        let new = new?;
        bytes = bytes.saturating_add(new.metadata()?.len());
        files = files.saturating_add(1);
        fs::rename(new.path(), kept.join(new.file_name()))?;
    }
    Ok((files, bytes))
}
