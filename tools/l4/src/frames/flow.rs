//! One connection of a [`Peer`]'s to the public lane, kept by hand: two sequence numbers, and
//! segments made from them.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::frames::peer::{Peer, patience};
use crate::frames::{Flags, PEER_IP, Segment};

/// How long a handshake's segments are awaited before they are sent again.
const KNOCK_EVERY: Duration = Duration::from_secs(1);
/// Requests that are under way at one time: fewer than a card has buffers.
const KNOCKS: usize = 64;

/// A connection as the peer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// The peer's port.
    pub(crate) port: u16,
    /// The sequence number of the peer's next byte.
    pub(crate) next: u32,
    /// The sequence number of the guest's next byte.
    pub(crate) expected: u32,
}

impl Flow {
    /// A connection that is to be opened: `isn` is the peer's first number.
    pub(crate) fn new(port: u16, isn: u32) -> Self {
        Self {
            port,
            next: isn,
            expected: 0,
        }
    }

    /// A segment without data, in order.
    pub(crate) fn segment(&self, flags: Flags) -> Segment {
        Segment {
            from: (PEER_IP, self.port),
            sequence: self.next,
            acknowledgement: self.expected,
            flags,
            ..Segment::default()
        }
    }

    /// A segment with data, in order; the flow goes on after it.
    pub(crate) fn data(&mut self, payload: &[u8]) -> Segment {
        let segment = Segment {
            payload: payload.to_vec(),
            ..self.segment(Flags::PSH_ACK)
        };
        self.next = segment.end();
        segment
    }

    /// Whether a segment of the guest's is of this connection.
    pub(crate) fn owns(&self, segment: &Segment) -> bool {
        segment.to == (PEER_IP, self.port)
    }

    /// Takes the guest's answer to the request; the acknowledgement that opens the connection.
    pub(crate) fn open(&mut self, answer: &Segment) -> Segment {
        self.next = answer.acknowledgement;
        self.expected = answer.end();
        self.segment(Flags::ACK)
    }
}

impl Peer {
    /// Opens a connection; other connections' segments are passed over.
    pub(crate) fn connect(&mut self, port: u16, isn: u32) -> Result<Flow, Failure> {
        let flows = self.connect_all(vec![Flow::new(port, isn)])?;
        let none = || Failure::host("opening a connection by hand", "it was not answered");
        flows.into_iter().next().ok_or_else(none)
    }

    /// Opens connections, a few at a time; tells those that the guest has answered.
    pub(crate) fn connect_all(&mut self, flows: Vec<Flow>) -> Result<Vec<Flow>, Failure> {
        let mut answered = self.knock(flows)?;
        for flow in &mut answered {
            self.send(&flow.segment(Flags::ACK))?;
        }
        Ok(answered)
    }

    /// Has the guest answer the connections' requests, and acknowledges none of the answers:
    /// the guest keeps nothing of such a connection.
    pub(crate) fn knock(&mut self, flows: Vec<Flow>) -> Result<Vec<Flow>, Failure> {
        let mut answered = Vec::with_capacity(flows.len());
        let mut left = flows.into_iter();
        loop {
            let mut waiting: Vec<Flow> = left.by_ref().take(KNOCKS).collect();
            if waiting.is_empty() {
                return Ok(answered);
            }
            let deadline = patience();
            while !waiting.is_empty() && Instant::now() < deadline {
                for flow in &waiting {
                    self.send(&Segment {
                        options: vec![2, 4, 5, 0xb4],
                        ..flow.segment(Flags::SYN)
                    })?;
                }
                self.answers(&mut waiting, &mut answered)?;
            }
        }
    }

    /// Moves what is answered until the time has come to knock again.
    fn answers(
        &mut self,
        waiting: &mut Vec<Flow>,
        answered: &mut Vec<Flow>,
    ) -> Result<(), Failure> {
        let again = Instant::now() + KNOCK_EVERY;
        while !waiting.is_empty() {
            let Some(segment) = self.receive(again)? else {
                break;
            };
            let place = waiting.iter().position(|flow| flow.owns(&segment));
            if let Some(place) = place
                && segment.flags == Flags::SYN_ACK
            {
                let mut flow = waiting.swap_remove(place);
                flow.open(&segment);
                answered.push(flow);
            }
        }
        Ok(())
    }

    /// Sends a request on a connection and reads the answer to its last byte, acknowledging
    /// each segment; what has come of it by the time a client gives up.
    pub(crate) fn exchange(&mut self, flow: &mut Flow, request: &[u8]) -> Result<Vec<u8>, Failure> {
        let segment = flow.data(request);
        self.send(&segment)?;
        let deadline = patience();
        let mut answer = Vec::new();
        while !is_whole(&answer) {
            let Some(segment) = self.receive(deadline)? else {
                break;
            };
            if !flow.owns(&segment) {
                continue;
            }
            if segment.flags.has(Flags::RST) {
                break;
            }
            if segment.sequence == flow.expected && segment.end() != segment.sequence {
                flow.expected = segment.end();
                answer.extend(&segment.payload);
                self.send(&flow.segment(Flags::ACK))?;
            }
            if segment.flags.has(Flags::FIN) {
                break;
            }
        }
        Ok(answer)
    }
}

/// Whether a response of a known length has come to its end.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return false;
    };
    let (head, body) = answer.split_at(end + 4);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .and_then(|value| value.trim().parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}

pub(crate) fn status(answer: &[u8]) -> Option<u16> {
    let code = answer.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    std::str::from_utf8(code).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_goes_on_after_what_it_sends_and_after_the_handshake() {
        let mut flow = Flow::new(4000, u32::MAX);
        let answer = Segment {
            sequence: 7,
            acknowledgement: 0,
            flags: Flags::SYN_ACK,
            to: (PEER_IP, 4000),
            ..Segment::default()
        };
        assert!(flow.owns(&answer));
        let acknowledgement = flow.open(&answer);
        assert_eq!(
            (acknowledgement.sequence, acknowledgement.acknowledgement),
            (0, 8)
        );
        assert_eq!(flow.data(b"abc").sequence, 0);
        assert_eq!(flow.next, 3);
    }

    #[test]
    fn a_response_is_whole_with_its_last_byte() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
        assert!(!is_whole(&head[..20]));
        assert!(!is_whole(head));
        assert!(is_whole(&[&head[..], b"ok"].concat()));
        assert_eq!(status(head), Some(200));
        assert_eq!(status(b"HTTP/1.0"), None);
    }
}
