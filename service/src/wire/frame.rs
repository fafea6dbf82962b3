//! Parameters: what is written before and around the bytes of a call.

use super::WORD_BYTES;

/// Bytes before the payload of a one-`Data` message (`send`, `recv` results).
pub const DATA_PREFIX_BYTES: usize = 24;
/// Bytes of a message that carries one data word and nothing else.
pub const ONE_WORD_BYTES: usize = 24;

/// Parameters of every method that takes none.
///
/// A struct of no words is written with a pointer offset of -1, so that it
/// cannot be taken for null.
pub const NO_PARAMS: [u8; 16] = [
    0, 0, 0, 0, 1, 0, 0, 0, // one segment of one word
    0xfc, 0xff, 0xff, 0xff, 0, 0, 0, 0, // empty struct
];

fn put_word(out: &mut [u8], index: usize, value: u64) -> Option<()> {
    let start = index.checked_mul(WORD_BYTES)?;
    let end = start.checked_add(WORD_BYTES)?;
    out.get_mut(start..end)?
        .copy_from_slice(&value.to_le_bytes());
    Some(())
}

const fn segment_table(words: u32) -> u64 {
    (words as u64) << 32
}

/// A message of one data word: `recv(maxLen)`, `identify(capId)`,
/// `compare(left, right)` with `left` in the low half.
#[must_use]
pub const fn one_word(value: u64) -> [u8; ONE_WORD_BYTES] {
    let table = segment_table(2).to_le_bytes();
    let root = (1_u64 << 32).to_le_bytes();
    let data = value.to_le_bytes();
    let mut out = [0; ONE_WORD_BYTES];
    let (head, rest) = out.split_at_mut(WORD_BYTES);
    head.copy_from_slice(&table);
    let (middle, tail) = rest.split_at_mut(WORD_BYTES);
    middle.copy_from_slice(&root);
    tail.copy_from_slice(&data);
    out
}

/// Parameters of `compare(left, right)`.
#[must_use]
pub const fn compare_params(left: u32, right: u32) -> [u8; ONE_WORD_BYTES] {
    one_word(left as u64 | ((right as u64) << 32))
}

/// Writes the three words before `payload_bytes` of `Data` (`send`, `write`).
///
/// The payload itself belongs at [`DATA_PREFIX_BYTES`]. Returns the length of
/// the whole message, padding to a word included, or `None` if `out` is too
/// short for it. The padding is zeroed.
pub fn frame_data(out: &mut [u8], payload_bytes: usize) -> Option<usize> {
    frame_bytes(out, payload_bytes, payload_bytes)
}

/// The same for `Text`: the list is one byte longer, and that byte is NUL.
pub fn frame_text(out: &mut [u8], text_bytes: usize) -> Option<usize> {
    frame_bytes(out, text_bytes, text_bytes.checked_add(1)?)
}

fn frame_bytes(out: &mut [u8], payload_bytes: usize, list_bytes: usize) -> Option<usize> {
    let list_words = list_bytes.div_ceil(WORD_BYTES);
    let message_bytes = list_words
        .checked_mul(WORD_BYTES)?
        .checked_add(DATA_PREFIX_BYTES)?;
    let padding_start = payload_bytes.checked_add(DATA_PREFIX_BYTES)?;
    out.get_mut(padding_start..message_bytes)?.fill(0);
    let segment_words = u32::try_from(list_words.checked_add(2)?).ok()?;
    let list_count = u32::try_from(list_bytes).ok().filter(|n| *n < 1 << 29)?;
    put_word(out, 0, segment_table(segment_words))?;
    put_word(out, 1, 1 << 48)?;
    // List pointer: kind 1, offset 0, then element size 2 (one byte) and count.
    put_word(out, 2, 1 | (2 << 32) | (u64::from(list_count) << 35))?;
    Some(message_bytes)
}
