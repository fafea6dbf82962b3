//! Messages as they are written: into the caller's bytes, front to back.

use super::WORD_BYTES;
use super::pointer::{self, LIST_MAX, Shape};

/// Bytes in front of the payload of a message whose root holds one `Data` or `Text` and nothing
/// else: table, root pointer, list pointer.
pub const DATA_PREFIX_BYTES: usize = 24;
/// Bytes of a message that carries one data word and nothing else.
pub const ONE_WORD_BYTES: usize = 24;

/// The root of such a message.
const ONE_BLOB: Shape = Shape {
    data: 0,
    pointers: 1,
};

/// Parameters of every method that takes none, and the result of one that answers nothing.
///
/// A struct of no words is written with a pointer offset of -1, so that it
/// cannot be taken for null.
pub const NO_PARAMS: [u8; 16] = [
    0, 0, 0, 0, 1, 0, 0, 0, // one segment of one word
    0xfc, 0xff, 0xff, 0xff, 0, 0, 0, 0, // empty struct
];

/// A message of one data word: `recv(maxLen)`, `identify(capId)`,
/// `compare(left, right)` with `left` in the low half.
#[must_use]
pub const fn one_word(value: u64) -> [u8; ONE_WORD_BYTES] {
    const ROOT: Shape = Shape {
        data: 1,
        pointers: 0,
    };
    from_words([
        pointer::segment_table(2),
        pointer::structure(0, ROOT),
        value,
    ])
}

/// The first bytes of a message whose root has one `Data` field of `length` bytes and nothing
/// else; the data and its padding to a word follow. No buffer of this project is as long as the
/// half gigabyte that a list can hold at most.
#[must_use]
pub const fn data_prefix(length: u32) -> [u8; DATA_PREFIX_BYTES] {
    let segment_words = length.div_ceil(8).saturating_add(2);
    from_words([
        pointer::segment_table(segment_words as usize),
        pointer::structure(0, ONE_BLOB),
        pointer::bytes(0, length),
    ])
}

/// The length that [`data_prefix`] was given, if these bytes are its own.
#[must_use]
pub fn data_length(prefix: &[u8; DATA_PREFIX_BYTES]) -> Option<u32> {
    let list = u64::from_le_bytes(*prefix.last_chunk()?);
    let length = u32::try_from(list >> 35).ok()?;
    (*prefix == data_prefix(length)).then_some(length)
}

const fn from_words([a, b, c]: [u64; 3]) -> [u8; 3 * WORD_BYTES] {
    let mut out = [0; 3 * WORD_BYTES];
    let (head, rest) = out.split_at_mut(WORD_BYTES);
    let (middle, tail) = rest.split_at_mut(WORD_BYTES);
    head.copy_from_slice(&a.to_le_bytes());
    middle.copy_from_slice(&b.to_le_bytes());
    tail.copy_from_slice(&c.to_le_bytes());
    out
}

/// Bytes of the whole message around `length` bytes of data.
#[must_use]
pub const fn data_message_bytes(length: u32) -> u32 {
    length.div_ceil(8).saturating_add(3).saturating_mul(8)
}

/// The most data that fits a result buffer of `bytes` as such a message.
#[must_use]
pub const fn data_bytes_that_fit(bytes: u32) -> u32 {
    (bytes / 8).saturating_sub(3).saturating_mul(8)
}

/// Writes what stands around `payload_bytes` of `Data` (`send`, `write`), which are at
/// [`DATA_PREFIX_BYTES`] already: the prefix, and zeros up to the word's end.
///
/// # Errors
/// `out` is too short for the whole message, whose length is returned.
pub fn frame_data(out: &mut [u8], payload_bytes: usize) -> Result<usize, NoRoom> {
    frame(out, payload_bytes, payload_bytes)
}

