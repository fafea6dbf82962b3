//! The handler of a route is entered, here and nowhere else, with what was asked and the area of a
//! slot; what it says is put behind a head.
//!
//! ```text
//!   slot area    | PREFIX | head room    | body, as the handler writes it |
//!   then         | PREFIX | head | body, moved down to it |
//! ```

use crate::answer::head::{Connection, Response, Shape, write_head};
use crate::answer::problem::Problem;
use crate::answer::reply::{Content, Effect, Reply, Said};
use crate::connection::buffers::{PREFIX, SLOT_BYTES};
use crate::connection::output::Output;
use crate::connection::record::{After, Asked, Doing, Held, Reason};
use crate::connection::session::Protocol;
use crate::connection::table::{Parts, Place};
use crate::handlers::Verdict;
use crate::http::condition::Condition;
use crate::http::status::Status;
use crate::http::write::Text;
use crate::request::asked::{Facts, Request};
use crate::request::job::{self, Job, Outcome};
use crate::server::{Now, Server};

/// Room for the head of an answer whose body is written into the slot. The heads of files are longer,
/// and have the whole area.
const HEAD_ROOM: usize = 512;

/// What a handler made of a request.
enum Made {
    Answer(Said, Option<usize>),
    Wait(Job),
    Upgrade(&'static Protocol),
    /// There is no handler, which no admitted request lacks.
    Nothing,
}

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Has the handler of the request's route answer, or wait for a job and answer then.
    pub(crate) fn respond(&mut self, at: Place, held: Held, outcome: Option<Outcome>, now: Now) {
        match self.enter_handler(at, &held, outcome) {
            Made::Answer(said, body) => {
                let is_holding = self.memory[at].asked.condition == Condition::Holds;
                if let Some(effect) = said.effect.filter(|_| is_holding) {
                    self.apply(effect);
                }
                let after = match said.content {
                    Content::Problem(_) => After::Linger,
                    _ => self.after_request(at),
                };
                self.send_answer(at, held, (said, body), after, now);
            }
            Made::Upgrade(protocol) => {
                let said = Said {
                    status: Status::SwitchingProtocols,
                    media_type: None,
                    allow: None,
                    content: Content::Fixed(b""),
                    effect: None,
                };
                self.send_answer(at, held, (said, Some(0)), After::Upgrade(protocol), now);
            }
            Made::Wait(job) => self.begin_job(at, held, (job, outcome), now),
            Made::Nothing => self.give_up(at, held, "an admitted request has no handler"),
        }
    }

    /// A job has ended: its handler goes on with the outcome.
    pub(crate) fn resume(&mut self, at: Place, outcome: Outcome, now: Now) {
        match self.memory[at].take_working() {
            Some(held) => self.respond(at, held, Some(outcome), now),
            None => self.state.fault("a job ended that no request waits for"),
        }
    }

    fn enter_handler(&mut self, at: Place, held: &Held, outcome: Option<Outcome>) -> Made {
        let memory = self.memory.bytes_used();
        let (Parts { record, input, .. }, area) = self.memory.served(at, held);
        let Asked { route, method, .. } = record.asked;
        let (Some(route), Some(method)) = (route, method) else {
            return Made::Nothing;
        };
        let (head, body) = record.input.request(input);
        let request = Request {
            lane: record.lane(),
            method,
            route,
            body,
            outcome,
            facts: Facts::new(self.state, memory),
            head,
        };
        let room = PREFIX.saturating_add(HEAD_ROOM)..PREFIX.saturating_add(SLOT_BYTES);
        let mut reply = Reply::new(area.get_mut(room).unwrap_or_default());
        match (route.handler)(&request, &mut reply) {
            Verdict::Done => {
                let (said, body) = reply.finish();
                Made::Answer(said, body)
            }
            Verdict::Later(job) => Made::Wait(job),
            Verdict::Upgrade(protocol) => Made::Upgrade(protocol),
        }
    }

    /// A request waits for a job from here on; if there is no place for one, its handler is told so.
    fn begin_job(
        &mut self,
        at: Place,
        held: Held,
        (job, before): (Job, Option<Outcome>),
        now: Now,
    ) {
        if before == Some(Outcome::Busy) {
            return self.give_up(at, held, "a handler does not take no for an answer");
        }
        let lane = self.memory[at].lane();
        let Some(id) = self.state.jobs.claim(lane, at, job) else {
            return self.respond(at, held, Some(Outcome::Busy), now);
        };
        let request = self.state.ledger.deadline(&held.reservation);
        self.enter(at, Doing::Working { held, job: id });
        self.set_deadline(at, job::deadline(job, request, now));
        self.memory[at].wanted.start = true;
        self.note_wish(at);
    }

