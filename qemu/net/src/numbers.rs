//! The numbers of one connection, followed from what smoltcp takes and writes, and
//! the test of a segment against them.
//!
//! Invariants: NET-GATE.
//!
//! ```text
//!  theirs:    expected            edge          ours:  unacknowledged       sent
//!  ───────────────┼─────────────────┼────────   ────────────┼─────────────────┼──────
//!   heard before  │ the window      │ refused    old, at    │ may be          │ never
//!   (told again)  │                 │ (told)     most 64 Ki │ acknowledged    │ sent
//! ```

use crate::gate::{Disagreement, TextAfterEnd, Verdict};
use crate::segment::{Flags, Segment};
use smoltcp::socket::tcp::{Socket, State};

/// How far behind SND.UNA an acknowledgement is taken for an old one, and how far
/// from RCV.NXT text for a repetition: the largest window without scaling, which
/// stands for RFC 5961's MAX.SND.WND.
const OLD_MAX: u32 = 65_535;

/// What can be seen of smoltcp's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) state: State,
    to_read: u32,
    to_acknowledge: u32,
}

impl View {
    /// Of this socket, now.
    pub(crate) fn of(socket: &Socket<'_>) -> Self {
        let bytes = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            state: socket.state(),
            to_read: bytes(socket.recv_queue()),
            to_acknowledge: bytes(socket.send_queue()),
        }
    }

    /// Whether the peer's end has been taken.
    fn is_ended(self) -> bool {
        is_ended(self.state)
    }

    /// How many of our numbers the peer may acknowledge yet, sent or not: bytes, and
    /// our SYN or FIN, for no state has both.
    pub(crate) fn unacknowledged(self) -> u32 {
        let is_flag = matches!(
            self.state,
            State::SynSent | State::SynReceived | State::FinWait1 | State::Closing | State::LastAck
        );
        self.to_acknowledge.wrapping_add(u32::from(is_flag))
    }
}

fn is_ended(state: State) -> bool {
    matches!(
        state,
        State::CloseWait | State::Closing | State::LastAck | State::TimeWait
    )
}

/// Both directions' numbers of a connection past SYN-SENT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// The first of ours that the peer has not acknowledged (SND.UNA).
    unacknowledged: u32,
    /// The one after the last of ours that was ever sent.
    sent: u32,
    /// The next of the peer's (RCV.NXT).
    expected: u32,
    /// The one after the window last advertised.
    edge: u32,
    /// The same, as far as smoltcp keeps to it: it forgets the window in a probe of
    /// the peer's closed window, which looks like any segment of one byte.
    edge_kept: u32,
}

impl Numbers {
    /// Those of a connection whose request was answered by `answer`.
    pub(crate) fn answered(answer: &Segment) -> Self {
        Self {
            unacknowledged: answer.sequence,
            sent: answer.end(),
            expected: answer.acknowledgement,
            edge: answer.edge(),
            edge_kept: answer.edge(),
        }
    }

    /// Those of a connection whose request, with this number and window, was answered
    /// by `answer`. smoltcp counts the window from the answer's own number on, one
    /// less than the peer may.
    pub(crate) fn called(isn: u32, window: u16, answer: &Segment) -> Self {
        let first = isn.wrapping_add(1);
        let edge = answer.sequence.wrapping_add(u32::from(window));
        Self {
            unacknowledged: first,
            sent: first,
            expected: answer.sequence.wrapping_add(1),
            edge,
            edge_kept: edge,
        }
    }

    /// The next number that is expected of the peer.
    pub(crate) fn expected(&self) -> u32 {
        self.expected
    }

    /// The last acknowledgement that the peer could send.
    pub(crate) fn acknowledgement_max(&self) -> u32 {
        self.sent
    }

