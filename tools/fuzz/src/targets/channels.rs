//! Channels of several connections under one policy, beside their model.

use super::ledger::channels;

/// Each four bytes are one operation.
pub(super) fn run(bytes: &[u8]) {
    let words = bytes.chunks_exact(4).map(|word| {
        let mut four = [0; 4];
        four.copy_from_slice(word);
        u32::from_le_bytes(four)
    });
    channels::run(&words.collect::<Vec<_>>());
}