    /// Writes head and body into the slot, and has them sent.
    fn send_answer(
        &mut self,
        at: Place,
        held: Held,
        (said, body): (Said, Option<usize>),
        after: After,
        now: Now,
    ) {
        let Some((status, output)) = self.write_answer(at, &held, (said, body), after) else {
            return self.give_up(at, held, "an answer is larger than its area");
        };
        let lane = self.memory[at].lane();
        self.count_response(lane, status);
        let write = self.phases(lane).write;
        let request = self.state.ledger.deadline(&held.reservation);
        let deadline = request
            .zip(now)
            .map(|(request, now)| request.min(now.after(write)));
        let serving = Doing::Serving {
            held,
            output,
            after,
        };
        self.enter(at, serving);
        self.set_deadline(at, deadline);
        self.want_send(at);
    }

    fn write_answer(
        &mut self,
        at: Place,
        held: &Held,
        (said, body): (Said, Option<usize>),
        after: After,
    ) -> Option<(Status, Output)> {
        let date = self.state.date();
        let (Parts { record, .. }, area) = self.memory.served(at, held);
        let (lane, asked) = (record.lane(), record.asked);
        let shape = Shape {
            connection: Connection::of(after, asked.version),
            head_only: asked.head_only,
            date: date.as_ref(),
        };
        let area = area.get_mut(PREFIX..PREFIX.saturating_add(SLOT_BYTES))?;
        // Preconditions count only where the answer would be a success (RFC 9110 §13.2.1).
        let is_success = said.status.code() / 100 == 2;
        let problem = match (said.content, asked.condition) {
            (Content::Problem(problem), _) => Some(problem),
            (_, Condition::Failed) if is_success => Some(Problem::of_failed_condition()),
            _ => None,
        };
        if let Some(problem) = problem {
            let bytes = problem.write(lane, shape, area)?;
            return Some((problem.status, Output::start(bytes, &[])));
        }
        if is_success && asked.condition == Condition::NotModified {
            let said = Said {
                status: Status::NotModified,
                media_type: None,
                ..said
            };
            let shape = Shape {
                head_only: true,
                ..shape
            };
            return Some((said.status, write_content(&said, body?, shape, area)?));
        }
        Some((said.status, write_content(&said, body?, shape, area)?))
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Drain(grace) => self.state.begin_drain(grace),
            Effect::SetWallClock(wall) => self.state.set_wall_clock(wall),
        }
    }

    /// What cannot happen has happened to a request that holds a slot: counted, and ended.
    fn give_up(&mut self, at: Place, held: Held, what: &str) {
        self.state.fault(what);
        self.release_held(at, held, crate::release::Ended::Cancelled);
        self.end(at, Reason::Defect);
    }
}

/// Writes a head, and behind it the body, of which `written` bytes stand in the area already.
fn write_content(said: &Said, written: usize, shape: Shape<'_>, area: &mut [u8]) -> Option<Output> {
    let (asset, fixed, length) = match said.content {
        Content::Fixed(bytes) => (None, bytes, bytes.len()),
        Content::File(asset) => (Some(asset), asset.content, asset.content.len()),
        Content::Written | Content::Problem(_) => (None, &b""[..], written),
    };
    let response = Response {
        status: said.status,
        media_type: said.media_type,
        length,
        connection: shape.connection,
        date: shape.date,
        allow: said.allow,
        asset,
        ..Response::EMPTY
    };
    let is_written = matches!(said.content, Content::Written);
    let room = if is_written { HEAD_ROOM } else { area.len() };
    let mut text = Text::new(area.get_mut(..room)?);
    write_head(&response, &mut text);
    if shape.head_only {
        return Some(Output::start(text.finish()?, &[]));
    }
    let (here, rest) = fixed.split_at_checked(fixed.len().min(text.room()))?;
    text.bytes(here);
    let end = text.finish()?;
    if !is_written {
        return Some(Output::start(end, rest));
    }
    area.copy_within(HEAD_ROOM..HEAD_ROOM.checked_add(written)?, end);
    Some(Output::start(end.saturating_add(written), &[]))
}
