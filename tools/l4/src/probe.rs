//! The in-guest client, driven over the machine's second serial port: one command a line,
//! one `[probe] ...` line back (grammar: `qemu/probe/README.md`).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::evidence::fields;
use crate::failure::Failure;
use crate::http::Tally;

pub(crate) struct Probe {
    stream: BufReader<UnixStream>,
}

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) line: String,
    values: BTreeMap<String, String>,
}

impl Reply {
    /// Reads a result line of the in-guest client.
    pub(crate) fn parse(line: &str) -> Self {
        Self {
            line: line.to_owned(),
            values: fields(line),
        }
    }

    /// A number; 0 when the key is absent, for the client prints no zero counts.
    pub(crate) fn count(&self, key: &str) -> u64 {
        let value = self.values.get(key).and_then(|value| value.parse().ok());
        value.unwrap_or_default()
    }

    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// What the in-guest client saw, as the harness counts it.
    pub(crate) fn tally(&self) -> Tally {
        self.tally_under("")
    }

    /// What its probe beside the requests saw.
    pub(crate) fn tally_beside(&self) -> Tally {
        self.tally_under("watch_")
    }

    fn tally_under(&self, prefix: &str) -> Tally {
        let mut tally = Tally::default();
        for (key, value) in &self.values {
            let (Some(key), Ok(count)) = (key.strip_prefix(prefix), value.parse()) else {
                continue;
            };
            if let Some(Ok(status)) = key.strip_prefix("status_").map(str::parse) {
                tally.status(status, count);
            } else if matches!(key, "failed" | "refused") && count > 0 {
                tally.endings.insert(key.to_owned(), count);
            }
        }
        tally
    }
}

impl Probe {
    /// Takes over the machine's control connection.
    pub(crate) fn new(stream: UnixStream) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Sends a command without waiting for an answer.
    pub(crate) fn say(&mut self, command: &str) -> Result<(), Failure> {
        let stream = self.stream.get_mut();
        stream
            .write_all(format!("{command}\n").as_bytes())
            .map_err(|error| failed(command, error.to_string()))
    }

    pub(crate) fn command(&mut self, command: &str, timeout: Duration) -> Result<Reply, Failure> {
        self.say(command)?;
        self.result(command, timeout)
    }

    /// Waits for the result of a command that was sent.
    pub(crate) fn result(&mut self, command: &str, timeout: Duration) -> Result<Reply, Failure> {
        let deadline = Instant::now() + timeout;
        let mut raw = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let late = format!("no result within {:.1} s", timeout.as_secs_f64());
                return Err(failed(command, late));
            }
            self.stream
                .get_ref()
                .set_read_timeout(Some(left))
                .map_err(|error| failed(command, error.to_string()))?;
            match self.stream.read_until(b'\n', &mut raw) {
                Ok(0) => return Err(failed(command, "the machine closed its port".into())),
                Ok(_) if raw.last() != Some(&b'\n') => {}
                Ok(_) => {
                    let line = String::from_utf8_lossy(&raw).trim().to_owned();
                    raw.clear();
                    if line.starts_with("[probe] done") {
                        let reply = Reply::parse(&line);
                        return match reply.values.get("error") {
                            Some(error) => Err(failed(command, error.clone())),
                            None => Ok(reply),
                        };
                    }
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(failed(command, error.to_string())),
            }
        }
    }
}

fn failed(command: &str, cause: String) -> Failure {
    Failure::Probe {
        command: command.to_owned(),
        cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_awaited_past_other_lines() {
        let (ours, mut guest) = UnixStream::pair().unwrap();
        let mut probe = Probe::new(ours);
        guest
            .write_all(
                b"[probe] ready\n[probe] done cmd=get sent=2 status_200=2 failed=0 \
                  watch_status_200=3 watch_failed=1\n",
            )
            .unwrap();
        let second = Duration::from_secs(60);
        let reply = probe.command("get local /readyz", second).unwrap();
        assert_eq!(reply.count("sent"), 2);
        assert_eq!(reply.tally().of(200), 2);
        assert_eq!(reply.tally().unanswered(), 0);
        let beside = reply.tally_beside();
        assert_eq!((beside.of(200), beside.unanswered()), (3, 1));
    }

    #[test]
    fn silence_and_errors_name_the_command() {
        let (ours, mut guest) = UnixStream::pair().unwrap();
        let mut probe = Probe::new(ours);
        let silent = probe.command("get", Duration::from_millis(50)).unwrap_err();
        assert!(silent.to_string().contains("`get`: no result"), "{silent}");
        guest
            .write_all(b"[probe] done id=2 cmd=fly error=unknown-command\n")
            .unwrap();
        let error = probe.command("fly", Duration::from_secs(60)).unwrap_err();
        assert!(error.to_string().contains("unknown-command"), "{error}");
    }
}
