//! `hping3`, which floods as fast as the host can.

use std::net::SocketAddr;
use std::time::Duration;

use crate::failure::Failure;
use crate::tool::{GRACE, failed, run};

/// What `timeout` exits with once it has ended a program.
const ENDED: i32 = 124;

/// Sends connection requests from invented addresses; how many, as it says itself.
pub(crate) fn flood(address: SocketAddr, time: Duration) -> Result<u64, Failure> {
    let (seconds, port, host) = (
        time.as_secs().max(1).to_string(),
        address.port().to_string(),
        address.ip().to_string(),
    );
    // It ends, and counts, at an interrupt alone.
    let arguments = [
        "--signal=INT",
        &seconds,
        "hping3",
        "--quiet",
        "--syn",
        "--flood",
        "--rand-source",
        "--destport",
        &port,
        &host,
    ];
    let finished = run("timeout", &arguments, time + GRACE)?;
    sent(&finished.stderr)
        .filter(|_| finished.code == Some(ENDED))
        .ok_or_else(|| {
            let cause = format!("exit code {:?}: {}", finished.code, finished.stderr.trim());
            failed("hping3", cause)
        })
}

/// Reads `N packets transmitted, …`.
fn sent(report: &str) -> Option<u64> {
    let (before, _) = report.split_once(" packets transmitted")?;
    before.lines().last()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_count_is_read() {
        let report = "\n--- 10.0.2.15 hping statistic ---\n\
                      2353516 packets transmitted, 0 packets received, 100% packet loss\n\
                      round-trip min/avg/max = 0.0/0.0/0.0 ms\n";
        assert_eq!(sent(report), Some(2_353_516));
        assert_eq!(sent("hping3: no such option"), None);
    }
}
