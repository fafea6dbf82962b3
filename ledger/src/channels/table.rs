//! The identity table: a bounded hash table from identity to count (keeps C3: a count is
//! never forgotten while it is not zero).
//!
//! Linear probing with backward-shift deletion, so no tombstones: a search ends at the first
//! empty place. O(1) expected, O(table) at worst, and the table is small.

use core::cell::Cell;
use core::hash::{Hash, Hasher};

/// One identity's line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<I> {
    pub(super) identity: I,
    /// Channels open now.
    pub(super) open: u32,
    /// A cap of its own; such a line stays when nothing is open.
    pub(super) own_cap: Option<u32>,
}

/// Where a line is, or could be.
pub(super) enum Place {
    /// The identity's line is here.
    Taken(usize),
    /// It has none; it could go here.
    Vacant(usize),
    /// It has none, and the table is full.
    Full,
}

#[derive(Debug)]
pub(super) struct IdentityTable<I: Copy, const IDENTITIES: usize> {
    lines: [Cell<Option<Line<I>>>; IDENTITIES],
}

impl<I: Copy + Eq + Hash, const IDENTITIES: usize> IdentityTable<I, IDENTITIES> {
    pub(super) const fn new() -> Self {
        IdentityTable {
            lines: [const { Cell::new(None) }; IDENTITIES],
        }
    }

    /// The line at a place that [`IdentityTable::find`] named.
    #[inline]
    pub(super) fn line(&self, place: usize) -> Option<Line<I>> {
        self.lines.get(place).and_then(Cell::get)
    }

    /// Writes a place that [`IdentityTable::find`] named.
    #[inline]
    pub(super) fn set(&self, place: usize, line: Line<I>) {
        if let Some(cell) = self.lines.get(place) {
            cell.set(Some(line));
        }
    }

    #[inline]
    pub(super) fn find(&self, identity: &I) -> Place {
        let mut place = Self::home(identity);
        for _ in 0..IDENTITIES {
            match self.line(place) {
                None => return Place::Vacant(place),
                Some(line) if line.identity == *identity => return Place::Taken(place),
                Some(_) => place = Self::after(place),
            }
        }
        Place::Full
    }

    /// Empties a place and moves later lines back over it where their search needs that. A mark
    /// in the emptied place would do as well, once; a table that identities come and go in would
    /// fill with marks, and each search would then read all of it.
    pub(super) fn remove(&self, place: usize) {
        let mut hole = place;
        let mut next = Self::after(hole);
        // At most once round: a full table has no empty place to stop at.
        for _ in 1..IDENTITIES {
            let Some(line) = self.line(next) else { break };
            // The line may move back to the hole unless its home lies after the hole.
            if Self::distance(Self::home(&line.identity), next) >= Self::distance(hole, next) {
                self.set(hole, line);
                hole = next;
            }
            next = Self::after(next);
        }
        if let Some(cell) = self.lines.get(hole) {
            cell.set(None);
        }
    }

    /// Lines, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Line<I>> + '_ {
        self.lines.iter().filter_map(Cell::get)
    }

    /// Where the search for an identity starts: its hash, scaled to the table.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "less than IDENTITIES, a usize"
    )]
    fn home(identity: &I) -> usize {
        let mut hasher = Multiplier(SEED);
        identity.hash(&mut hasher);
        let scaled = u128::from(hasher.finish()).wrapping_mul(IDENTITIES as u128) >> 64;
        scaled as usize
    }

    #[inline]
    fn after(place: usize) -> usize {
        let next = place.wrapping_add(1);
        if next < IDENTITIES { next } else { 0 }
    }

    /// Steps from one place forward to another.
    #[inline]
    fn distance(from: usize, to: usize) -> usize {
        if to >= from {
            to.wrapping_sub(from)
        } else {
            to.wrapping_add(IDENTITIES).wrapping_sub(from)
        }
    }
}

/// A small multiplicative hash: the two halves of each product, folded. Identities are
/// authenticated, and a flood of colliding ones costs a search of one bounded table.
struct Multiplier(u64);

const SEED: u64 = 0x2545_F491_4F6C_DD1D;
const ODD: u128 = 0x9E37_79B9_7F4A_7C15;

impl Multiplier {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word).wrapping_mul(ODD);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for Multiplier {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(
                word.iter()
                    .rev()
                    .fold(0, |word, byte| word << 8 | u64::from(*byte)),
            );
        }
        let rest = words.remainder();
        self.mix(
            rest.iter()
                .fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)),
        );
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }
}
