//! Names for connections and serving slots: small numbers that cannot be mixed up.

use core::num::NonZeroU32;

/// One accepted connection, named by its place in the table and by how often that place was used.
///
/// A caller may keep a `ConnId` for as long as it likes: an input that names a connection which has
/// since gone is ignored, because the generation no longer fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId {
    index: u16,
    generation: u16,
}

impl ConnId {
    /// Rebuilds an id from the two parts that [`ConnId::index`] and [`ConnId::generation`] gave.
    ///
    /// This is for callers that carry ids through a completion queue's `user_data`.
    #[must_use]
    pub const fn from_parts(index: u16, generation: u16) -> Self {
        Self { index, generation }
    }

    /// The place in the connection table, below the server's `CONNS`.
    #[must_use]
    pub const fn index(self) -> u16 {
        self.index
    }

    /// How often that place had been used when this id was made; wraps around.
    #[must_use]
    pub const fn generation(self) -> u16 {
        self.generation
    }

    /// The two parts in one word, as the ledger's owner tag.
    pub(crate) const fn to_word(self) -> u32 {
        ((self.generation as u32) << 16) | self.index as u32
    }

    /// The inverse of [`ConnId::to_word`].
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves of a word are what is wanted"
    )]
    pub(crate) const fn from_word(word: u32) -> Self {
        Self {
            index: word as u16,
            generation: (word >> 16) as u16,
        }
    }
}

/// One job, named by its place among the jobs of its lane and by how often that place was used: an
/// outcome that is told twice, or late, fits no job any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId {
    place: u16,
    generation: u16,
}

impl JobId {
    /// Rebuilds an id from the two parts that [`JobId::place`] and [`JobId::generation`] gave.
    #[must_use]
    pub const fn from_parts(place: u16, generation: u16) -> Self {
        Self { place, generation }
    }

    /// The place among all jobs, below [`JOBS`](crate::request::jobs::JOBS): a caller can keep what it lends
    /// for a job there.
    #[must_use]
    pub const fn place(self) -> u16 {
        self.place
    }

    /// How often that place had been used when this id was made; wraps around.
    #[must_use]
    pub const fn generation(self) -> u16 {
        self.generation
    }
}

/// One response buffer, owned by the request that is being served from it.
///
/// Move-only, so that a slot cannot be given back twice.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a slot that is dropped is lost until the next start"]
pub(crate) struct Slot(pub(crate) u16);

impl Slot {
    /// The place of the buffer.
    pub(crate) const fn index(&self) -> usize {
        self.0 as usize
    }
}

/// An index into a table of at most 65,534 entries that may be absent; absent is all zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link(u16);

impl Link {
    /// No entry.
    pub(crate) const NONE: Self = Self(0);

    /// The entry at `index`.
    pub(crate) const fn to(index: u16) -> Self {
        Self(index.saturating_add(1))
    }

    /// The index, if there is an entry.
    pub(crate) const fn index(self) -> Option<u16> {
        self.0.checked_sub(1)
    }
}

/// A seed for the jitter of `Retry-After`; any value but zero gives a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JitterSeed(NonZeroU32);

impl JitterSeed {
    /// A seed from entropy or, failing that, from a clock. Zero is replaced by a constant.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        match NonZeroU32::new(value) {
            Some(seed) => Self(seed),
            None => Self(NonZeroU32::MIN),
        }
    }

    /// The next number of a xorshift sequence, below `bound` (a power of two).
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let mut x = self.0.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.0 = NonZeroU32::new(x).unwrap_or(NonZeroU32::MIN);
        (x >> 8) & bound.saturating_sub(1)
    }
}
