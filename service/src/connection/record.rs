//! One connection's record: where it stands, and what it holds there.

use ingress_ledger::{
    ConnectionPermit, ConnectionUse, IngressReservation, Instant, Lane, Owner, RefusalPermit,
};

use crate::connection::input::Input;
use crate::connection::output::Output;
use crate::connection::session::Protocol;
use crate::http::body::BodyReader;
use crate::http::condition::Condition;
use crate::http::head::{Persistence, Version};
use crate::http::method::Method;
use crate::http::status::Status;
use crate::ids::{JobId, Slot};
use crate::request::route::Route;

/// Where a connection stands. Each variant holds what a connection has there and nothing else, so
/// that what must be given back is found in one place: `end` takes the stage apart (INV-RELEASE).
#[derive(Debug)]
pub(crate) enum Stage {
    /// No connection.
    Free,
    /// It is told that it gets no permit, with the status that is counted once it was told.
    Refused {
        permit: RefusalPermit<'static>,
        status: Status,
        output: Output,
    },
    /// It has a permit, from accept to `end`.
    Open {
        permit: ConnectionPermit<'static>,
        doing: Doing,
    },
    /// The caller was asked to close the socket.
    Closing {
        reason: Reason,
        /// What the kernel may still read from: it goes back when the socket is closed.
        left: Option<Held>,
    },
}

/// What a connection with a permit does.
///
/// ```text
///           ┌──────────── next request ────────────────────────────────┐
///         Fresh ─▶ Head ─▶ Body ─▶ Waiting ─▶ (Working) ─▶ Serving ────┤
///                   ▲  └─────┴──── refused ──────────────▶ Telling ────┤
///         Idle ─────┘◀──────────── nothing more yet ───────────────────┤
///                                         Session ◀─────── upgrade ────┤
///                                       Lingering ◀───── last answer ──┘
/// ```
/// Which of them are ended for a newcomer when a lane is full, see `give_way`.
#[derive(Debug)]
pub(crate) enum Doing {
    /// Accepted, not a byte of a request yet.
    Fresh,
    /// Between two requests.
    Idle,
    /// In a request head.
    Head,
    /// In a request body; the interim answer that invites it may be on its way.
    Body { reader: BodyReader, interim: Output },
    /// Admitted, without a slot yet.
    Waiting {
        reservation: IngressReservation<'static>,
    },
    /// Its handler waits for something outside (INV-JOBS).
    Working { held: Held, job: JobId },
    /// A handler's answer is on its way.
    Serving {
        held: Held,
        output: Output,
        after: After,
    },
    /// A refusing answer is on its way.
    Telling { output: Output, after: After },
    /// The last answer was sent; what still comes in is thrown away.
    Lingering {
        until: Option<Instant>,
        discarded: usize,
    },
    /// It has left request and answer behind.
    Session {
        protocol: &'static Protocol,
        output: Output,
        is_over: bool,
    },
}

/// What an admitted request has from dispatch to its release.
#[derive(Debug)]
#[must_use = "reservation and slot must be given back"]
pub(crate) struct Held {
    pub(crate) reservation: IngressReservation<'static>,
    pub(crate) slot: Slot,
}

/// What follows an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum After {
    /// Another request.
    NextRequest,
    /// The end: everything that the peer sent was read.
    Close,
    /// The end, but unread input may be under way: a close at once could reset the connection and
    /// take the answer with it (RFC 9112 §9.6).
    Linger,
    /// Another protocol.
    Upgrade(&'static Protocol),
}

/// Why a connection ends. Each reason has one way of closing, and one counter if it has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its last answer was sent.
    Answered,
    /// It was told that it gets no permit.
    Told,
    /// The peer sends no more and is owed nothing.
    PeerDone,
    /// It asked for nothing, or for nothing more, for as long as it may.
    Silent,
    /// Another connection needed its place, and it was asking for nothing.
    IdleClosed,
    /// Another connection needed its place while it was sending a request.
    GaveWay,
    /// Another needed what an answer held that was not being read.
    Unread,
    /// A deadline passed while nothing could be said to it.
    TimedOut,
    /// A drain lost its patience; it was not being answered.
    Drained,
    /// A drain lost its patience while it was being answered.
    DrainedUnread,
    /// The caller says that its socket failed.
    Failed,
    /// It came to a lane that takes none.
    TurnedAway,
    /// It gets no permit, and as many are being told so as may be.
    Untold,
    /// The service is at fault; counted as such.
    Defect,
}

impl Reason {
    /// Whether the socket is closed in order. At once, what is unsent need not arrive.
    pub(crate) const fn is_in_order(self) -> bool {
        match self {
            Self::Answered
            | Self::Told
            | Self::PeerDone
            | Self::Silent
            | Self::IdleClosed
            | Self::GaveWay
            | Self::Drained => true,
            // What its socket holds is not being read either, or is no answer.
            Self::Unread
            | Self::TimedOut
            | Self::DrainedUnread
            | Self::Failed
            | Self::TurnedAway
            | Self::Untold
            | Self::Defect => false,
        }
    }
}

