//! A message as it is read: its root struct, bounded on every side.
//!
//! The bytes may be anything. Each step is checked against the segment before it is taken, and
//! none is taken twice, so a message costs no more to read than the fields that are asked for.

use super::WORD_BYTES;
use super::pointer::{self, halves};

/// Why a message, or a field of it, could not be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DecodeError {
    /// Shorter than its own segment table says, or than a table at all.
    Truncated,
    /// More than one segment.
    ManySegments,
    /// The root is not a struct pointer, or a field is not a byte list.
    WrongPointerKind,
    /// A pointer that leads into another segment.
    FarPointer,
    /// A pointer that leads out of the message.
    OutOfBounds,
    /// Text that is not UTF-8 or not NUL-terminated.
    InvalidText,
    /// A value that the schema does not define.
    UnknownValue,
}

impl DecodeError {
    /// The reason in words, for the console.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Truncated => "message is truncated",
            Self::ManySegments => "message has several segments",
            Self::WrongPointerKind => "pointer has the wrong kind",
            Self::FarPointer => "message has a far pointer",
            Self::OutOfBounds => "pointer leads out of the message",
            Self::InvalidText => "text is not NUL-terminated UTF-8",
            Self::UnknownValue => "value is not in the schema",
        }
    }
}

/// A bounded view of a message's root struct.
///
/// Fields that the struct is too short for read as zero or empty: it was written by the owner of
/// an older schema, for whom the field did not exist.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a> {
    segment: &'a [u8],
    data: &'a [u8],
    /// Word of the segment at which the pointer section starts.
    pointers_start: usize,
    pointers: usize,
}

impl<'a> Root<'a> {
    /// Finds the root struct of a single-segment message. What stands behind the segment is not
    /// looked at.
    ///
    /// # Errors
    /// The table or the root pointer is not what the module's picture shows.
    pub fn parse(message: &'a [u8]) -> Result<Self, DecodeError> {
        let segment = segment(message)?;
        let word = read_word(segment, 0).ok_or(DecodeError::Truncated)?;
        if word == 0 {
            return Ok(Self {
                segment,
                data: &[],
                pointers_start: 0,
                pointers: 0,
            });
        }
        let (start, shape) = pointer::read_structure(0, word)?;
        let data = words(segment, start, shape.data.into())?;
        let pointers_start = start
            .checked_add(shape.data.into())
            .ok_or(DecodeError::OutOfBounds)?;
        let pointers = usize::from(shape.pointers);
        words(segment, pointers_start, pointers)?;
        Ok(Self {
            segment,
            data,
            pointers_start,
            pointers,
        })
    }

    /// The 64-bit field in data word `index`.
    #[must_use]
    pub fn u64_at(&self, index: usize) -> u64 {
        read_word(self.data, index).unwrap_or(0)
    }

    /// The `half`-th 32-bit field, counted from the start of the data section.
    #[must_use]
    pub fn u32_at(&self, half: usize) -> u32 {
        let (low, high) = halves(self.u64_at(half / 2));
        if half.is_multiple_of(2) { low } else { high }
    }

    /// The `quarter`-th 16-bit field.
    #[must_use]
    pub fn u16_at(&self, quarter: usize) -> u16 {
        let [b0, b1, b2, b3] = self.u32_at(quarter / 2).to_le_bytes();
        if quarter.is_multiple_of(2) {
            u16::from_le_bytes([b0, b1])
        } else {
            u16::from_le_bytes([b2, b3])
        }
    }

    /// Bit `bit` of the data section.
    #[must_use]
    pub fn bool_at(&self, bit: usize) -> bool {
        let byte = self.data.get(bit / 8).copied().unwrap_or(0);
        u32::try_from(bit % 8).is_ok_and(|shift| byte.checked_shr(shift).unwrap_or(0) & 1 == 1)
    }

    /// The `Data` field behind pointer `index`; empty where it is null or absent.
    ///
    /// # Errors
    /// The pointer is no pointer to bytes of this message.
    pub fn data_at(&self, index: usize) -> Result<&'a [u8], DecodeError> {
        if index >= self.pointers {
            return Ok(&[]);
        }
        let at = self
            .pointers_start
            .checked_add(index)
            .ok_or(DecodeError::OutOfBounds)?;
        let word = read_word(self.segment, at).ok_or(DecodeError::OutOfBounds)?;
        if word == 0 {
            return Ok(&[]);
        }
        let (start, count) = pointer::read_bytes(at, word)?;
        bytes_from(self.segment, start)
            .and_then(|rest| rest.get(..count))
            .ok_or(DecodeError::OutOfBounds)
    }

    /// The `Text` field behind pointer `index`, without its NUL.
    ///
    /// # Errors
    /// As [`Root::data_at`], or the bytes are no text.
    pub fn text_at(&self, index: usize) -> Result<&'a str, DecodeError> {
        let bytes = self.data_at(index)?;
        match bytes.split_last() {
            None => Ok(""),
            Some((0, text)) => core::str::from_utf8(text).map_err(|_| DecodeError::InvalidText),
            Some(_) => Err(DecodeError::InvalidText),
        }
    }
}

/// The one segment of a message.
fn segment(message: &[u8]) -> Result<&[u8], DecodeError> {
    let table = read_word(message, 0).ok_or(DecodeError::Truncated)?;
    let (segments_less_one, length) = halves(table);
    if segments_less_one != 0 {
        return Err(DecodeError::ManySegments);
    }
    let length = usize::try_from(length).map_err(|_| DecodeError::Truncated)?;
    words(message, 1, length).map_err(|_| DecodeError::Truncated)
}

fn words(bytes: &[u8], start: usize, count: usize) -> Result<&[u8], DecodeError> {
    let length = count.checked_mul(WORD_BYTES);
    bytes_from(bytes, start)
        .and_then(|rest| rest.get(..length?))
        .ok_or(DecodeError::OutOfBounds)
}

fn bytes_from(bytes: &[u8], word: usize) -> Option<&[u8]> {
    bytes.get(word.checked_mul(WORD_BYTES)?..)
}

fn read_word(bytes: &[u8], index: usize) -> Option<u64> {
    let word = bytes_from(bytes, index)?.first_chunk::<WORD_BYTES>()?;
    Some(u64::from_le_bytes(*word))
}
