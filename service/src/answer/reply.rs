//! Where a handler puts its answer. It says what is to be, and does nothing itself: effects are
//! values too, applied by the server when the answer is accepted.

use ingress_ledger::Span;

use crate::answer::problem::Problem;
use crate::handlers::assets::Asset;
use crate::http::fault::Fault;
use crate::http::method::Methods;
use crate::http::status::Status;
use crate::http::write::Text;
use crate::state::WallClock;

/// What a handler changes, beside answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A drain begins, with this grace or the configured one.
    Drain(Option<Span>),
    /// The wall clock is set.
    SetWallClock(WallClock),
}

/// What an answer's body is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content {
    /// These bytes.
    Fixed(&'static [u8]),
    /// A file, which is sent in parts from where it is.
    File(&'static Asset),
    /// What was written into the reply.
    Written,
    /// A typed refusal: nothing that can follow on this connection can be trusted.
    Problem(Problem),
}

/// What a handler has said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Said {
    pub(crate) status: Status,
    pub(crate) media_type: Option<&'static str>,
    pub(crate) allow: Option<Methods>,
    pub(crate) content: Content,
    pub(crate) effect: Option<Effect>,
}

/// An answer in the making.
#[derive(Debug)]
pub struct Reply<'a> {
    said: Said,
    body: Text<'a>,
}

impl<'a> Reply<'a> {
    /// An empty answer, whose body may be written into `area`.
    pub(crate) const fn new(area: &'a mut [u8]) -> Self {
        Self {
            said: Said {
                status: Status::NoContent,
                media_type: None,
                allow: None,
                content: Content::Fixed(b""),
                effect: None,
            },
            body: Text::new(area),
        }
    }

    /// Answers with fixed bytes.
    pub const fn fixed(&mut self, status: Status, media_type: &'static str, body: &'static [u8]) {
        self.said.status = status;
        self.said.media_type = Some(media_type);
        self.said.content = Content::Fixed(body);
    }

    /// Answers with a file.
    pub const fn file(&mut self, asset: &'static Asset) {
        self.said.status = Status::Ok;
        self.said.media_type = Some(asset.media_type);
        self.said.content = Content::File(asset);
    }

    /// Answers with what is written into the text that this gives.
    pub const fn write(&mut self, status: Status, media_type: &'static str) -> &mut Text<'a> {
        self.said.status = status;
        self.said.media_type = Some(media_type);
        self.said.content = Content::Written;
        &mut self.body
    }

    /// Says which methods are allowed.
    pub const fn allow(&mut self, methods: Methods) {
        self.said.allow = Some(methods);
    }

    /// Refuses the request for its form; the connection ends with it.
    pub const fn refuse(&mut self, fault: Fault) {
        let problem = Problem::of_fault(fault);
        self.said.status = problem.status;
        self.said.content = Content::Problem(problem);
    }

    /// Changes something, if the request's preconditions hold.
    pub const fn change(&mut self, effect: Effect) {
        self.said.effect = Some(effect);
    }

    /// What was said, and how long the written body is: `None` if it did not fit.
    pub(crate) const fn finish(self) -> (Said, Option<usize>) {
        (self.said, self.body.finish())
    }
}
