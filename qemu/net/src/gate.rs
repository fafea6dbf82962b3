//! The gate in front of smoltcp: which segments of a connection may reach it.
//!
//! smoltcp compares numbers by the sign of their difference, which is wrong for two
//! that are half the space apart, and subtracts on the strength of it: a segment
//! from outside could end the machine. So it only ever sees segments that pass the
//! test here, in unsigned distances from the numbers of the connection, which hold
//! in the whole space.
//!
//! Invariants: NET-GATE (no segment reaches smoltcp's connection but one whose
//! numbers are acceptable by RFC 9293, 3.10.7.3 and 3.10.7.4, and RFC 5961, against
//! what was last acknowledged and advertised; and no end that lies outside of the
//! window).

use crate::numbers::{Numbers, View};
use crate::segment::{Flags, Segment};
use smoltcp::socket::tcp::State;

/// What is to become of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// smoltcp gets it.
    Pass,
    /// smoltcp gets it without its FIN, which lies outside of the window.
    PassWithoutEnd,
    /// Nobody gets it, and nobody is told.
    Drop,
    /// Text heard before, or that finds no room: the peer is told where we stand, or
    /// it would repeat itself for ever.
    Acknowledge,
    /// It may be forged, or of a peer that started anew: challenged (RFC 5961).
    Challenge,
    /// There is no such connection any more, or not yet: as a stranger's.
    Refuse,
}

/// What the numbers of a connection are, as far as segments can be judged by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Nothing was sent yet: nothing can be an answer.
    Shut,
    /// Our connection request is on its way (SYN-SENT).
    Calling { isn: u32, window: u16 },
    /// The peer's numbers are known.
    Open(Numbers),
}

/// A disagreement between a gate and smoltcp: a fault, of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disagreement;

/// A peer that sent text behind its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TextAfterEnd;

impl Gate {
    /// The gate of a connection whose request was answered by `answer`.
    pub(crate) fn answered(answer: &Segment) -> Self {
        Self::Open(Numbers::answered(answer))
    }

    /// What is to become of `segment`, by the gate of a connection in `state`.
    pub(crate) fn judge(&self, state: State, segment: &Segment) -> Verdict {
        match self {
            _ if state == State::Closed => refuse(segment),
            Self::Shut => Verdict::Drop,
            Self::Calling { isn, .. } => judge_answer(*isn, segment),
            Self::Open(numbers) => numbers.judge(state, segment),
        }
    }

    /// Whether more than half of a receive buffer of so many bytes is advertised.
    pub(crate) fn is_wide(&self, capacity: usize) -> bool {
        match self {
            Self::Open(numbers) => numbers.advertised() > capacity >> 1,
            Self::Shut | Self::Calling { .. } => false,
        }
    }

    /// Notes a segment that smoltcp wrote.
    ///
    /// # Errors
    /// It acknowledges something else than what was heard.
    pub(crate) fn sent(&mut self, wrote: &Segment) -> Result<(), Disagreement> {
        if wrote.flags.has(Flags::RST) {
            return Ok(());
        }
        match self {
            Self::Open(numbers) => return numbers.sent(wrote),
            Self::Shut | Self::Calling { .. } if wrote.flags.has(Flags::SYN) => {
                *self = Self::Calling {
                    isn: wrote.sequence,
                    window: wrote.window,
                };
            }
            Self::Shut | Self::Calling { .. } => {}
        }
        Ok(())
    }

    /// Notes what smoltcp made of `segment`.
    ///
    /// # Errors
    /// The peer contradicts itself, and its connection is to be reset.
    pub(crate) fn heard(
        &mut self,
        segment: &Segment,
        before: View,
        after: View,
    ) -> Result<(), TextAfterEnd> {
        match self {
            Self::Shut => {}
            Self::Calling { isn, window } => {
                if after.state == State::Established {
                    *self = Self::Open(Numbers::called(*isn, *window, segment));
                }
            }
            Self::Open(numbers) => return numbers.heard(segment, before, after),
        }
        Ok(())
    }
}

fn refuse(segment: &Segment) -> Verdict {
    if segment.flags.has(Flags::RST) {
        Verdict::Drop
    } else {
        Verdict::Refuse
    }
}

/// In SYN-SENT (RFC 9293, 3.10.7.3) only what acknowledges our request says anything.
/// A request of the peer's own is not taken: see docs/decisions/0015.
fn judge_answer(isn: u32, segment: &Segment) -> Verdict {
    let flags = segment.flags;
    if !flags.has(Flags::ACK) {
        Verdict::Drop
    } else if segment.acknowledgement != isn.wrapping_add(1) {
        refuse(segment)
    } else if flags.has(Flags::SYN) || flags.has(Flags::RST) {
        Verdict::Pass
    } else {
        Verdict::Drop
    }
}
