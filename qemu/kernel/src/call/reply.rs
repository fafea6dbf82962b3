//! What comes of a call.

use super::kinds::Object;
use super::ticket::Ticket;
use crate::message::ExceptionKind;

/// An exception that a method raises.
#[derive(Clone, Copy, Debug)]
pub struct Raised {
    /// Its class.
    pub kind: ExceptionKind,
    /// Its text.
    pub text: &'static str,
}

impl Raised {
    /// The call itself makes no sense.
    #[must_use]
    pub const fn invalid(text: &'static str) -> Self {
        Self {
            kind: ExceptionKind::InvalidArgument,
            text,
        }
    }

    /// A bound is reached; later it may not be.
    #[must_use]
    pub const fn overloaded(text: &'static str) -> Self {
        Self {
            kind: ExceptionKind::Overloaded,
            text,
        }
    }

    /// The other side, or the object, is gone.
    #[must_use]
    pub const fn disconnected(text: &'static str) -> Self {
        Self {
            kind: ExceptionKind::Disconnected,
            text,
        }
    }

    /// It cannot be done.
    #[must_use]
    pub const fn failed(text: &'static str) -> Self {
        Self {
            kind: ExceptionKind::Failed,
            text,
        }
    }

    /// The interface has no such method here.
    #[must_use]
    pub const fn unimplemented() -> Self {
        Self {
            kind: ExceptionKind::Unimplemented,
            text: "no such method",
        }
    }
}

/// What a call is completed with.
#[derive(Clone, Copy, Debug)]
pub enum Reply<'a> {
    /// Done, with no result.
    Void,
    /// Done; this message is the result.
    Message(&'a [u8]),
    /// Done; the result of so many bytes is in the caller's buffer already.
    InPlace(u32),
    /// Done; the message, and a new capability with it.
    WithCap(&'a [u8], Object),
    /// The method raised.
    Raised(Raised),
    /// The transport refuses, with this code.
    Refused(i32),
}

/// What a method returns.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// It is over: this is to be completed.
    Done(Reply<'a>),
    /// The object keeps the call's ticket, and gives it back in a [`Completion`]
    /// once the call can be answered.
    Pending,
}

/// What a method returns, or raises.
pub type Returned<'a> = Result<Outcome<'a>, Raised>;

/// A call that is over, and what it is to be completed with.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'a> {
    /// The call.
    pub ticket: Ticket,
    /// Its answer.
    pub reply: Reply<'a>,
}

impl<'a> Completion<'a> {
    /// What is to be completed of a call that has returned, if it is over.
    #[must_use]
    pub fn of(ticket: Ticket, returned: Returned<'a>) -> Option<Self> {
        let reply = match returned {
            Ok(Outcome::Done(reply)) => reply,
            Ok(Outcome::Pending) => return None,
            Err(raised) => Reply::Raised(raised),
        };
        Some(Self { ticket, reply })
    }
}
