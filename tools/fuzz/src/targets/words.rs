//! Bytes that begin at a border of words, as messages must.

/// Lends a copy of `bytes` that begins at a word.
pub(super) fn aligned<R>(bytes: &[u8], body: impl FnOnce(&[u8]) -> R) -> R {
    let mut room = vec![0; bytes.len() + 8];
    let start = room.as_ptr().align_offset(8);
    let copy = &mut room[start..start + bytes.len()];
    copy.copy_from_slice(bytes);
    body(copy)
}
