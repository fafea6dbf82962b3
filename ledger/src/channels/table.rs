//! The identity table: a bounded hash table from identity to count (keeps C3: a count is
//! never forgotten while it is not zero).
//!
//! Linear probing with backward-shift deletion, so no tombstones: a search ends at the first
//! empty place. O(1) expected, O(table) at worst, and the table is small. Read and written in a
//! [`Turn`] of the policy's lock only, which orders what its atomics alone do not.

use core::sync::atomic::{AtomicU32, Ordering};

use super::identity::{Identity, WORDS};
use super::lock::Turn;

/// One identity's line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) identity: Identity,
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

/// What a cell holds.
const VACANT: u32 = 0;
const LINE: u32 = 1;
const LINE_WITH_CAP: u32 = 2;

/// A line, or none, in words that threads can share.
#[derive(Debug)]
struct Cell {
    holds: AtomicU32,
    open: AtomicU32,
    own_cap: AtomicU32,
    identity: [AtomicU32; WORDS],
}

impl Cell {
    const fn empty() -> Self {
        Cell {
            holds: AtomicU32::new(VACANT),
            open: AtomicU32::new(0),
            own_cap: AtomicU32::new(0),
            identity: [const { AtomicU32::new(0) }; WORDS],
        }
    }

    #[inline]
    fn is_vacant(&self) -> bool {
        self.holds.load(Ordering::Relaxed) == VACANT
    }

    /// Whether a line, which there is, is the identity's.
    #[inline]
    fn is_of(&self, identity: &Identity) -> bool {
        let mut words = self.identity.iter().zip(identity.words());
        words.all(|(word, wanted)| word.load(Ordering::Relaxed) == *wanted)
    }

    #[inline]
    fn line(&self) -> Option<Line> {
        let read = |word: &AtomicU32| word.load(Ordering::Relaxed);
        let holds = read(&self.holds);
        if holds == VACANT {
            return None;
        }
        Some(Line {
            identity: Identity::from_words(self.identity.each_ref().map(read)),
            open: read(&self.open),
            own_cap: (holds == LINE_WITH_CAP).then_some(read(&self.own_cap)),
        })
    }

    #[inline]
    fn set(&self, line: Option<Line>) {
        let write = |word: &AtomicU32, value| word.store(value, Ordering::Relaxed);
        let Some(line) = line else {
            return write(&self.holds, VACANT);
        };
        for (word, value) in self.identity.iter().zip(line.identity.words()) {
            write(word, *value);
        }
        write(&self.open, line.open);
        write(&self.own_cap, line.own_cap.unwrap_or(0));
        let capped = line.own_cap.is_some();
        write(&self.holds, if capped { LINE_WITH_CAP } else { LINE });
    }
}

#[derive(Debug)]
pub(super) struct IdentityTable<const IDENTITIES: usize> {
    cells: [Cell; IDENTITIES],
}

impl<const IDENTITIES: usize> IdentityTable<IDENTITIES> {
    pub(super) const fn new() -> Self {
        IdentityTable {
            cells: [const { Cell::empty() }; IDENTITIES],
        }
    }

    /// The line at a place that [`IdentityTable::find`] named.
    #[inline]
    pub(super) fn line(&self, _: &Turn<'_>, place: usize) -> Option<Line> {
        self.cells.get(place).and_then(Cell::line)
    }

    /// Writes a place that [`IdentityTable::find`] named.
    #[inline]
    pub(super) fn set(&self, _: &Turn<'_>, place: usize, line: Line) {
        if let Some(cell) = self.cells.get(place) {
            cell.set(Some(line));
        }
    }

    #[inline]
    pub(super) fn find(&self, _: &Turn<'_>, identity: &Identity) -> Place {
        let mut place = Self::home(identity);
        for _ in 0..IDENTITIES {
            match self.cells.get(place) {
                Some(cell) if cell.is_vacant() => return Place::Vacant(place),
                Some(cell) if cell.is_of(identity) => return Place::Taken(place),
                _ => place = Self::after(place),
            }
        }
        Place::Full
    }

    /// Empties a place and moves later lines back over it where their search needs that. A mark
    /// in the emptied place would do as well, once; a table that identities come and go in would
    /// fill with marks, and each search would then read all of it.
    pub(super) fn remove(&self, turn: &Turn<'_>, place: usize) {
        let mut hole = place;
        let mut next = Self::after(hole);
        // At most once round: a full table has no empty place to stop at.
        for _ in 1..IDENTITIES {
            let Some(line) = self.line(turn, next) else {
                break;
            };
            // The line may move back to the hole unless its home lies after the hole.
            if Self::distance(Self::home(&line.identity), next) >= Self::distance(hole, next) {
                self.set(turn, hole, line);
                hole = next;
            }
            next = Self::after(next);
        }
        if let Some(cell) = self.cells.get(hole) {
            cell.set(None);
        }
    }

    /// How many lines there are.
    pub(super) fn lines(&self, _: &Turn<'_>) -> usize {
        self.cells.iter().filter_map(Cell::line).count()
    }

    /// Where the search for an identity starts: its hash, scaled to the table.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "less than IDENTITIES, a usize"
    )]
    fn home(identity: &Identity) -> usize {
        let scaled = u128::from(hash(identity)).wrapping_mul(IDENTITIES as u128) >> 64;
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

const SEED: u64 = 0x2545_F491_4F6C_DD1D;
const ODD: u128 = 0x9E37_79B9_7F4A_7C15;

/// A small multiplicative hash: the two halves of each product, folded. Identities are
/// authenticated, and a flood of colliding ones costs a search of one bounded table.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
fn hash(identity: &Identity) -> u64 {
    let (pairs, _) = identity.words().as_chunks::<2>();
    pairs.iter().fold(SEED, |state, [low, high]| {
        let word = u64::from(*high) << 32 | u64::from(*low);
        let product = u128::from(state ^ word).wrapping_mul(ODD);
        (product as u64) ^ ((product >> 64) as u64)
    })
}