/// What is kept of a request head, beside the bytes that stay in the input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// The route that serves it.
    pub(crate) route: Option<&'static Route>,
    /// The version that it was made in.
    pub(crate) version: Version,
    /// Whether the client wants to go on.
    pub(crate) persistence: Persistence,
    pub(crate) method: Option<Method>,
    /// Whether only the head of the answer is wanted.
    pub(crate) head_only: bool,
    /// What its preconditions make of it.
    pub(crate) condition: Condition,
}

impl Asked {
    /// Nothing: what an answer goes by before a head was understood.
    pub(crate) const NOTHING: Self = Self {
        route: None,
        version: Version::Http11,
        persistence: Persistence::Close,
        method: None,
        head_only: false,
        condition: Condition::Holds,
    };
}

/// Operations of a connection, as a small set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Operations {
    pub(crate) receive: bool,
    pub(crate) send: bool,
    pub(crate) start: bool,
    pub(crate) close: bool,
    pub(crate) abort: bool,
}

impl Operations {
    pub(crate) const NONE: Self = Self {
        receive: false,
        send: false,
        start: false,
        close: false,
        abort: false,
    };

    pub(crate) const fn is_empty(self) -> bool {
        !(self.receive || self.send || self.start || self.close || self.abort)
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) generation: u16,
    pub(crate) stage: Stage,
    /// Whether it is counted among those that are not quiet.
    pub(crate) is_counted_busy: bool,
    pub(crate) usage: ConnectionUse,
    /// Asked for by the server, not taken by the caller yet.
    pub(crate) wanted: Operations,
    /// Taken by the caller, not finished yet.
    pub(crate) outstanding: Operations,
    /// The peer sends no more.
    pub(crate) peer_closed: bool,
    pub(crate) input: Input,
    pub(crate) asked: Asked,
    /// Since when it has had its present standing; see `give_way`.
    pub(crate) since: Instant,
}

impl Record {
    /// A free record.
    pub(crate) const FREE: Self = Self {
        generation: 0,
        stage: Stage::Free,
        is_counted_busy: false,
        usage: ConnectionUse::new(Lane::Anonymous, Owner(0)),
        wanted: Operations::NONE,
        outstanding: Operations::NONE,
        peer_closed: false,
        input: Input::new(),
        asked: Asked::NOTHING,
        since: Instant::ZERO,
    };

    /// The lane that the connection is charged to.
    pub(crate) const fn lane(&self) -> Lane {
        self.usage.lane()
    }

    /// What it does, while it has a permit.
    pub(crate) const fn doing(&self) -> Option<&Doing> {
        match &self.stage {
            Stage::Open { doing, .. } => Some(doing),
            Stage::Free | Stage::Refused { .. } | Stage::Closing { .. } => None,
        }
    }

    /// Whether no request is in flight on it: none has begun, none is answered, and no socket is
    /// being closed (INV-QUIET). A session is quiet, however much it says.
    pub(crate) const fn is_quiet(&self) -> bool {
        match &self.stage {
            Stage::Free => true,
            Stage::Open { doing, .. } => {
                matches!(doing, Doing::Fresh | Doing::Idle | Doing::Session { .. })
            }
            Stage::Refused { .. } | Stage::Closing { .. } => false,
        }
    }

    /// Takes from it what a request waits with; it is then between two things, and enters one at
    /// once. `None`, and nothing is changed, if it does not wait.
    pub(crate) fn take_waiting(&mut self) -> Option<IngressReservation<'static>> {
        match self.take_doing()? {
            Doing::Waiting { reservation } => Some(reservation),
            other => self.put_back(other),
        }
    }

    /// Takes from it what a request has whose handler waits for a job.
    pub(crate) fn take_working(&mut self) -> Option<Held> {
        match self.take_doing()? {
            Doing::Working { held, .. } => Some(held),
            other => self.put_back(other),
        }
    }

    /// Takes from it what it has whose answer was sent, and what follows.
    pub(crate) fn take_answered(&mut self) -> Option<(Option<Held>, After)> {
        match self.take_doing()? {
            Doing::Serving { held, after, .. } => Some((Some(held), after)),
            Doing::Telling { after, .. } => Some((None, after)),
            other => self.put_back(other),
        }
    }

    const fn take_doing(&mut self) -> Option<Doing> {
        match &mut self.stage {
            Stage::Open { doing, .. } => Some(core::mem::replace(doing, Doing::Idle)),
            Stage::Free | Stage::Refused { .. } | Stage::Closing { .. } => None,
        }
    }

    fn put_back<T>(&mut self, other: Doing) -> Option<T> {
        if let Stage::Open { doing, .. } = &mut self.stage {
            *doing = other;
        }
        None
    }
}
