//! `wrk`, and its report.

use std::net::SocketAddr;
use std::time::Duration;

use crate::failure::Failure;
use crate::tool::{GRACE, failed, run};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// Responses read.
    pub(crate) requests: u64,
    /// Responses a second.
    pub(crate) rate: f64,
    /// Responses that were neither 2xx nor 3xx.
    pub(crate) unsuccessful: u64,
    /// Connections that could not be made.
    pub(crate) connect_errors: u64,
    pub(crate) read_errors: u64,
    pub(crate) write_errors: u64,
    /// Requests that took longer than two seconds.
    pub(crate) timeouts: u64,
}

impl Report {
    /// Errors of any kind, late answers apart.
    pub(crate) fn errors(&self) -> u64 {
        self.connect_errors + self.read_errors + self.write_errors
    }

    fn parse(text: &str) -> Option<Self> {
        let mut report = Self::default();
        let mut counted = false;
        for line in text.lines().map(str::trim) {
            if let Some((count, _)) = line.split_once(" requests in ") {
                report.requests = count.trim().parse().ok()?;
                counted = true;
            } else if let Some(rate) = line.strip_prefix("Requests/sec:") {
                report.rate = rate.trim().parse().ok()?;
            } else if let Some(count) = line.strip_prefix("Non-2xx or 3xx responses:") {
                report.unsuccessful = count.trim().parse().ok()?;
            } else if let Some(errors) = line.strip_prefix("Socket errors:") {
                for part in errors.split(',') {
                    let (kind, count) = part.trim().split_once(' ')?;
                    let count = count.parse().ok()?;
                    match kind {
                        "connect" => report.connect_errors = count,
                        "read" => report.read_errors = count,
                        "write" => report.write_errors = count,
                        "timeout" => report.timeouts = count,
                        _ => return None,
                    }
                }
            }
        }
        counted.then_some(report)
    }
}

pub(crate) fn load(
    address: SocketAddr,
    target: &str,
    connections: usize,
    time: Duration,
    headers: &[&str],
) -> Result<Report, Failure> {
    let url = format!("http://{address}{target}");
    let connections = connections.to_string();
    let seconds = format!("{}s", time.as_secs().max(1));
    let mut arguments = vec!["-t", "2", "-c", &connections, "-d", &seconds];
    for header in headers {
        arguments.extend(["-H", header]);
    }
    arguments.push(&url);
    let finished = run("wrk", &arguments, time + GRACE)?;
    Report::parse(&finished.stdout)
        .ok_or_else(|| failed("wrk", format!("{}{}", finished.stdout, finished.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read() {
        let text = "Running 2s test @ http://127.0.0.1:1/\n  2 threads and 4 connections\n  \
            5012 requests in 2.00s, 1.2MB read\n  Socket errors: connect 0, read 3, write 0, \
            timeout 1\n  Non-2xx or 3xx responses: 12\nRequests/sec:   2505.10\n";
        let report = Report::parse(text).unwrap();
        assert_eq!((report.requests, report.unsuccessful), (5012, 12));
        assert_eq!((report.errors(), report.timeouts), (3, 1));
        assert!(Report::parse("unable to connect").is_none());
    }
}