    /// What is to become of `segment`, in a state past SYN-SENT.
    pub(crate) fn judge(&self, state: State, segment: &Segment) -> Verdict {
        let flags = segment.flags;
        let offset = segment.sequence.wrapping_sub(self.expected);
        // Behind its end a peer has nothing to say but acknowledgements.
        let window = if is_ended(state) {
            0
        } else {
            self.window(self.edge)
        };
        if flags.has(Flags::RST) {
            // RFC 5961, 3.2.
            return match offset {
                0 => Verdict::Pass,
                _ if offset < window => Verdict::Challenge,
                _ => Verdict::Drop,
            };
        }
        if flags.has(Flags::SYN) {
            // RFC 5961, 4.2. A peer that has forgotten the connection resets it then.
            return Verdict::Challenge;
        }
        let length = segment.length();
        if !is_acceptable(offset, length, window) {
            let is_near = offset.wrapping_add(OLD_MAX) <= OLD_MAX.wrapping_mul(2);
            return if length > 0 && is_near {
                Verdict::Acknowledge
            } else {
                Verdict::Challenge
            };
        }
        if !flags.has(Flags::ACK) {
            return Verdict::Drop;
        }
        if !self.may_be_acknowledged(segment.acknowledgement) {
            return Verdict::Challenge;
        }
        let end = offset.wrapping_add(u32::from(segment.text_bytes));
        if flags.has(Flags::FIN) && end >= self.window(self.edge_kept) {
            return Verdict::PassWithoutEnd;
        }
        Verdict::Pass
    }

    /// Bytes of the window last advertised that the peer has not used.
    pub(crate) fn advertised(&self) -> usize {
        usize::try_from(self.window(self.edge)).unwrap_or(usize::MAX)
    }

    /// The window up to `edge`. An edge never moves back, so it is not behind what was
    /// heard; if one ever were, there would be no window.
    fn window(&self, edge: u32) -> u32 {
        let window = edge.wrapping_sub(self.expected);
        if window > u32::from(u16::MAX) {
            0
        } else {
            window
        }
    }

    /// RFC 5961, 5.2.
    fn may_be_acknowledged(&self, number: u32) -> bool {
        let oldest = self.unacknowledged.wrapping_sub(OLD_MAX);
        number.wrapping_sub(oldest) <= self.sent.wrapping_sub(oldest)
    }

    /// Notes a segment that smoltcp wrote.
    pub(crate) fn sent(&mut self, wrote: &Segment) -> Result<(), Disagreement> {
        let agrees = wrote.acknowledgement == self.expected;
        debug_assert!(agrees, "smoltcp acknowledges {wrote:?} at {self:?}");
        self.expected = wrote.acknowledgement;
        let reach = |number: u32| number.wrapping_sub(self.unacknowledged);
        if reach(wrote.sequence) <= OLD_MAX && reach(wrote.end()) > reach(self.sent) {
            self.sent = wrote.end();
        }
        self.edge = wrote.edge();
        if wrote.text_bytes != 1 {
            self.edge_kept = self.edge;
        }
        if agrees { Ok(()) } else { Err(Disagreement) }
    }

    /// Notes what smoltcp made of `segment`.
    pub(crate) fn heard(
        &mut self,
        segment: &Segment,
        before: View,
        after: View,
    ) -> Result<(), TextAfterEnd> {
        let acknowledged = before.unacknowledged().wrapping_sub(after.unacknowledged());
        self.unacknowledged = self.unacknowledged.wrapping_add(acknowledged);
        let read = after.to_read.wrapping_sub(before.to_read);
        self.expected = self.expected.wrapping_add(read);
        if after.is_ended() && !before.is_ended() {
            let end = segment.sequence.wrapping_add(u32::from(segment.text_bytes));
            let is_last = self.expected == end;
            self.expected = self.expected.wrapping_add(1);
            if !is_last {
                return Err(TextAfterEnd);
            }
        }
        Ok(())
    }
}

/// The table of RFC 9293, 3.10.7.4: whether a segment of this length, which begins
/// `offset` after the number that is expected, touches the window.
fn is_acceptable(offset: u32, length: u32, window: u32) -> bool {
    match (length, window) {
        (0, 0) => offset == 0,
        (0, _) => offset < window,
        (_, 0) => false,
        _ => offset < window || offset.wrapping_add(length).wrapping_sub(1) < window,
    }
}
