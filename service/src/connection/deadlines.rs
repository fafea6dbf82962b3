//! One deadline a connection, in a timing wheel: set, cancel and expire in O(1) each, whatever the
//! number of connections (INV-DEADLINES). Never early; late by less than one tick.

use ingress_ledger::Instant;
#[cfg(test)]
use ingress_ledger::Span;

use crate::connection::chain::Chains;

/// The wheel's resolution, 2^24 ns = 16.8 ms.
const TICK_SHIFT: u32 = 24;

/// How late a deadline may be noticed at most.
#[cfg(test)]
const TICK: Span = Span::from_nanos(1 << TICK_SHIFT);

/// Buckets of the wheel; a deadline further away than they reach waits in the last one and is put on
/// again from there.
const BUCKETS: usize = 512;
/// The bits of a tick that name its bucket.
const BUCKET_MASK: u64 = BUCKETS as u64 - 1;
const WORDS: usize = BUCKETS / 64;
const WORD_MASK: u64 = WORDS as u64 - 1;

/// The deadlines of `N` connections.
#[derive(Debug)]
pub(crate) struct Deadlines<const N: usize> {
    chains: Chains<N, BUCKETS>,
    due: [Instant; N],
    occupied: [u64; WORDS],
    /// Every bucket up to this tick is empty.
    cursor: u64,
}

impl<const N: usize> Deadlines<N> {
    /// No deadlines.
    pub(crate) const fn new() -> Self {
        Self {
            chains: Chains::new(),
            due: [Instant::ZERO; N],
            occupied: [0; WORDS],
            cursor: 0,
        }
    }

    /// Sets the deadline of an entry, replacing the one it has.
    pub(crate) fn set(&mut self, entry: u16, due: Instant) {
        self.cancel(entry);
        let Some(slot) = self.due.get_mut(usize::from(entry)) else {
            return;
        };
        *slot = due;
        let furthest = self.cursor.saturating_add(BUCKETS as u64).saturating_sub(1);
        let tick = tick_at_or_after(due).clamp(self.cursor.saturating_add(1), furthest);
        let bucket = bucket_of(tick);
        self.chains.push(bucket, entry);
        self.mark(bucket);
    }

    /// Takes an entry's deadline away.
    pub(crate) fn cancel(&mut self, entry: u16) {
        let Some(bucket) = self.chains.list_of(entry) else {
            return;
        };
        self.chains.remove(entry);
        self.unmark_if_empty(bucket);
    }

    /// The next entry whose deadline has passed; its deadline is taken away.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<u16> {
        let present = now.as_nanos() >> TICK_SHIFT;
        loop {
            let tick = self.next_tick()?;
            if tick > present {
                self.cursor = self.cursor.max(present);
                return None;
            }
            let bucket = bucket_of(tick);
            let entry = self.chains.first(bucket)?;
            let due = self.due.get(usize::from(entry)).copied()?;
            self.cancel(entry);
            // Buckets before this tick are empty, so that one that waited here for a further
            // deadline can go as far as the wheel reaches from here.
            self.cursor = self.cursor.max(tick.saturating_sub(1));
            if due <= now {
                return Some(entry);
            }
            self.set(entry, due);
        }
    }

    /// When `expire` has something to look at next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next_tick()
            .map(|tick| Instant::from_nanos(tick.saturating_mul(1 << TICK_SHIFT)))
    }

    /// The first tick after the cursor whose bucket is not empty.
    fn next_tick(&self) -> Option<u64> {
        let start = self.cursor.saturating_add(1);
        let offset = start & BUCKET_MASK;
        let (word, bit) = (offset / 64, offset % 64);
        for step in 0..=WORDS as u64 {
            let index = word.saturating_add(step) & WORD_MASK;
            let mut bits = self.occupied.get(usize::try_from(index).ok()?).copied()?;
            if step == 0 {
                bits &= u64::MAX << bit;
            } else if step == WORDS as u64 {
                bits &= !(u64::MAX << bit);
            }
            if bits != 0 {
                let bucket = index
                    .saturating_mul(64)
                    .saturating_add(u64::from(bits.trailing_zeros()));
                let ahead = bucket.wrapping_sub(offset) & BUCKET_MASK;
                return Some(start.saturating_add(ahead));
            }
        }
        None
    }

    fn mark(&mut self, bucket: u16) {
        if let Some(word) = self.occupied.get_mut(usize::from(bucket / 64)) {
            *word |= 1 << (bucket % 64);
        }
    }

    fn unmark_if_empty(&mut self, bucket: u16) {
        if self.chains.first(bucket).is_none()
            && let Some(word) = self.occupied.get_mut(usize::from(bucket / 64))
        {
            *word &= !(1 << (bucket % 64));
        }
    }
}

