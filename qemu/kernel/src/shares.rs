//! How the processor is shared: whoever has had least of it is next, and what a
//! process that serves has had counts for little.
//!
//! Keeps KERNEL-FAIR-TIME: a process that wants little gets it as soon as it
//! wants it, beside any number that want all there is; one that waited long may
//! make up for a bounded part of it only; and one that serves goes before those
//! that do not, which are not starved for all that.
//!
//! Two classes by weight and not by rank: a rank would starve the second class,
//! or need a second rule that says when it does not; and the client in the guest,
//! which wants little, would wait behind a service that wants all.

use ingress_schema::PROCESSES_MAX;

/// How far behind the others a process that wakes may be, in nanoseconds.
const CREDIT: u64 = 5_000_000;
/// How much more a running process may have had before it gives way.
const GRAIN: u64 = 50_000;
/// What a process that serves has counts for so many times less: beside one
/// that computes it has 4 parts of 5. Not more: a client in the guest that asks twenty
/// times a second takes some 3 % of a processor that a flood keeps busy, and with a 32nd it
/// waited for 17 ms and more.
const SERVING_WEIGHT: u64 = 4;
/// Longest time that the processor is a process's before others are looked at.
pub const SLICE_NANOSECONDS: u64 = 10_000_000;
/// The same for one that does not serve while one that does wants the processor.
pub const SHORT_SLICE_NANOSECONDS: u64 = 1_000_000;

/// What each process has had, in nanoseconds, by its place in the table.
pub struct Shares {
    used: [u64; PROCESSES_MAX],
    serves: [bool; PROCESSES_MAX],
    /// What the one chosen last had had: where newcomers start.
    floor: u64,
}

impl Shares {
    /// Nobody has had anything.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            used: [0; PROCESSES_MAX],
            serves: [false; PROCESSES_MAX],
            floor: 0,
        }
    }

    /// Process `place` serves.
    pub fn set_serving(&mut self, place: usize) {
        if let Some(serves) = self.serves.get_mut(place) {
            *serves = true;
        }
    }

    /// How long process `place` may run beside `wanting`, those that want the
    /// processor.
    #[must_use]
    pub fn slice(&self, place: usize, mut wanting: impl Iterator<Item = usize>) -> u64 {
        if !self.serves(place) && wanting.any(|other| self.serves(other)) {
            SHORT_SLICE_NANOSECONDS
        } else {
            SLICE_NANOSECONDS
        }
    }

    /// Process `place` has had `nanoseconds` more.
    pub fn charge(&mut self, place: usize, nanoseconds: u64) {
        let nanoseconds = if self.serves(place) {
            nanoseconds / SERVING_WEIGHT
        } else {
            nanoseconds
        };
        if let Some(used) = self.used.get_mut(place) {
            *used = used.saturating_add(nanoseconds);
        }
    }

    /// Process `place` wants the processor again after a wait.
    pub fn wake(&mut self, place: usize) {
        let least = self.floor.saturating_sub(CREDIT);
        if let Some(used) = self.used.get_mut(place) {
            *used = least.max(*used);
        }
    }

    /// Chooses among the processes that want the processor; of equals the
    /// first.
    pub fn choose(&mut self, wanting: impl Iterator<Item = usize>) -> Option<usize> {
        let chosen = wanting.min_by_key(|place| self.used(*place))?;
        self.floor = self.floor.max(self.used(chosen));
        Some(chosen)
    }

    /// Whether `running` has had so much more than `other` that it gives way.
    #[must_use]
    pub fn gives_way(&self, running: usize, other: usize) -> bool {
        self.used(other).saturating_add(GRAIN) < self.used(running)
    }

    fn serves(&self, place: usize) -> bool {
        self.serves.get(place).copied().unwrap_or(false)
    }

    fn used(&self, place: usize) -> u64 {
        self.used.get(place).copied().unwrap_or(u64::MAX)
    }
}

impl Default for Shares {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn equals_that_want_all_get_halves() {
        let mut shares = Shares::new();
        let mut had = [0_u64; 2];
        for _ in 0..1_000 {
            let chosen = shares.choose(0..2).unwrap();
            shares.charge(chosen, 10 * MS);
            had[chosen] += 10 * MS;
        }
        assert_eq!(had[0], had[1]);
    }

    #[test]
    fn one_that_wants_little_gets_it_at_once() {
        let mut shares = Shares::new();
        for _ in 0..100 {
            // Two hogs while the third waits.
            for _ in 0..5 {
                let hog = shares.choose([0, 1].into_iter()).unwrap();
                shares.charge(hog, 10 * MS);
            }
            shares.wake(2);
            assert!(shares.gives_way(0, 2) && shares.gives_way(1, 2));
            assert_eq!(shares.choose(0..3), Some(2));
            shares.charge(2, MS / 2);
        }
    }

    #[test]
    fn a_long_wait_is_made_up_for_in_part_only() {
        let mut shares = Shares::new();
        for _ in 0..1_000 {
            shares.choose([0].into_iter());
            shares.charge(0, 10 * MS);
        }
        shares.wake(1);
        let mut alone = 0;
        while shares.choose(0..2) == Some(1) {
            shares.charge(1, MS);
            alone += MS;
        }
        assert!(alone <= CREDIT + 11 * MS, "{alone}");
    }

    /// Runs those at `0..count`, who want all there is, each for its slice, many
    /// times; what each has had.
    fn contend(shares: &mut Shares, count: usize) -> Vec<u64> {
        let mut had = vec![0_u64; count];
        for _ in 0..5_000 {
            let chosen = shares.choose(0..count).unwrap();
            let slice = shares.slice(chosen, 0..count);
            shares.charge(chosen, slice);
            had[chosen] = had[chosen].saturating_add(slice);
        }
        had
    }

    #[test]
    fn one_that_serves_goes_first_and_the_others_still_move() {
        for others in 1..PROCESSES_MAX {
            let mut shares = Shares::new();
            shares.set_serving(0);
            let had = contend(&mut shares, 1 + others);
            let all: u64 = had.iter().sum();
            let shares = SERVING_WEIGHT + others as u64;
            assert!(had[0] * shares * 8 > all * SERVING_WEIGHT * 7, "{had:?}");
            assert!(had.iter().skip(1).all(|had| *had > all / 100), "{had:?}");
        }
    }

    #[test]
    fn nobody_is_kept_from_serving_for_longer_than_a_short_slice() {
        let mut shares = Shares::new();
        shares.set_serving(0);
        assert_eq!(shares.slice(1, 0..2), SHORT_SLICE_NANOSECONDS);
        assert_eq!(shares.slice(1, 1..3), SLICE_NANOSECONDS);
        assert_eq!(shares.slice(0, 0..2), SLICE_NANOSECONDS);
    }

    #[test]
    fn one_that_wants_little_gets_it_at_once_beside_one_that_serves() {
        let mut shares = Shares::new();
        shares.set_serving(0);
        for _ in 0..100 {
            shares.charge(0, 50 * MS);
            shares.choose([0].into_iter());
            shares.wake(1);
            assert_eq!(shares.choose(0..2), Some(1));
            shares.charge(1, MS / 2);
        }
    }

    #[test]
    fn nobody_gives_way_for_a_trifle_or_to_nobody() {
        let mut shares = Shares::new();
        shares.charge(0, GRAIN);
        assert!(!shares.gives_way(0, 1));
        assert!(!shares.gives_way(0, 99));
        assert_eq!(shares.choose(core::iter::empty()), None);
    }
}
