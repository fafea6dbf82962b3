//! Segments that are rare rather than wrong, and some that are both: fragments, options in
//! every shape, urgent pointers.

use crate::attacks::Attacker;
use crate::failure::Failure;
use crate::frames::{Flags, Flow, MORE_FRAGMENTS, Segment};
use crate::session::Session;

/// Options of a connection request that is to be answered.
const SOUND: [(&str, &[u8]); 6] = [
    ("no option", &[]),
    ("the least segment size", &[2, 4, 0, 1]),
    ("no segment size", &[2, 4, 0, 0]),
    (
        "what Linux offers",
        &[
            2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7,
        ],
    ),
    ("the largest window scale", &[3, 3, 255, 1]),
    ("nothing but padding", &[1; 40]),
];

/// Options that are no options.
const UNSOUND: [&[u8]; 5] = [
    &[2, 0, 0, 0],
    &[2, 1, 0, 0],
    &[2, 40, 5, 0xb4],
    &[8, 10, 0, 0],
    &[255, 255, 255, 255],
];

pub(super) fn attack(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    for (what, options) in SOUND {
        let mut flow = attacker.fresh();
        let request = with_options(&flow, Flags::SYN, options);
        attacker.peer.send(&request)?;
        let heard = attacker.heard(session, &flow, 1)?;
        let answer = heard.iter().find(|one| one.flags == Flags::SYN_ACK);
        session.check(
            format!("a request with {what} is answered"),
            answer.is_some(),
            heard.len(),
        );
        if let Some(answer) = answer {
            let opening = flow.open(answer);
            attacker.peer.send(&opening)?;
            attacker.opened += 1;
            attacker.judge_alive(session, flow, what)?;
        }
    }
    for options in UNSOUND {
        let flow = attacker.fresh();
        attacker
            .peer
            .send(&with_options(&flow, Flags::SYN, options))?;
    }
    let flow = attacker.open()?;
    for options in UNSOUND {
        attacker
            .peer
            .send(&with_options(&flow, Flags::ACK, options))?;
    }
    attacker.judge_alive(session, flow, "unsound options")?;
    fragments(attacker, session)?;
    urgent(attacker, session)?;
    attacker.judge_serving(session, "fragments, options and urgent pointers")
}

fn with_options(flow: &Flow, flags: Flags, options: &[u8]) -> Segment {
    Segment {
        options: options.to_vec(),
        ..flow.segment(flags)
    }
}

/// A part of a packet is dropped, whatever it says: the whole that comes after it is served.
fn fragments(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    let flow = attacker.open()?;
    for fragment in [MORE_FRAGMENTS, MORE_FRAGMENTS | 1, 1, 0x1fff] {
        for flags in [Flags::PSH_ACK, Flags::FIN_ACK, Flags::RST, Flags::SYN] {
            attacker.peer.send(&Segment {
                fragment,
                payload: b"DELETE / HTTP/1.1\r\n\r\n".to_vec(),
                ..flow.segment(flags)
            })?;
        }
    }
    attacker.judge_alive(session, flow, "fragments")
}

/// Urgent data is data (RFC 6093): a request under any pointer is the same request.
fn urgent(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    for pointer in [0, 1, 1_460, u16::MAX] {
        let mut flow = attacker.open()?;
        let line = flow.data(b"GET /healthz HTTP/1.1\r\n");
        attacker.peer.send(&Segment {
            urgent: pointer,
            flags: line.flags.with(Flags::URG),
            ..line
        })?;
        let rest = b"Host: capos.test\r\nConnection: close\r\n\r\n";
        let answer = attacker.peer.exchange(&mut flow, rest)?;
        let status = crate::frames::flow::status(&answer);
        if let Some(status) = status {
            attacker.answers.status(status, 1);
        }
        session.check(
            format!("a request under the urgent pointer {pointer} is answered 200"),
            status == Some(200),
            format_args!("{status:?}"),
        );
    }
    Ok(())
}