/// The first tick that does not begin before `due`.
const fn tick_at_or_after(due: Instant) -> u64 {
    due.as_nanos().div_ceil(1 << TICK_SHIFT)
}

const fn bucket_of(tick: u64) -> u16 {
    (tick & BUCKET_MASK) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn expired(deadlines: &mut Deadlines<64>, now: u64) -> Vec<u16> {
        std::iter::from_fn(|| deadlines.expire(Instant::from_nanos(now))).collect()
    }

    #[test]
    fn deadlines_expire_neither_early_nor_a_tick_late() {
        let mut deadlines = Deadlines::<64>::new();
        let due: Vec<u64> = (0..64).map(|entry| 1 + entry * 37 * SECOND / 100).collect();
        for (entry, due) in due.iter().enumerate() {
            deadlines.set(u16::try_from(entry).unwrap(), Instant::from_nanos(*due));
        }
        let mut seen = 0;
        let mut now = 0;
        while seen < 64 {
            for entry in expired(&mut deadlines, now) {
                let due = due[entry as usize];
                assert!(
                    due <= now && now < due + 2 * TICK.as_nanos(),
                    "{entry}: {due} at {now}"
                );
                seen += 1;
            }
            now += TICK.as_nanos() / 2;
        }
        assert_eq!(deadlines.next(), None);
    }

    #[test]
    fn far_deadlines_and_long_sleeps_are_kept() {
        let mut deadlines = Deadlines::<64>::new();
        deadlines.set(1, Instant::from_nanos(100 * SECOND));
        deadlines.set(2, Instant::from_nanos(3 * SECOND));
        deadlines.set(3, Instant::MAX);
        assert_eq!(expired(&mut deadlines, 99 * SECOND), [2]);
        assert_eq!(expired(&mut deadlines, 101 * SECOND), [1]);
        assert_eq!(expired(&mut deadlines, 1 << 48), []);
        deadlines.set(4, Instant::from_nanos(5));
        assert_eq!(
            expired(&mut deadlines, (1 << 48) + 2 * TICK.as_nanos()),
            [4]
        );
    }

    #[test]
    fn a_cancelled_or_replaced_deadline_does_not_expire() {
        let mut deadlines = Deadlines::<64>::new();
        deadlines.set(1, Instant::from_nanos(SECOND));
        deadlines.set(2, Instant::from_nanos(SECOND));
        deadlines.set(1, Instant::from_nanos(2 * SECOND));
        deadlines.cancel(2);
        assert_eq!(expired(&mut deadlines, SECOND + TICK.as_nanos()), []);
        assert!(
            deadlines
                .next()
                .is_some_and(|next| next.as_nanos() <= 2 * SECOND + TICK.as_nanos())
        );
        assert_eq!(expired(&mut deadlines, 2 * SECOND + TICK.as_nanos()), [1]);
    }

    #[test]
    fn it_agrees_with_a_sorted_list_under_random_use() {
        let mut deadlines = Deadlines::<64>::new();
        let mut model = std::collections::BTreeMap::new();
        let mut seed = 7u64;
        let mut now = 0u64;
        for _ in 0..200_000 {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let entry = u16::try_from((seed >> 40) % 64).unwrap();
            match (seed >> 33) % 4 {
                0 | 1 => {
                    let due = now + (seed >> 20) % (12 * SECOND);
                    deadlines.set(entry, Instant::from_nanos(due));
                    model.insert(entry, due);
                }
                2 => {
                    deadlines.cancel(entry);
                    model.remove(&entry);
                }
                _ => {
                    now += (seed >> 30) % (SECOND / 4);
                    for entry in expired(&mut deadlines, now) {
                        assert!(model.remove(&entry).is_some_and(|due| due <= now));
                    }
                    assert!(model.values().all(|due| due + TICK.as_nanos() > now));
                }
            }
        }
    }
}
