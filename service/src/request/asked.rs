//! What a handler is asked, borrowed from the connection's input.

use ingress_ledger::{Bytes, Lane, Span};

use crate::http::head::Head;
use crate::http::method::{Method, Methods};
use crate::http::target::{Path, Target};
use crate::report::evidence::{Evidence, ServingState};
use crate::request::job::Outcome;
use crate::request::route::Route;
use crate::state::State;

/// The header fields that a handler may ask for. There is no other way to a field, so that none that
/// a proxy adds, or a client that poses as one, has a say in anything (INV-LANE).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `Host`
    Host,
    /// `Origin`
    Origin,
    /// `Cookie`
    Cookie,
    /// `Content-Type`
    ContentType,
    /// `Upgrade`
    Upgrade,
}

impl Field {
    const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Cookie => "cookie",
            Self::ContentType => "content-type",
            Self::Upgrade => "upgrade",
        }
    }
}

/// One admitted request.
#[derive(Debug)]
pub struct Request<'a> {
    /// The lane that it is charged to.
    pub lane: Lane,
    /// Its method, one of the route's.
    pub method: Method,
    /// Its route.
    pub route: &'static Route,
    /// Its decoded body.
    pub body: &'a [u8],
    /// What became of the job that its handler asked for, when it is entered again.
    pub outcome: Option<Outcome>,
    /// What there is to know of the service.
    pub facts: Facts<'a>,
    pub(crate) head: &'a [u8],
}

impl<'a> Request<'a> {
    /// The head is parsed again by those who ask, which few do; it was accepted once.
    fn head(&self) -> Option<Head<'a>> {
        Head::parse(self.head).ok()
    }

    /// The path; `None` for `*`.
    #[must_use]
    pub fn path(&self) -> Option<Path<'a>> {
        match self.head()?.target {
            Target::Path(path) => Some(path),
            Target::Server => None,
        }
    }

    /// What the path has behind the prefix that the route matches.
    #[must_use]
    pub fn tail(&self) -> Option<Path<'a>> {
        self.path()?.behind(self.route.path.strip_suffix('*')?)
    }

    /// The query, without its question mark; checked for form, not unescaped.
    #[must_use]
    pub fn query(&self) -> &'a [u8] {
        self.head().map_or(&[], |head| head.query)
    }

    /// The value of a field that matters only if it appears once.
    #[must_use]
    pub fn field(&self, field: Field) -> Option<&'a [u8]> {
        let head = self.head()?;
        let mut values = head.values(field.name());
        let value = values.next()?;
        values.next().is_none().then_some(value)
    }
}

/// What a handler may know of the service.
pub struct Facts<'a> {
    state: &'a State,
    memory: Bytes,
}

impl<'a> Facts<'a> {
    pub(crate) const fn new(state: &'a State, memory: Bytes) -> Self {
        Self { state, memory }
    }

    /// All counters. Called, not copied into each handler: it is long, and no probe asks for it.
    #[must_use]
    #[inline(never)]
    pub fn evidence(&self) -> Evidence {
        self.state.evidence(self.memory)
    }

    /// Whether the service takes work.
    #[must_use]
    pub const fn serving_state(&self) -> ServingState {
        self.state.serving_state()
    }

    /// Whether there is a wall clock to read.
    #[must_use]
    pub const fn has_wall_clock(&self) -> bool {
        self.state.has_wall_clock()
    }

    /// How long from now a drain's grace would last if it were asked for.
    #[must_use]
    pub fn grace(&self, asked: Option<Span>) -> Span {
        self.state.drain_until(asked).since(self.state.clock)
    }

    /// The methods of all routes of a lane.
    #[must_use]
    pub fn methods(&self, lane: Lane) -> Methods {
        let routes = self.state.routes.iter();
        routes
            .filter(|route| route.lanes.contains(&lane))
            .fold(Methods::of(&[]), |all, route| all.or(route.methods))
    }
}

impl core::fmt::Debug for Facts<'_> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Facts").finish_non_exhaustive()
    }
}
