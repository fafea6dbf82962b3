//! Acknowledgements that no request was answered with: replayed after their connection has
//! ended, and invented.

use crate::attacks::{Attacker, told};
use crate::failure::Failure;
use crate::frames::{Flags, Segment};
use crate::session::Session;

/// Connections whose handshakes are replayed.
const REPLAYED: usize = 64;
/// Acknowledgements that are invented.
const FORGED: usize = 5_000;

pub(super) fn attack(attacker: &mut Attacker, session: &mut Session<'_>) -> Result<(), Failure> {
    let flows = attacker.open_all(REPLAYED)?;
    attacker.reset(&flows)?;
    // A lane that is full tells a newcomer so; that may have been on its way before the reset.
    attacker.read_all()?;
    for flow in &flows {
        attacker.peer.send(&flow.segment(Flags::ACK))?;
    }
    if let Some(last) = flows.last() {
        let heard = attacker.heard(session, last, 1)?;
        session.check(
            "a cookie that was spent opens nothing",
            heard.iter().all(|segment| segment.flags.has(Flags::RST)) && !heard.is_empty(),
            told(&heard),
        );
    }
    for _ in 0..FORGED {
        let flow = attacker.fresh();
        let acknowledgement = u32::try_from(attacker.random.next() >> 32).unwrap_or_default();
        attacker.peer.send(&Segment {
            acknowledgement,
            payload: b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
            ..flow.segment(Flags::PSH_ACK)
        })?;
    }
    attacker.judge_serving(session, "forged cookies")
}
