//! The harness's own HTTP client. It sends exactly the bytes that it is given, hostile ones
//! too, and tells apart every way in which an exchange can end.

pub(crate) mod pinned;
pub(crate) mod response;
pub(crate) mod tally;
pub(crate) mod wire;

pub(crate) use pinned::Pinned;
pub(crate) use response::Response;
pub(crate) use tally::Tally;
pub(crate) use wire::{Ending, Wire};

use std::net::SocketAddr;
use std::time::Duration;

/// A well-formed request with the usual headers, for `target` over a connection that is
/// closed afterwards.
pub(crate) fn once(method: &str, target: &str) -> Vec<u8> {
    request(method, target, &["Connection: close"])
}

/// A well-formed request over a connection that stays.
pub(crate) fn keep(method: &str, target: &str) -> Vec<u8> {
    request(method, target, &[])
}

/// A request with these further header lines.
pub(crate) fn request(method: &str, target: &str, headers: &[&str]) -> Vec<u8> {
    let mut text = format!("{method} {target} HTTP/1.1\r\nHost: capos.test\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// Connects, sends `bytes` and reads one response. `bytes` that start with `HEAD ` get a
/// response without a body.
pub(crate) fn exchange(
    address: SocketAddr,
    bytes: &[u8],
    timeout: Duration,
) -> Result<Response, Ending> {
    let mut wire = Wire::connect(address, timeout)?;
    wire.send(bytes)?;
    wire.response(bytes)
}

/// The same, counted in `tally`.
pub(crate) fn counted(
    tally: &mut Tally,
    address: SocketAddr,
    bytes: &[u8],
    timeout: Duration,
) -> Result<Response, Ending> {
    let outcome = exchange(address, bytes, timeout);
    tally.count(&outcome);
    outcome
}
