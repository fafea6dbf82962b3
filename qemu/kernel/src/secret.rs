//! A secret out of many small doubts: SipHash-2-4 with 128 bits, keyed with
//! random numbers where there are any, over everything else that one boot does
//! not share with the next. A word that somebody knows takes nothing away.

/// Where the doubt comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The processor's random numbers, and the rest.
    Processor,
    /// The rest alone: the date, and how two clocks run against each other.
    Jitter,
}

impl Origin {
    /// As on the console.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Processor => "rdrand",
            Self::Jitter => "jitter",
        }
    }
}

/// A secret in the making.
pub struct Secret {
    state: [u64; 4],
    words: u64,
    origin: Origin,
}

impl Secret {
    /// Begins with two random words, if the processor has given two. Equal ones
    /// are a generator that stands, and count for none.
    #[must_use]
    pub fn new(random: Option<[u64; 2]>) -> Self {
        let random = random.filter(|[first, second]| first != second);
        let [k0, k1] = random.unwrap_or([0; 2]);
        Self {
            state: [
                k0 ^ 0x736f_6d65_7073_6575,
                k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
                k0 ^ 0x6c79_6765_6e65_7261,
                k1 ^ 0x7465_6462_7974_6573,
            ],
            words: 0,
            origin: random.map_or(Origin::Jitter, |_| Origin::Processor),
        }
    }

    /// Where it comes from.
    #[must_use]
    pub const fn origin(&self) -> Origin {
        self.origin
    }

    /// Adds a word.
    pub fn add(&mut self, word: u64) {
        self.words = self.words.wrapping_add(1);
        self.absorb(word);
    }

    /// The secret.
    #[must_use]
    pub fn finish(mut self) -> [u64; 2] {
        // The last block carries the length in bytes, modulo 256.
        self.absorb(self.words.wrapping_mul(8) << 56);
        let [_, _, v2, _] = &mut self.state;
        *v2 ^= 0xee;
        let first = self.squeeze();
        let [_, v1, _, _] = &mut self.state;
        *v1 ^= 0xdd;
        [first, self.squeeze()]
    }

    fn absorb(&mut self, word: u64) {
        let [_, _, _, v3] = &mut self.state;
        *v3 ^= word;
        self.rounds(2);
        let [v0, _, _, _] = &mut self.state;
        *v0 ^= word;
    }

    fn squeeze(&mut self) -> u64 {
        self.rounds(4);
        let [v0, v1, v2, v3] = self.state;
        v0 ^ v1 ^ v2 ^ v3
    }

    fn rounds(&mut self, count: u32) {
        let [mut v0, mut v1, mut v2, mut v3] = self.state;
        for _ in 0..count {
            v0 = v0.wrapping_add(v1);
            v2 = v2.wrapping_add(v3);
            v1 = v1.rotate_left(13) ^ v0;
            v3 = v3.rotate_left(16) ^ v2;
            v0 = v0.rotate_left(32).wrapping_add(v3);
            v2 = v2.wrapping_add(v1);
            v3 = v3.rotate_left(21) ^ v0;
            v1 = v1.rotate_left(17) ^ v2;
            v2 = v2.rotate_left(32);
        }
        self.state = [v0, v1, v2, v3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANDOM: Option<[u64; 2]> = Some([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908]);

    fn of(random: Option<[u64; 2]>, words: &[u64]) -> [u64; 2] {
        let mut secret = Secret::new(random);
        words.iter().for_each(|&word| secret.add(word));
        secret.finish()
    }

    /// A published vector, as its bytes are written.
    fn vector(first: u64, second: u64) -> [u64; 2] {
        [first, second].map(u64::swap_bytes)
    }

    #[test]
    fn agrees_with_the_published_vectors() {
        let empty = vector(0xa381_7f04_ba25_a8e6, 0x6df6_7214_c755_0293);
        assert_eq!(of(RANDOM, &[]), empty);
        let eight = vector(0x3b62_a9ba_6258_f561, 0x0f83_e264_f314_97b4);
        assert_eq!(of(RANDOM, &[0x0706_0504_0302_0100]), eight);
    }

    #[test]
    fn every_bit_of_every_word_matters() {
        let words = [3, 0, u64::MAX, 9];
        for random in [None, RANDOM] {
            let secret = of(random, &words);
            for place in 0..words.len() {
                for bit in 0..64 {
                    let mut other = words;
                    other[place] ^= 1 << bit;
                    let [first, second] = of(random, &other);
                    assert!(first != secret[0] && second != secret[1]);
                }
            }
        }
        assert_ne!(of(None, &[0]), of(None, &[0, 0]));
        assert_ne!(of(None, &words), of(RANDOM, &words));
    }

    #[test]
    fn a_generator_that_stands_is_none() {
        for stuck in [0, 7, u64::MAX] {
            let secret = Secret::new(Some([stuck; 2]));
            assert_eq!(secret.origin(), Origin::Jitter);
            assert_eq!(of(Some([stuck; 2]), &[5]), of(None, &[5]));
        }
        assert_eq!(Secret::new(RANDOM).origin(), Origin::Processor);
        assert_eq!(Secret::new(None).origin(), Origin::Jitter);
    }
}
