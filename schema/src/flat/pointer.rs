//! Pointers, as words: <https://capnproto.org/encoding.html>.
//!
//! ```text
//! struct   | offset (i30) |0 0| data words (u16) | pointer words (u16) |
//! bytes    | offset (i30) |1 0| 2 (u3) | bytes (u29)                   |
//! structs  | offset (i30) |1 0| 7 (u3) | words without the tag (u29)   |
//! ```
//!
//! An offset counts words from the end of the pointer to what it leads to.

use super::read::DecodeError;

/// Kinds of pointers: the low two bits.
const LIST: u64 = 1;
const FAR: u64 = 2;
/// Element sizes of lists.
const BYTE_ELEMENTS: u64 = 2;
const STRUCT_ELEMENTS: u64 = 7;

/// The largest number of elements that a list's pointer has room for.
pub const LIST_MAX: u32 = (1 << 29) - 1;

/// The sections of a struct, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Words of the data section.
    pub data: u16,
    /// Words of the pointer section, one a pointer.
    pub pointers: u16,
}

impl Shape {
    /// Words of both sections.
    #[must_use]
    pub const fn words(self) -> usize {
        (self.data as usize).saturating_add(self.pointers as usize)
    }
}

/// The word in front of a message of one segment, of so many words.
#[must_use]
pub const fn segment_table(words: usize) -> u64 {
    (words as u64) << 32
}

/// A pointer to a struct. In front of a list's structs it is their tag, and the offset is their
/// number.
#[must_use]
pub const fn structure(offset: usize, shape: Shape) -> u64 {
    (offset as u64) << 2 | (shape.data as u64) << 32 | (shape.pointers as u64) << 48
}

/// A pointer to a list of bytes: `Data`, or `Text` with its closing zero counted. At most
/// [`LIST_MAX`] of them.
#[must_use]
pub const fn bytes(offset: usize, count: u32) -> u64 {
    (offset as u64) << 2 | LIST | BYTE_ELEMENTS << 32 | (count as u64) << 35
}

/// A pointer to a list of structs, of so many words in all, the tag in front not counted. At most
/// [`LIST_MAX`] of them.
#[must_use]
pub const fn structures(offset: usize, words: u32) -> u64 {
    (offset as u64) << 2 | LIST | STRUCT_ELEMENTS << 32 | (words as u64) << 35
}

/// The two halves of a word, the low one first.
pub(super) const fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
    (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    )
}

/// Reads a struct pointer that stands in word `at`: where it leads, and the shape there.
pub(super) fn read_structure(at: usize, word: u64) -> Result<(usize, Shape), DecodeError> {
    match word & 3 {
        0 => {}
        FAR => return Err(DecodeError::FarPointer),
        _ => return Err(DecodeError::WrongPointerKind),
    }
    let (low, high) = halves(word);
    let [a, b, c, d] = high.to_le_bytes();
    let shape = Shape {
        data: u16::from_le_bytes([a, b]),
        pointers: u16::from_le_bytes([c, d]),
    };
    Ok((target(at, low)?, shape))
}

/// Reads a pointer to bytes that stands in word `at`: the word where they start, and their number.
pub(super) fn read_bytes(at: usize, word: u64) -> Result<(usize, usize), DecodeError> {
    match word & 3 {
        LIST => {}
        FAR => return Err(DecodeError::FarPointer),
        _ => return Err(DecodeError::WrongPointerKind),
    }
    let (low, high) = halves(word);
    if u64::from(high & 7) != BYTE_ELEMENTS {
        return Err(DecodeError::WrongPointerKind);
    }
    let count = usize::try_from(high >> 3).map_err(|_| DecodeError::OutOfBounds)?;
    Ok((target(at, low)?, count))
}

/// Where the pointer in word `at` leads. Its offset is signed: the format allows it to lead back.
fn target(at: usize, low: u32) -> Result<usize, DecodeError> {
    let offset = isize::try_from(low.cast_signed() >> 2).map_err(|_| DecodeError::OutOfBounds)?;
    at.checked_add(1)
        .and_then(|next| next.checked_add_signed(offset))
        .ok_or(DecodeError::OutOfBounds)
}
