//! Outside programs that attack or serve the guest, run with a time limit and read strictly.

pub(crate) mod haproxy;
pub(crate) mod hping3;
pub(crate) mod slowhttptest;
pub(crate) mod wrk;

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::child;
use crate::failure::Failure;

/// How much longer than asked a program may take on a busy host.
const GRACE: Duration = Duration::from_secs(120);

/// What a program left.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    /// Its exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn failed(program: &str, cause: impl Into<String>) -> Failure {
    Failure::Tool {
        program: program.to_owned(),
        cause: cause.into(),
    }
}

/// Runs a program to its end, or ends it at `limit`, which is a failure.
pub(crate) fn run(program: &str, arguments: &[&str], limit: Duration) -> Result<Finished, Failure> {
    let missing = |error| failed(program, format!("{error}; `make setup` installs it"));
    let mut child = child::leashed(program)
        .map_err(missing)?
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let deadline = Instant::now() + limit;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() > deadline => {
                drop(child.kill());
                drop(child.wait());
                return Err(failed(program, format!("still ran after {limit:?}")));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(failed(program, error.to_string())),
        }
    };
    Ok(Finished {
        code: status.code(),
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

fn reader(source: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut source) = source {
            drop(source.read_to_end(&mut bytes));
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_code_are_told_and_a_slow_program_is_ended() {
        let script = ["-c", "echo out; echo err >&2; exit 3"];
        let finished = run("sh", &script, Duration::from_secs(60)).unwrap();
        assert_eq!(finished.code, Some(3));
        assert_eq!((&*finished.stdout, &*finished.stderr), ("out\n", "err\n"));
        let slow = run("sleep", &["30"], Duration::from_millis(50)).unwrap_err();
        assert!(slow.to_string().contains("still ran"));
    }
}
