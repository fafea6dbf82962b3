//! SipHash-1-3: a keyed hash, so that a peer who chooses addresses and ports
//! can neither predict a cookie nor pile flows into one bucket.

/// A key for [`hash`].
pub(crate) type Key = [u64; 2];

struct State([u64; 4]);

impl State {
    fn round(&mut self) {
        let [mut v0, mut v1, mut v2, mut v3] = self.0;
        v0 = v0.wrapping_add(v1);
        v1 = v1.rotate_left(13) ^ v0;
        v0 = v0.rotate_left(32);
        v2 = v2.wrapping_add(v3);
        v3 = v3.rotate_left(16) ^ v2;
        v0 = v0.wrapping_add(v3);
        v3 = v3.rotate_left(21) ^ v0;
        v2 = v2.wrapping_add(v1);
        v1 = v1.rotate_left(17) ^ v2;
        v2 = v2.rotate_left(32);
        self.0 = [v0, v1, v2, v3];
    }

    fn absorb(&mut self, word: u64) {
        let [v0, v1, v2, v3] = self.0;
        self.0 = [v0, v1, v2, v3 ^ word];
        self.round();
        let [v0, v1, v2, v3] = self.0;
        self.0 = [v0 ^ word, v1, v2, v3];
    }
}

/// SipHash-1-3 of whole words, little-endian, under `key`.
pub(crate) fn hash<const N: usize>(key: Key, words: [u64; N]) -> u64 {
    let [k0, k1] = key;
    let mut state = State([
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ]);
    for word in words {
        state.absorb(word);
    }
    // The last block carries the length in bytes, modulo 256, in its top byte.
    let length = (N as u64).wrapping_mul(8);
    state.absorb(length << 56);
    let [v0, v1, v2, v3] = state.0;
    state.0 = [v0, v1, v2 ^ 0xff, v3];
    for _ in 0..3 {
        state.round();
    }
    let [v0, v1, v2, v3] = state.0;
    v0 ^ v1 ^ v2 ^ v3
}

#[cfg(test)]
mod tests {
    use super::hash;
    use core::hash::Hasher;

    #[test]
    fn every_input_bit_matters() {
        let key = [1, 2];
        let base = hash(key, [3, 4]);
        for bit in 0..64 {
            assert_ne!(hash(key, [3 ^ (1 << bit), 4]), base);
            assert_ne!(hash(key, [3, 4 ^ (1 << bit)]), base);
            assert_ne!(hash([1 ^ (1 << bit), 2], [3, 4]), base);
        }
    }

    #[test]
    fn matches_the_standard_hasher() {
        // std's default hasher is SipHash-1-3 with a zero key.
        extern crate std;
        let mut reference = std::collections::hash_map::DefaultHasher::new();
        reference.write(&0x0123_4567_89ab_cdef_u64.to_le_bytes());
        reference.write(&42_u64.to_le_bytes());
        assert_eq!(
            hash([0, 0], [0x0123_4567_89ab_cdef, 42]),
            reference.finish()
        );
    }
}
