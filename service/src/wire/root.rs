//! A message as it is read: its root struct, bounded on every side.

use super::WORD_BYTES;

/// Why a result could not be read.
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

/// A bounded view of a result's root struct.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a> {
    segment: &'a [u8],
    data: &'a [u8],
    pointers_start: usize,
    pointers: usize,
}

impl<'a> Root<'a> {
    /// Finds the root struct of a single-segment message.
    pub fn parse(message: &'a [u8]) -> Result<Self, DecodeError> {
        let table = read_word(message, 0).ok_or(DecodeError::Truncated)?;
        let (segments_less_one, words) = halves(table);
        if segments_less_one != 0 {
            return Err(DecodeError::ManySegments);
        }
        let segment_bytes = usize::try_from(words)
            .ok()
            .and_then(|words| words.checked_mul(WORD_BYTES))
            .ok_or(DecodeError::Truncated)?;
        let segment = message
            .get(WORD_BYTES..)
            .and_then(|body| body.get(..segment_bytes))
            .ok_or(DecodeError::Truncated)?;
        let pointer = read_word(segment, 0).ok_or(DecodeError::Truncated)?;
        if pointer == 0 {
            return Ok(Self {
                segment,
                data: &[],
                pointers_start: 0,
                pointers: 0,
            });
        }
        let (low, high) = halves(pointer);
        match low & 3 {
            0 => {}
            2 => return Err(DecodeError::FarPointer),
            _ => return Err(DecodeError::WrongPointerKind),
        }
        let data_bytes = bytes_of_words(high & 0xffff)?;
        let pointers = usize::try_from(high >> 16).map_err(|_| DecodeError::OutOfBounds)?;
        let start = target(0, low)?;
        let pointers_start = start
            .checked_add(data_bytes)
            .ok_or(DecodeError::OutOfBounds)?;
        let pointers_bytes = bytes_of_words(high >> 16)?;
        let end = pointers_start
            .checked_add(pointers_bytes)
            .ok_or(DecodeError::OutOfBounds)?;
        let data = segment
            .get(start..pointers_start)
            .ok_or(DecodeError::OutOfBounds)?;
        if end > segment.len() {
            return Err(DecodeError::OutOfBounds);
        }
        Ok(Self {
            segment,
            data,
            pointers_start,
            pointers,
        })
    }

    /// The 64-bit field in data word `index`; zero where the sender's struct
    /// is shorter, as the format demands.
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
        let half = self.u32_at(quarter / 2);
        let [b0, b1, b2, b3] = half.to_le_bytes();
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
    pub fn data_at(&self, index: usize) -> Result<&'a [u8], DecodeError> {
        if index >= self.pointers {
            return Ok(&[]);
        }
        let at = index
            .checked_mul(WORD_BYTES)
            .and_then(|offset| offset.checked_add(self.pointers_start))
            .ok_or(DecodeError::OutOfBounds)?;
        let pointer = self
            .segment
            .get(at..)
            .and_then(|rest| read_word(rest, 0))
            .ok_or(DecodeError::OutOfBounds)?;
        if pointer == 0 {
            return Ok(&[]);
        }
        let (low, high) = halves(pointer);
        match low & 3 {
            1 => {}
            2 => return Err(DecodeError::FarPointer),
            _ => return Err(DecodeError::WrongPointerKind),
        }
        if high & 7 != 2 {
            return Err(DecodeError::WrongPointerKind);
        }
        let count = usize::try_from(high >> 3).map_err(|_| DecodeError::OutOfBounds)?;
        let start = target(at, low)?;
        let end = start.checked_add(count).ok_or(DecodeError::OutOfBounds)?;
        self.segment.get(start..end).ok_or(DecodeError::OutOfBounds)
    }

    /// The `Text` field behind pointer `index`, without its NUL.
    pub fn text_at(&self, index: usize) -> Result<&'a str, DecodeError> {
        let bytes = self.data_at(index)?;
        match bytes.split_last() {
            None => Ok(""),
            Some((0, text)) => core::str::from_utf8(text).map_err(|_| DecodeError::InvalidText),
            Some(_) => Err(DecodeError::InvalidText),
        }
    }
}

pub(super) fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
    (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    )
}

pub(super) fn read_word(bytes: &[u8], index: usize) -> Option<u64> {
    let start = index.checked_mul(WORD_BYTES)?;
    let word = bytes.get(start..)?.first_chunk::<WORD_BYTES>()?;
    Some(u64::from_le_bytes(*word))
}

fn bytes_of_words(words: u32) -> Result<usize, DecodeError> {
    usize::try_from(words)
        .ok()
        .and_then(|words| words.checked_mul(WORD_BYTES))
        .ok_or(DecodeError::OutOfBounds)
}

/// Where a pointer at byte `at` leads: the signed word offset in the upper 30
/// bits of its low half counts from the word after the pointer.
fn target(at: usize, low: u32) -> Result<usize, DecodeError> {
    let words = isize::try_from(low.cast_signed() >> 2).map_err(|_| DecodeError::OutOfBounds)?;
    let bytes = words.checked_mul(8).ok_or(DecodeError::OutOfBounds)?;
    at.checked_add(WORD_BYTES)
        .and_then(|next| next.checked_add_signed(bytes))
        .ok_or(DecodeError::OutOfBounds)
}
