//! `slowhttptest`, and the report that it leaves as CSV (and, for a person, as HTML).

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;
use crate::tool::{GRACE, failed, run};

/// How long the tool's own probe waits before it calls the server unavailable.
const PROBE_SECONDS: &str = "10";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Heads that never end.
    Headers,
    /// Bodies that never end.
    Body,
    /// Answers that are hardly read.
    Read,
}

impl Mode {
    /// Its name, in messages and files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Headers => "slow-headers",
            Self::Body => "slow-body",
            Self::Read => "slow-read",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Headers => &["-H"],
            Self::Body => &["-B"],
            Self::Read => &[
                "-X", "-k", "10", "-w", "256", "-y", "512", "-n", "2", "-z", "16",
            ],
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The most connections that it had open.
    pub(crate) connected_most: u64,
    /// Connections that the server closed.
    pub(crate) closed: u64,
    /// Seconds that it looked at.
    pub(crate) seconds: usize,
    /// Those in which its own probe got no answer.
    pub(crate) unavailable: usize,
}

impl Report {
    /// Reads `Seconds,Closed,Pending,Connected,Service Available`; the last is 0 or not.
    fn parse(csv: &str) -> Option<Self> {
        let mut report = Self::default();
        for line in csv.lines().skip(1) {
            let numbers: Option<Vec<u64>> = line
                .split(',')
                .map(|field| field.trim().parse().ok())
                .collect();
            let [_, closed, _, connected, available] = *numbers?.as_slice() else {
                return None;
            };
            report.connected_most = report.connected_most.max(connected);
            report.closed = report.closed.max(closed);
            report.seconds += 1;
            report.unavailable += usize::from(available == 0);
        }
        (report.seconds > 0).then_some(report)
    }
}

/// Attacks `target` over that many connections for `time`; its files go to `folder`.
pub(crate) fn attack(
    address: SocketAddr,
    target: &str,
    mode: Mode,
    connections: usize,
    time: Duration,
    folder: &Path,
) -> Result<Report, Failure> {
    let url = format!("http://{address}{target}");
    let prefix = folder.join(mode.name()).display().to_string();
    let (count, seconds) = (connections.to_string(), time.as_secs().to_string());
    let mut arguments = mode.arguments().to_vec();
    arguments.extend([
        "-c",
        &count,
        "-r",
        "500",
        "-i",
        "2",
        "-p",
        PROBE_SECONDS,
        "-v",
        "1",
    ]);
    arguments.extend(["-l", &seconds, "-u", &url, "-g", "-o", &prefix]);
    let finished = run("slowhttptest", &arguments, time + GRACE)?;
    let csv = std::fs::read_to_string(format!("{prefix}.csv")).unwrap_or_default();
    Report::parse(&csv).ok_or_else(|| {
        let said = format!("{}{}", finished.stdout, finished.stderr);
        failed("slowhttptest", format!("left no report: {said}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let csv = "Seconds,Closed,Pending,Connected,Service Available\n\
            0,0,1,0,600\n1,153,1,42,600\n2,347,1,40,0\n";
        let report = Report::parse(csv).unwrap();
        assert_eq!((report.connected_most, report.closed), (42, 347));
        assert_eq!((report.seconds, report.unavailable), (3, 1));
        assert!(Report::parse("Seconds,Closed\n").is_none());
        assert!(Report::parse("Seconds,Closed\n1,2\n").is_none());
    }
}
