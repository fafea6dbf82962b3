//! The pools below the ledger that connections of the public wire can fill, and what fills
//! each. Whatever is taken stays taken until the next fill lets go of it.

use crate::attacks::{Attacker, Fill};
use crate::failure::Failure;
use crate::frames::{Flags, Flow};
use crate::http;

pub(crate) const ALL: [Fill; 7] = [
    ("the backlog", backlog),
    ("sockets and permits", sockets),
    ("orphans", orphans),
    ("TIME-WAIT", time_wait),
    ("records of idlers that gave way", records),
    ("refusals", refusals),
    ("spent cookies and capability slots", cookies),
];

/// More than a listener's backlog holds.
const AT_ONCE: usize = 1_400;
/// More than the public lane's permits.
const HELD: usize = 1_100;
/// More than the table of spent cookies has places.
const SPENT: usize = 5_000;
/// Connections that are opened and reset together, well below the backlog.
const TOGETHER: usize = 250;

/// Handshakes that all end in one moment.
fn backlog(attacker: &mut Attacker) -> Result<Vec<Flow>, Failure> {
    let flows = (0..AT_ONCE).map(|_| attacker.fresh()).collect();
    let knocked = attacker.peer.knock(flows)?;
    for flow in &knocked {
        attacker.peer.send(&flow.segment(Flags::ACK))?;
    }
    attacker.opened += knocked.len() as u64;
    Ok(knocked)
}

/// Connections with half a head.
fn sockets(attacker: &mut Attacker) -> Result<Vec<Flow>, Failure> {
    attacker.holding(HELD, b"GET / HTTP/1.1\r\nHost: capos.test\r\n")
}

/// Answers that close and are never acknowledged.
fn orphans(attacker: &mut Attacker) -> Result<Vec<Flow>, Failure> {
    let flows = attacker.holding(HELD, &http::once("GET", "/healthz"))?;
    attacker.read_all()?;
    Ok(flows)
}

/// Answers that close, each taken to its end.
fn time_wait(attacker: &mut Attacker) -> Result<Vec<Flow>, Failure> {
    for _ in 0..2 {
        let mut flows = attacker.holding(HELD / 2, &http::once("GET", "/healthz"))?;
        attacker.take_answers(&mut flows)?;
        for flow in &flows {
            attacker.peer.send(&flow.segment(Flags::FIN_ACK))?;
        }
    }
    attacker.read_all()?;
    Ok(Vec::new())
}

/// Idlers that take no notice of having been closed, and as many newcomers.
fn records(attacker: &mut Attacker) -> Result<Vec<Flow>, Failure> {
    let mut all = Vec::new();
    for _ in 0..2 {
        let mut flows = attacker.holding(HELD, &http::keep("GET", "/healthz"))?;
        attacker.take_answers(&mut flows)?;
        all.extend(flows);
    }
    Ok(all)
}

/// Newcomers to a lane full of heads that do not end; none acknowledges its refusal.
fn refusals(attacker: &mut Attacker) -> Result<Vec<Flow>, Failure> {
    let mut flows = sockets(attacker)?;
    flows.extend(attacker.holding(TOGETHER, &http::once("GET", "/healthz"))?);
    attacker.read_all()?;
    Ok(flows)
}

/// Connections that are opened and reset, one after the other.
fn cookies(attacker: &mut Attacker) -> Result<Vec<Flow>, Failure> {
    for _ in 0..SPENT / TOGETHER {
        let flows = attacker.open_all(TOGETHER)?;
        attacker.reset(&flows)?;
    }
    Ok(Vec::new())
}
