//! The whole capOS process on the host, from its CapSet to its exit code, under
//! the harness kernel's own objects; every call and every byte of lent memory is
//! watched on the way.
//!
//! The process keeps its memory in statics, so each scenario runs in a process
//! of its own: without `CAPOS_SCENARIO` this program starts itself once for each
//! and reports like any test.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test: a panic is a failure"
)]

// The process's sources name the runtime crate, which brings an entry point and
// an allocator of its own; here this crate stands in for it.
extern crate self as capos_rt;

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

pub(crate) use runtime::{CapSet, Console, Runtime, syscall};

mod between;
#[path = "../../src/capos/mod.rs"]
mod capos;
mod kernel;
mod lent;
mod machine;
mod network;
mod order;
mod refusals;
mod runtime;
mod scenarios;

const VARIABLE: &str = "CAPOS_SCENARIO";
/// Time in which a scenario is over on any machine, or hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(VARIABLE) {
        let (_, run) = scenarios::ALL
            .iter()
            .find(|(known, _)| *known == name)
            .unwrap();
        run();
        return ExitCode::SUCCESS;
    }
    let filters: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let mut failed = 0;
    for (name, _) in scenarios::ALL {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter)) {
            continue;
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(VARIABLE, name)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > PATIENCE {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        let verdict = if output.status.success() {
            "ok"
        } else {
            "FAILED"
        };
        println!("test {name} ... {verdict}");
        if !output.status.success() {
            failed += 1;
            println!("{}", String::from_utf8_lossy(&output.stdout));
            println!("{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    println!("{failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
