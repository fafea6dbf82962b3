//! Case `no-wait`: no answer waits for an acknowledgement. A peer that acknowledges nothing
//! gets all that the guest may send, in as few segments as hold it; and the host's own TCP,
//! which delays its acknowledgements, never finds a gap that one of them ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::frames::capture::{self, Captured};
use crate::frames::flow::status;
use crate::frames::peer::patience;
use crate::frames::{Flags, Peer};
use crate::http::{self, Wire as Connection};
use crate::lane::Lane;
use crate::machine::nic::Filter;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire::{Wire, Wires};

pub(crate) const CASE: Case = Case {
    name: "no-wait",
    title: "no answer, of one segment or of many, waits for an acknowledgement",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::All(&[Wire::Frames, Wire::Tap]),
    run,
    controls: &[
        Control {
            name: "nagle",
            breaks: "a short segment waits until everything before it is acknowledged",
            sabotage: Sabotage::Kernel("broken-nagle"),
            must_fail: "is answered without an acknowledgement",
        },
        Control {
            name: "lone-end",
            breaks: "an answer leaves before its connection can be closed",
            sabotage: Sabotage::Kernel("broken-lone-end"),
            must_fail: "its end rides on the last data",
        },
    ],
};

/// Answers of one, two, three and more segments.
const TARGETS: [&str; 4] = ["/healthz", "/api/ingress", "/", "/app.js"];
/// What the guest sends of an answer before any of it is acknowledged: its socket's buffer.
const UNACKNOWLEDGED_BYTES: usize = 4_096;
/// Times that each target is asked for by hand.
const ATTEMPTS: u16 = 5;
/// What a segment holds.
const SEGMENT_BYTES: usize = 1_460;
/// Requests of each target on one connection: more than the host's TCP acknowledges at once
/// at its begin.
const ROUNDS: usize = 40;
/// A gap of this length, ended by an acknowledgement, was a wait: the host delays one by 40 ms
/// at least.
const WAIT: Duration = Duration::from_millis(20);

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    match session.wire() {
        Wire::Frames => by_hand(session),
        Wire::Tap | Wire::User => beside_the_hosts_tcp(session),
    }
}

/// A peer that acknowledges nothing.
fn by_hand(session: &mut Session<'_>) -> Result<(), Failure> {
    let (mut trial, mut peer) = session.boot_by_hand("three-lanes")?;
    for (number, target) in (0..).zip(TARGETS) {
        trial.session.step(format!("{target}, and not a word"));
        let mut ends = Ends::default();
        for attempt in 0..ATTEMPTS {
            let port = 10_000 + number * 100 + attempt;
            ends.count(unacknowledged(trial.session, &mut peer, port, target)?);
            trial.clients.lane(Lane::Anonymous).status(200, 1);
        }
        // An interrupt between two entries of the service lets an answer go without its end.
        trial.session.check(
            format!("{target}: its end rides on the last data"),
            ends.alone <= ends.with_data,
            format_args!("{ends:?}"),
        );
        trial.session.figure(
            format!("{target}, nothing acknowledged"),
            format_args!("{ends:?}"),
        );
    }
    trial.settle().map(drop)
}

/// How the answers to one target ended.
#[derive(Clone, Copy, Debug, Default)]
struct Ends {
    /// On a segment that brought text.
    with_data: usize,
    /// In a segment of its own.
    alone: usize,
    /// Not before an acknowledgement: the answer is longer than the guest may send at once.
    later: usize,
}

impl Ends {
    fn count(&mut self, end: End) {
        match end {
            End::WithData => self.with_data += 1,
            End::Alone => self.alone += 1,
            End::Later => self.later += 1,
        }
    }
}

/// How one answer ended.
#[derive(Clone, Copy, Debug)]
enum End {
    WithData,
    Alone,
    Later,
}

fn unacknowledged(
    session: &mut Session<'_>,
    peer: &mut Peer,
    port: u16,
    target: &str,
) -> Result<End, Failure> {
    let mut whole_flow = peer.connect(port + 1_000, 7)?;
    let whole = peer
        .exchange(&mut whole_flow, &http::once("GET", target))?
        .len();
    let expected = whole.min(UNACKNOWLEDGED_BYTES);
    let mut flow = peer.connect(port, 7)?;
    let request = flow.data(&http::once("GET", target));
    peer.send(&request)?;
    let deadline = patience();
    let (mut answer, mut segments, mut ended) = (Vec::new(), 0, false);
    while answer.len() < expected {
        let Some(segment) = peer.receive(deadline)? else {
            break;
        };
        if flow.owns(&segment)
            && segment.sequence == flow.expected
            && segment.end() != segment.sequence
        {
            flow.expected = segment.end();
            segments += 1;
            ended |= segment.flags.has(Flags::FIN);
            answer.extend(segment.payload);
        }
    }
    peer.send(&flow.segment(Flags::ACK))?;
    peer.send(&flow.segment(Flags::RST))?;
    session.check(
        format!("{target} is answered without an acknowledgement"),
        status(&answer) == Some(200) && answer.len() >= expected,
        format_args!("{} bytes of {expected}", answer.len()),
    );
    session.check_equal(
        format!("{target}: as few segments as hold it"),
        segments,
        expected.div_ceil(SEGMENT_BYTES),
    );
    Ok(match (whole <= UNACKNOWLEDGED_BYTES, ended) {
        (true, true) => End::WithData,
        (true, false) => End::Alone,
        (false, _) => End::Later,
    })
}