/// The same for `Text`: the list is one byte longer, and that byte is NUL.
///
/// # Errors
/// As [`frame_data`].
pub fn frame_text(out: &mut [u8], text_bytes: usize) -> Result<usize, NoRoom> {
    frame(out, text_bytes, text_bytes.saturating_add(1))
}

fn frame(out: &mut [u8], payload_bytes: usize, list_bytes: usize) -> Result<usize, NoRoom> {
    let count = list_count(list_bytes)?;
    let end = list_bytes
        .next_multiple_of(WORD_BYTES)
        .saturating_add(DATA_PREFIX_BYTES);
    let padding = payload_bytes.saturating_add(DATA_PREFIX_BYTES)..end;
    out.get_mut(padding).ok_or(NoRoom)?.fill(0);
    *out.first_chunk_mut().ok_or(NoRoom)? = data_prefix(count);
    Ok(end)
}

fn list_count(bytes: usize) -> Result<u32, NoRoom> {
    u32::try_from(bytes)
        .ok()
        .filter(|count| *count <= LIST_MAX)
        .ok_or(NoRoom)
}

/// A byte string of a root struct.
#[derive(Clone, Copy, Debug)]
pub enum Blob<'a> {
    /// A `Data` field.
    Data(&'a [u8]),
    /// A `Text` field; its closing zero is added.
    Text(&'a str),
}

impl Blob<'_> {
    const fn bytes(&self) -> &[u8] {
        match self {
            Self::Data(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }

    /// Bytes of the list, a text's closing zero included.
    const fn length(&self) -> usize {
        match self {
            Self::Data(bytes) => bytes.len(),
            Self::Text(text) => text.len().saturating_add(1),
        }
    }
}

/// The buffer is too small for the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// Writes a message to `buffer`: a root with data section `words` and pointer
/// section `blobs`. Its length in bytes.
///
/// # Errors
/// When it does not fit.
pub fn encode(buffer: &mut [u8], words: &[u64], blobs: &[Blob<'_>]) -> Result<usize, NoRoom> {
    if words.is_empty() && blobs.is_empty() {
        let room = buffer.first_chunk_mut().ok_or(NoRoom)?;
        *room = NO_PARAMS;
        return Ok(NO_PARAMS.len());
    }
    let shape = Shape {
        data: u16::try_from(words.len()).map_err(|_| NoRoom)?,
        pointers: u16::try_from(blobs.len()).map_err(|_| NoRoom)?,
    };
    // The table goes in front when the length is known.
    let at = WORD_BYTES;
    let mut writer = Writer { buffer, at };
    writer.word(pointer::structure(0, shape))?;
    for &word in words {
        writer.word(word)?;
    }
    // From the end of each pointer: the pointers that are left, then the blobs that come first.
    let mut offset = blobs.len();
    for blob in blobs {
        offset = offset.saturating_sub(1);
        writer.word(pointer::bytes(offset, list_count(blob.length())?))?;
        offset = offset.saturating_add(blob.length().div_ceil(WORD_BYTES));
    }
    for blob in blobs {
        writer.bytes(blob.bytes(), blob.length().next_multiple_of(WORD_BYTES))?;
    }
    let end = writer.at;
    writer.at = 0;
    writer.word(pointer::segment_table((end / WORD_BYTES).saturating_sub(1)))?;
    Ok(end)
}

struct Writer<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn word(&mut self, word: u64) -> Result<(), NoRoom> {
        self.bytes(&word.to_le_bytes(), WORD_BYTES)
    }

    /// Writes `bytes` and zeros up to `padded`.
    fn bytes(&mut self, bytes: &[u8], padded: usize) -> Result<(), NoRoom> {
        let end = self.at.saturating_add(padded);
        let room = self.buffer.get_mut(self.at..end).ok_or(NoRoom)?;
        let (text, padding) = room.split_at_mut_checked(bytes.len()).ok_or(NoRoom)?;
        text.copy_from_slice(bytes);
        padding.fill(0);
        self.at = end;
        Ok(())
    }
}
