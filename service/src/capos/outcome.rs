//! What became of a call: result bytes, or one of three kinds of failure.

use core::fmt;

use capos_config::ring::CAP_ERR_APPLICATION_EXCEPTION;
use capos_config::ring::CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED;
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::wire::{self, DecodeError, ExceptionKind};

use super::ring::Completion;

/// Why a call gave no result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CallFailure {
    /// The object refused, in the terms of the schema.
    Exception(ExceptionKind),
    /// The kernel did not get as far as the object.
    Transport(i32),
    /// The result is not what the schema says.
    Malformed(DecodeError),
    /// A capability that the result announces is not there.
    NoCapability,
}

impl fmt::Display for CallFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exception(kind) => write!(out, "exception {kind:?}"),
            Self::Transport(code) => write!(out, "transport code {code}"),
            Self::Malformed(error) => out.write_str(error.explain()),
            Self::NoCapability => out.write_str("no capability in the result"),
        }
    }
}

impl From<DecodeError> for CallFailure {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error)
    }
}

/// How many result bytes a completion brought.
///
/// # Errors
/// The exception in `buffer`, or the transport code.
pub(super) fn result_bytes(completion: Completion, buffer: &[u8]) -> Result<usize, CallFailure> {
    match completion.result {
        CAP_ERR_APPLICATION_EXCEPTION => Err(match wire::exception(buffer) {
            Ok(exception) => CallFailure::Exception(exception.kind),
            Err(error) => CallFailure::Malformed(error),
        }),
        // Which exception it was did not fit; that it was one is known.
        CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED => {
            Err(CallFailure::Exception(ExceptionKind::Failed))
        }
        result => usize::try_from(result)
            .ok()
            .filter(|bytes| *bytes <= buffer.len())
            .ok_or(CallFailure::Transport(result)),
    }
}

/// The result itself.
///
/// # Errors
/// As [`result_bytes`].
pub(super) fn result(completion: Completion, buffer: &[u8]) -> Result<&[u8], CallFailure> {
    let bytes = result_bytes(completion, buffer)?;
    buffer
        .get(..bytes)
        .ok_or(CallFailure::Transport(completion.result))
}

/// The one capability of a result, which must hold `interface_id`.
///
/// # Errors
/// [`CallFailure::NoCapability`] if there is another number of them, the index
/// leads elsewhere, or the interface differs.
pub(super) fn result_cap(
    completion: Completion,
    buffer: &[u8],
    index: u16,
    interface_id: u64,
) -> Result<CapId, CallFailure> {
    let bytes = result_bytes(completion, buffer)?;
    wire::transfer(buffer, bytes, index)
        .filter(|transfer| {
            completion.caps == 1 && index == 0 && transfer.interface_id == interface_id
        })
        .map(|transfer| CapId(transfer.cap_id))
        .ok_or(CallFailure::NoCapability)
}