/// The host's own TCP, and what passed on the wire.
fn beside_the_hosts_tcp(session: &mut Session<'_>) -> Result<(), Failure> {
    let file = session.folder().join("public.pcap");
    let mut nics = session.nics();
    if let Some(public) = nics.first_mut() {
        public.filters.push(Filter::Dump(file.clone()));
    }
    let mut trial = session.boot_on("three-lanes", nics)?;
    for target in TARGETS {
        trial
            .session
            .step(format!("{target}, {ROUNDS} times on one connection"));
        let took = ask(&mut trial, target)?;
        trial.session.figure(
            format!("{ROUNDS} times {target}"),
            format_args!("{took:.1?}"),
        );
    }
    trial.settle()?;
    let waits = waits(&capture::read(&file)?);
    session.check(
        "no answer to the host's TCP waits for an acknowledgement",
        waits.answers >= ROUNDS * TARGETS.len() && waits.waited * 10 < waits.answers,
        format_args!("{waits:?}"),
    );
    session.figure(
        "answers, and those with a gap that an acknowledgement ended",
        format_args!("{waits:?}"),
    );
    Ok(())
}

fn ask(trial: &mut Trial<'_, '_>, target: &str) -> Result<Duration, Failure> {
    let request = http::keep("GET", target);
    let (address, tally) = (trial.guest.public()?, trial.clients.lane(Lane::Anonymous));
    let begun = Instant::now();
    if let Ok(mut connection) = Connection::connect(address) {
        for _ in 0..ROUNDS {
            let answer = connection
                .send(&request)
                .and_then(|()| connection.response(&request));
            tally.count(&answer);
        }
    }
    Ok(begun.elapsed())
}

/// Answers, and those that waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waits {
    answers: usize,
    waited: usize,
}

/// The course of one connection.
#[derive(Default)]
struct Course {
    /// The guest's last data: its end, and when it passed.
    last: Option<(u32, Duration)>,
    acknowledged: bool,
    waited: bool,
}

/// An answer has waited if some of its data came long after the data before it, which had been
/// acknowledged in between.
fn waits(captured: &[Captured]) -> Waits {
    let mut courses: BTreeMap<u16, Course> = BTreeMap::new();
    let mut waits = Waits::default();
    for Captured { at, segment } in captured {
        if segment.from.1 == Lane::Anonymous.port() {
            let course = courses.entry(segment.to.1).or_default();
            if segment.payload.is_empty() {
                continue;
            }
            if let Some((_, before)) = course.last
                && course.acknowledged
                && at.saturating_sub(before) > WAIT
            {
                course.waited = true;
            }
            course.last = Some((segment.end(), *at));
            course.acknowledged = false;
            continue;
        }
        let course = courses.entry(segment.from.1).or_default();
        if let Some((end, _)) = course.last
            && segment.acknowledgement == end
        {
            course.acknowledged = true;
        }
        if !segment.payload.is_empty() || segment.flags.has(Flags::FIN) {
            waits.answers += usize::from(course.last.take().is_some());
            waits.waited += usize::from(std::mem::take(&mut course.waited));
            course.acknowledged = false;
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::Segment;

    fn guest(at_ms: u64, sequence: u32, bytes: usize) -> Captured {
        Captured {
            at: Duration::from_millis(at_ms),
            segment: Segment {
                from: (Segment::default().to.0, Lane::Anonymous.port()),
                to: (Segment::default().from.0, 4_000),
                sequence,
                payload: vec![0; bytes],
                flags: Flags::PSH_ACK,
                ..Segment::default()
            },
        }
    }

    fn host(at_ms: u64, acknowledgement: u32, bytes: usize) -> Captured {
        Captured {
            at: Duration::from_millis(at_ms),
            segment: Segment {
                from: (Segment::default().from.0, 4_000),
                acknowledgement,
                payload: vec![0; bytes],
                flags: Flags::ACK,
                ..Segment::default()
            },
        }
    }

    #[test]
    fn a_gap_that_an_acknowledgement_ended_is_a_wait_and_no_other_is() {
        let waited = [
            host(0, 0, 10),
            guest(1, 0, 100),
            host(41, 100, 0),
            guest(42, 100, 50),
            host(43, 150, 10),
        ];
        let of = |answers, waited| Waits { answers, waited };
        assert_eq!(waits(&waited), of(1, 1));
        let slow_without = [
            host(0, 0, 10),
            guest(1, 0, 100),
            guest(42, 100, 50),
            host(43, 150, 10),
        ];
        assert_eq!(waits(&slow_without), of(1, 0));
        let quick = [
            host(0, 0, 10),
            guest(1, 0, 100),
            host(2, 100, 0),
            guest(3, 100, 50),
            host(90, 150, 10),
            guest(91, 150, 50),
            host(92, 200, 10),
        ];
        assert_eq!(waits(&quick), of(2, 0));
    }
}
