//! One connection's record: where it stands, what it holds, what it still owes.

use ingress_ledger::{
    ConnectionPermit, ConnectionUse, IngressReservation, Instant, Lane, Owner, RefusalPermit, Span,
};

use crate::connection::input::Input;
use crate::connection::output::Output;
use crate::http::body::BodyReader;
use crate::http::condition::Condition;
use crate::http::head::{Persistence, Version};
use crate::http::status::Status;
use crate::ids::Slot;
use crate::request::route::Route;

/// Where a connection stands.
///
/// ```text
///          accepted                                      refused a permit
///             │                                                 │
///             ▼            ┌──────────── next request ───────┐  │
///           Fresh ──▶ Head ──▶ Body ──▶ Waiting ──▶ Answering ◀─┘
///                      ▲                                │ │
///            Idle ─────┘◀────── nothing more yet ───────┘ │ last answer
///             │                                           ▼
///             └────────────────────────────▶ Closing ◀─ Lingering
/// ```
/// Which of them are ended for a newcomer when a lane is full, see `give_way`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    /// No connection.
    #[default]
    Free,
    /// Accepted, not a byte of a request yet.
    Fresh,
    /// Between two requests.
    Idle,
    /// In a request head.
    Head,
    /// In a request body.
    Body,
    /// Admitted, without a slot yet.
    Waiting,
    /// An answer is on its way.
    Answering,
    /// The last answer was sent; what still comes in is thrown away.
    Lingering,
    /// The caller was asked to close the socket.
    Closing,
}

impl Phase {
    /// Whether nothing is under way: no request, no answer, no close.
    pub(crate) const fn is_quiet(self) -> bool {
        matches!(self, Self::Free | Self::Fresh | Self::Idle)
    }

    /// Whether input is looked at.
    pub(crate) const fn is_reading(self) -> bool {
        matches!(self, Self::Fresh | Self::Idle | Self::Head | Self::Body)
    }
}

/// What follows an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum After {
    /// Another request.
    #[default]
    NextRequest,
    /// The end: everything that the peer sent was read.
    Close,
    /// The end, but unread input may be under way: a close at once could reset the connection and
    /// take the answer with it (RFC 9112 §9.6).
    Linger,
}

/// What is kept of a request head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// The route that serves it.
    pub(crate) route: Option<&'static Route>,
    /// The version that it was made in.
    pub(crate) version: Version,
    /// Whether the client wants to go on.
    pub(crate) persistence: Persistence,
    /// Whether only the head of the answer is wanted.
    pub(crate) head_only: bool,
    /// What its preconditions make of it.
    pub(crate) condition: Condition,
    /// The grace that a drain asks for.
    pub(crate) drain: Option<Span>,
}

impl Request {
    /// No request: what an answer goes by before a head was understood.
    pub(crate) const NONE: Self = Self {
        route: None,
        version: Version::Http11,
        persistence: Persistence::Close,
        head_only: false,
        condition: Condition::Holds,
        drain: None,
    };
}

/// Operations of a connection, as a small set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Operations {
    pub(crate) receive: bool,
    pub(crate) send: bool,
    pub(crate) close: bool,
    pub(crate) abort: bool,
}

impl Operations {
    pub(crate) const NONE: Self = Self {
        receive: false,
        send: false,
        close: false,
        abort: false,
    };

    pub(crate) const fn is_empty(self) -> bool {
        !(self.receive || self.send || self.close || self.abort)
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) generation: u16,
    pub(crate) phase: Phase,
    pub(crate) after: After,
    /// Held from accept to [`end`](crate::Server), the one release site.
    pub(crate) permit: Option<ConnectionPermit<'static>>,
    /// Held instead of a permit by a connection that is told that there is none, with the status
    /// that is counted once it was told.
    pub(crate) refusal: Option<(RefusalPermit<'static>, Status)>,
    pub(crate) usage: ConnectionUse,
    /// Held from admission to `release_request`, the one release site.
    pub(crate) reservation: Option<IngressReservation<'static>>,
    pub(crate) slot: Option<Slot>,
    /// Asked for by the server, not taken by the caller yet.
    pub(crate) wanted: Operations,
    /// Taken by the caller, not finished yet.
    pub(crate) outstanding: Operations,
    /// The peer sends no more.
    pub(crate) peer_closed: bool,
    pub(crate) input: Input,
    pub(crate) body: Option<BodyReader>,
    pub(crate) request: Request,
    pub(crate) output: Output,
    /// Bytes that came after the last answer.
    pub(crate) discarded: usize,
    /// Since when it has had its present standing; see `give_way`.
    pub(crate) since: Instant,
    /// When lingering ends at the latest.
    pub(crate) linger_until: Option<Instant>,
}

impl Record {
    /// A free record, all zeros but for what nobody reads.
    pub(crate) const FREE: Self = Self {
        generation: 0,
        phase: Phase::Free,
        after: After::NextRequest,
        permit: None,
        refusal: None,
        usage: ConnectionUse::new(Lane::Anonymous, Owner(0)),
        reservation: None,
        slot: None,
        wanted: Operations::NONE,
        outstanding: Operations::NONE,
        peer_closed: false,
        input: Input::new(),
        body: None,
        request: Request::NONE,
        output: Output::new(),
        discarded: 0,
        since: Instant::ZERO,
        linger_until: None,
    };

    /// The lane that the connection is charged to.
    pub(crate) const fn lane(&self) -> Lane {
        self.usage.lane()
    }
}
