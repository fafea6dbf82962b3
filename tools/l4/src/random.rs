//! Reproducible randomness for hostile clients: the seed is a constant, so a failure can be
//! repeated. Not for secrets.

/// A xorshift generator.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// Starts from a seed; 0 is taken as 1, which xorshift cannot leave.
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed.max(1) }
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A number below `bound` (which is at least 1).
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}
