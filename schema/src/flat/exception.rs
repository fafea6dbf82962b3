//! `CapException`: what a capability method raises instead of a result.

use super::read::{DecodeError, Root};
use super::write::{Blob, NoRoom, encode};

/// Longest exception text, in bytes. A longer one is cut, not refused: which class it is matters
/// more to a caller than its words, and has to arrive.
pub const EXCEPTION_TEXT_MAX: usize = 160;

/// The failure classes that a capability method can raise, with the numbers of the published
/// schema.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u16)]
pub enum ExceptionKind {
    /// The method failed.
    Failed = 0,
    /// The object is short of a resource for now.
    Overloaded = 1,
    /// The object is gone, or its peer.
    Disconnected = 2,
    /// The object has no such method.
    Unimplemented = 3,
    /// The parameters were refused.
    InvalidArgument = 4,
}

impl ExceptionKind {
    const ALL: [Self; 5] = [
        Self::Failed,
        Self::Overloaded,
        Self::Disconnected,
        Self::Unimplemented,
        Self::InvalidArgument,
    ];
}

/// A decoded `CapException`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Exception<'a> {
    /// Failure class.
    pub kind: ExceptionKind,
    /// The object's own words.
    pub message: &'a str,
}

/// Reads a `CapException`.
///
/// # Errors
/// It is none, or of a class that this schema does not have.
pub fn exception(message: &[u8]) -> Result<Exception<'_>, DecodeError> {
    let root = Root::parse(message)?;
    let kind = ExceptionKind::ALL
        .get(usize::from(root.u16_at(0)))
        .ok_or(DecodeError::UnknownValue)?;
    Ok(Exception {
        kind: *kind,
        message: root.text_at(0)?,
    })
}

/// Writes a `CapException`; texts beyond [`EXCEPTION_TEXT_MAX`] are cut.
///
/// # Errors
/// When it does not fit.
pub fn encode_exception(
    buffer: &mut [u8],
    kind: ExceptionKind,
    text: &str,
) -> Result<usize, NoRoom> {
    let end = text.floor_char_boundary(EXCEPTION_TEXT_MAX);
    let text = text.get(..end).unwrap_or("");
    encode(buffer, &[kind as u64], &[Blob::Text(text)])
}
