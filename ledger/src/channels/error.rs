//! Channel errors: one enum an operation.

use core::fmt;

use crate::overload::Status;

/// Why a channel was not opened. Nothing was counted or allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelError {
    /// Access control said no; no cap was asked.
    AccessDenied,
    /// The identity or the connection has as many channels as it may. Which of the two is
    /// not told: a peer can do nothing different about either.
    TooManyChannels,
}

impl ChannelError {
    /// The one status of this refusal.
    #[must_use]
    pub const fn status(&self) -> Status {
        match self {
            ChannelError::AccessDenied => Status::FORBIDDEN,
            ChannelError::TooManyChannels => Status::TOO_MANY_REQUESTS,
        }
    }

    /// Stable code on the wire.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            ChannelError::AccessDenied => "channel:access_denied",
            ChannelError::TooManyChannels => "channel:too_many_channels",
        }
    }

    /// What it means and what to do about it.
    #[must_use]
    pub const fn explain(&self) -> &'static str {
        match self {
            ChannelError::AccessDenied => "the caller may not open channels here",
            ChannelError::TooManyChannels => {
                "the caller has as many channels open as it may; close one, \
                 or have the operator raise the identity's cap"
            }
        }
    }
}

/// Why a channel was not closed. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseError {
    /// No channel of this connection has this id.
    UnknownChannel,
    /// Another identity opened the channel.
    NotTheOpener,
    /// The channel is draining already.
    AlreadyClosing,
    /// The channel is not draining, so its drain cannot be over.
    NotClosing,
}

impl CloseError {
    /// Stable code on the wire.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            CloseError::UnknownChannel => "channel:unknown",
            CloseError::NotTheOpener => "channel:not_the_opener",
            CloseError::AlreadyClosing => "channel:already_closing",
            CloseError::NotClosing => "channel:not_closing",
        }
    }

    /// What it means and what to do about it.
    #[must_use]
    pub const fn explain(&self) -> &'static str {
        match self {
            CloseError::UnknownChannel => "no such channel is open on this connection",
            CloseError::NotTheOpener => "only the identity that opened the channel closes it",
            CloseError::AlreadyClosing => "the channel is draining; nothing is left to do",
            CloseError::NotClosing => "close the channel before reporting its drain",
        }
    }
}

/// Why a policy was not built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyError {
    /// More identities have caps of their own than the table holds.
    TableTooSmall,
    /// One identity was given two caps.
    DuplicateIdentity,
}

impl PolicyError {
    /// What is wrong and how to mend it.
    #[must_use]
    pub const fn explain(&self) -> &'static str {
        match self {
            PolicyError::TableTooSmall => "the identity table is too small for the caps given",
            PolicyError::DuplicateIdentity => "an identity was given two caps; keep one",
        }
    }
}

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Display for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.explain())
    }
}

impl core::error::Error for ChannelError {}
impl core::error::Error for CloseError {}
impl core::error::Error for PolicyError {}
