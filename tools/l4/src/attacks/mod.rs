//! What a hostile peer does by hand on the public wire, segment by segment, and what must
//! come of it.

mod cookies;
mod edges;
mod live;
mod oddities;
pub(crate) mod pools;

use std::time::Instant;

use crate::failure::Failure;
use crate::frames::flow::status;
use crate::frames::peer::moment;
use crate::frames::{Flags, Flow, Peer, Segment};
use crate::http;
use crate::random::Random;
use crate::session::Session;

/// Where the peer's ports begin.
const PORTS: u16 = 10_000;

/// An attack: its name, and what carries it out.
pub(crate) type Attack = (
    &'static str,
    fn(&mut Attacker, &mut Session<'_>) -> Result<(), Failure>,
);

/// What fills a pool: the pool's name, and what is done; tells the connections that still hold
/// something.
pub(crate) type Fill = (
    &'static str,
    fn(&mut Attacker) -> Result<Vec<Flow>, Failure>,
);

pub(crate) const ALL: [Attack; 4] = [
    ("the window's edges", edges::attack),
    ("resets and requests inside a live connection", live::attack),
    ("fragments, options and urgent pointers", oddities::attack),
    ("replayed and forged cookies", cookies::attack),
];

pub(crate) struct Attacker {
    peer: Peer,
    next_port: u16,
    random: Random,
    /// Handshakes that it has carried through: the guest has no more connections from it.
    pub(crate) opened: u64,
    /// Answers that it has read to their end.
    pub(crate) answers: http::Tally,
}

impl Attacker {
    /// Takes over a wire.
    pub(crate) fn new(peer: Peer, seed: u64) -> Self {
        Self {
            peer,
            next_port: PORTS,
            random: Random::new(seed),
            opened: 0,
            answers: http::Tally::default(),
        }
    }

    /// A connection that is not opened yet, from a port that was never used.
    fn fresh(&mut self) -> Flow {
        let port = self.next_port;
        self.next_port = port.wrapping_add(1).max(PORTS);
        let isn = u32::try_from(self.random.next() >> 32).unwrap_or_default();
        Flow::new(port, isn)
    }

    pub(crate) fn open_all(&mut self, count: usize) -> Result<Vec<Flow>, Failure> {
        let flows = (0..count).map(|_| self.fresh()).collect();
        let open = self.peer.connect_all(flows)?;
        self.opened += open.len() as u64;
        Ok(open)
    }

    /// An open connection.
    fn open(&mut self) -> Result<Flow, Failure> {
        let none = || Failure::host("opening a connection by hand", "it was not answered");
        self.open_all(1)?.into_iter().next().ok_or_else(none)
    }

    /// Asks for the health on a connection and has it closed; the status of the answer.
    fn ask(&mut self, flow: &mut Flow) -> Result<Option<u16>, Failure> {
        let answer = self.peer.exchange(flow, &http::once("GET", "/healthz"))?;
        let status = status(&answer);
        if let Some(status) = status {
            self.answers.status(status, 1);
        }
        Ok(status)
    }

    pub(crate) fn send(&mut self, segment: &Segment) -> Result<(), Failure> {
        self.peer.send(segment)
    }

    /// Reads nothing from now on, or again; see [`Peer::set_deaf`].
    pub(crate) fn set_deaf(&mut self, deaf: bool) {
        self.peer.set_deaf(deaf);
    }

    /// Reads whatever the guest has to say, until it says nothing for a moment; how many
    /// segments that was.
    pub(crate) fn read_all(&mut self) -> Result<usize, Failure> {
        let mut count = 0;
        while self.peer.receive(moment())?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// That many open connections, each of which has sent `bytes`.
    fn holding(&mut self, count: usize, bytes: &[u8]) -> Result<Vec<Flow>, Failure> {
        let mut flows = self.open_all(count)?;
        for flow in &mut flows {
            let segment = flow.data(bytes);
            self.peer.send(&segment)?;
        }
        Ok(flows)
    }

    /// Reads whatever comes and acknowledges what is in order of these connections, until
    /// nothing has come for a moment.
    fn take_answers(&mut self, flows: &mut [Flow]) -> Result<(), Failure> {
        flows.sort_unstable_by_key(|flow| flow.port);
        while let Some(segment) = self.peer.receive(moment())? {
            let Ok(place) = flows.binary_search_by_key(&segment.to.1, |flow| flow.port) else {
                continue;
            };
            if let Some(flow) = flows.get_mut(place)
                && segment.sequence == flow.expected
                && segment.end() != segment.sequence
            {
                flow.expected = segment.end();
                self.peer.send(&flow.segment(Flags::ACK))?;
            }
        }
        Ok(())
    }

    /// Lets go of connections whose numbers are still what both sides think.
    pub(crate) fn reset(&mut self, flows: &[Flow]) -> Result<(), Failure> {
        flows
            .iter()
            .try_for_each(|flow| self.peer.send(&flow.segment(Flags::RST)))
    }

    /// What the guest says on a connection: waits for `count` segments, as long as anything is
    /// awaited, and then a moment for more.
    fn heard(
        &mut self,
        session: &Session<'_>,
        flow: &Flow,
        count: usize,
    ) -> Result<Vec<Segment>, Failure> {
        let deadline = Instant::now() + session.patience();
        let mut heard = Vec::new();
        loop {
            let until = if heard.len() < count {
                deadline
            } else {
                moment()
            };
            match self.peer.receive(until)? {
                Some(segment) if flow.owns(&segment) => heard.push(segment),
                Some(_) => {}
                None => return Ok(heard),
            }
        }
    }

    /// Asserts that a connection is alive, by having a request answered on it.
    fn judge_alive(
        &mut self,
        session: &mut Session<'_>,
        mut flow: Flow,
        what: &str,
    ) -> Result<(), Failure> {
        let status = self.ask(&mut flow)?;
        session.check(
            format!("{what}: the connection lives"),
            status == Some(200),
            format_args!("{status:?}"),
        );
        Ok(())
    }

    /// Asserts that the public lane still serves a stranger.
    pub(crate) fn judge_serving(
        &mut self,
        session: &mut Session<'_>,
        after: &str,
    ) -> Result<(), Failure> {
        let mut flow = self.open()?;
        let status = self.ask(&mut flow)?;
        session.check(
            format!("the public lane serves on after {after}"),
            status == Some(200),
            format_args!("{status:?}"),
        );
        Ok(())
    }
}

/// Whether a segment acknowledges exactly what the connection has sent, and does nothing else
/// (RFC 5961's challenge).
fn is_challenge(flow: &Flow, segment: &Segment) -> bool {
    segment.flags == Flags::ACK
        && segment.payload.is_empty()
        && (segment.sequence, segment.acknowledgement) == (flow.expected, flow.next)
}

/// What was heard, for a message.
fn told(heard: &[Segment]) -> String {
    let one = |segment: &Segment| {
        format!(
            "flags {:#04x} seq {} ack {} {} bytes",
            segment.flags.0,
            segment.sequence,
            segment.acknowledgement,
            segment.payload.len()
        )
    };
    let all: Vec<String> = heard.iter().take(4).map(one).collect();
    format!("{} heard: {}", heard.len(), all.join("; "))
}
