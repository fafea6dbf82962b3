//! RFC 5961: what resets and connection requests inside a live connection may do.

use std::time::{Duration, Instant};

use crate::attacks::{Attacker, is_challenge, told};
use crate::failure::Failure;
use crate::frames::{Flags, Flow, Segment};
use crate::session::Session;

/// A restarted peer has its connection within this: its own TCP sends its request again after
/// a second.
const RESTARTED_WITHIN: Duration = Duration::from_secs(3);
/// How often a peer sends its request again.
const AGAIN: Duration = Duration::from_secs(1);
/// Segments that would each be challenged.
const PROVOCATIONS: u32 = 2_000;

pub(super) fn attack(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    for (what, off, challenges) in [
        ("a reset one past what is expected", 1, 1),
        ("a reset at the window's end", 2_047, 1),
        ("a reset one past the window", 2_048, 0),
        ("a reset half the space away", 1 << 31, 0),
        ("a reset of what has been received", u32::MAX, 0),
    ] {
        let flow = attacker.open()?;
        attacker.peer.send(&Segment {
            sequence: flow.next.wrapping_add(off),
            ..flow.segment(Flags::RST)
        })?;
        challenged(attacker, session, &flow, what, challenges)?;
        attacker.judge_alive(session, flow, what)?;
    }
    for (what, off) in [
        ("a request in the window", 0),
        ("a request outside of the window", 1 << 30),
    ] {
        let flow = attacker.open()?;
        attacker.peer.send(&Segment {
            sequence: flow.next.wrapping_add(off),
            ..flow.segment(Flags::SYN)
        })?;
        challenged(attacker, session, &flow, what, 1)?;
        attacker.judge_alive(session, flow, what)?;
    }
    exact(attacker, session)?;
    restarted(attacker, session)?;
    limited(attacker, session)
}

/// Asserts how many challenges come, and that nothing else does.
fn challenged(
    attacker: &mut Attacker,
    session: &mut Session<'_>,
    flow: &Flow,
    what: &str,
    count: usize,
) -> Result<(), Failure> {
    let heard = attacker.heard(session, flow, count)?;
    let all = heard.iter().all(|segment| is_challenge(flow, segment));
    session.check(
        format!("{what}: challenged {count} times"),
        all && heard.len() == count,
        told(&heard),
    );
    Ok(())
}

/// A reset with exactly the expected number closes: what comes after it is a stranger's.
fn exact(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    let mut flow = attacker.open()?;
    attacker.peer.send(&flow.segment(Flags::RST))?;
    let segment = flow.data(b"GET ");
    attacker.peer.send(&segment)?;
    let heard = attacker.heard(session, &flow, 1)?;
    session.check(
        "a reset with the expected number closes",
        heard.len() == 1 && heard.iter().all(|one| one.flags.has(Flags::RST)),
        told(&heard),
    );
    Ok(())
}

/// A peer that has forgotten its connection asks for another from the same port: the
/// challenge makes it reset the old one, and its repeated request is answered.
fn restarted(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    let old = attacker.open()?;
    let begun = Instant::now();
    let mut new = attacker.fresh();
    new.port = old.port;
    let request = new.segment(Flags::SYN);
    let deadline = begun + session.patience();
    let mut came = None;
    while came.is_none() && Instant::now() < deadline {
        attacker.peer.send(&request)?;
        let again = Instant::now() + AGAIN;
        while let Some(segment) = attacker.peer.receive(again)? {
            if !new.owns(&segment) {
                continue;
            }
            if segment.flags == Flags::SYN_ACK {
                came = Some(begun.elapsed());
                let opening = new.open(&segment);
                attacker.peer.send(&opening)?;
                attacker.opened += 1;
                break;
            }
            // RFC 9293, 3.10.7.3: an acknowledgement of what was never sent is answered by a
            // reset with its own number.
            attacker.peer.send(&Segment {
                sequence: segment.acknowledgement,
                ..new.segment(Flags::RST)
            })?;
        }
    }
    session.check(
        format!("a restarted peer has its connection within {RESTARTED_WITHIN:?}"),
        came.is_some_and(|took| took < RESTARTED_WITHIN),
        format_args!("{came:.2?}"),
    );
    if came.is_some() {
        attacker.judge_alive(session, new, "a restarted peer")?;
    }
    Ok(())
}

/// Challenges are bounded: who provokes thousands gets few.
fn limited(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    let flow = attacker.open()?;
    for number in 0..PROVOCATIONS {
        attacker.peer.send(&Segment {
            sequence: flow.next.wrapping_add(1 + number % 1_000),
            ..flow.segment(Flags::RST)
        })?;
    }
    let heard = attacker.heard(session, &flow, 1)?.len();
    session.check(
        "challenges are limited",
        heard > 0 && heard < PROVOCATIONS as usize / 2,
        format_args!("{heard} for {PROVOCATIONS} resets"),
    );
    attacker.judge_alive(session, flow, "thousands of resets in the window")
}
