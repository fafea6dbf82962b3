//! Identities: what an authenticated caller is known by.

/// Words of an identity.
pub(super) const WORDS: usize = 8;

/// What an authenticated caller is known by, for as long as its channels are counted: 256 bits,
/// which a number, a public key or the hash of a longer name fits.
///
/// Not a type of the caller's own, because threads share the table that identities are kept in,
/// and without unsafe code they share words of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity([u32; WORDS]);

impl Identity {
    /// An identity of all its words.
    #[must_use]
    pub const fn from_words(words: [u32; WORDS]) -> Self {
        Identity(words)
    }

    /// An identity that a service counts by a number of its own.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are kept")]
    pub const fn from_number(number: u64) -> Self {
        Identity([number as u32, (number >> 32) as u32, 0, 0, 0, 0, 0, 0])
    }

    /// An identity of 32 bytes, such as a public key or a hash.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let (words, _) = bytes.as_chunks::<4>();
        let mut words = words.iter().map(|word| u32::from_le_bytes(*word));
        Identity(core::array::from_fn(|_| words.next().unwrap_or_default()))
    }

    pub(super) const fn words(&self) -> &[u32; WORDS] {
        &self.0
    }
}
