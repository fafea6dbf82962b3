//! Runs of the driver on random bytes.

use super::{Bytes, Fuzz, Tally};

/// Bytes that one stack lives for.
const RUN_BYTES: usize = 32 * 1_024;

/// Fills `bytes` by xorshift64*, seeded through splitmix64 so that neighbouring seeds
/// have nothing in common.
fn fill(bytes: &mut [u8], seed: u64) {
    let mut state = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state = (state ^ (state >> 31)) | 1;
    for chunk in bytes.chunks_mut(8) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        let word = state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// One stack's life.
pub(crate) fn run_seed(seed: u64) -> Tally {
    let mut random = vec![0; RUN_BYTES];
    fill(&mut random, seed);
    let mut bytes = Bytes(&random);
    let fuzz = Fuzz::new(&mut bytes);
    fuzz.run(bytes)
}
