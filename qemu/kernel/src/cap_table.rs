//! A process's capabilities: slots that are found by generation-checked ids.
//!
//! Keeps KERNEL-CAP-STALE: an id that was released names nothing until as many
//! capabilities have been given out as there are generations, times the free
//! slots. A slot's generation grows at each release and comes round after 2²¹ − 1,
//! so the table never runs out; free slots are taken oldest first, so that they
//! come round together and late. `docs/decisions/0019-generations-come-round.md`
//! says why that is safe, `0002-own-capability-table.md` why the published table
//! is not used.
//!
//! ```text
//! id:  | generation, 21 bits, never 0 | slot, 11 bits |
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;

const SLOT_BITS: u32 = 11;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Not 0, so that no id is 0.
const GENERATION_FIRST: u32 = 1;
const GENERATION_MAX: u32 = u32::MAX >> SLOT_BITS;

/// Slots of a table.
pub const SLOTS: usize = 1 << SLOT_BITS;

/// Name of a capability in its holder's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapId(u32);

impl CapId {
    /// As it crosses the process boundary.
    #[must_use]
    pub const fn wire(self) -> u32 {
        self.0
    }

    /// What a process sent as one.
    #[must_use]
    pub const fn from_wire(wire: u32) -> Self {
        Self(wire)
    }

    const fn slot(self) -> usize {
        (self.0 & SLOT_MASK) as usize
    }

    const fn generation(self) -> u32 {
        self.0 >> SLOT_BITS
    }
}

/// No slot is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// The id names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchCap;

struct Slot<O> {
    generation: u32,
    object: Option<O>,
    next_free: Option<u16>,
}

/// The table. `O` is what a capability refers to.
pub struct CapTable<O> {
    slots: Box<[Slot<O>]>,
    oldest_free: Option<u16>,
    newest_free: Option<u16>,
    held: usize,
}

impl<O: Copy> CapTable<O> {
    /// An empty table of [`SLOTS`] slots.
    #[must_use]
    pub fn new() -> Self {
        Self::with_first_generation(1)
    }

    fn with_first_generation(generation: u32) -> Self {
        let last = u16::try_from(SLOTS.saturating_sub(1)).unwrap_or(u16::MAX);
        let slots: Vec<Slot<O>> = (0..=last)
            .map(|index| Slot {
                generation,
                object: None,
                next_free: (index < last).then(|| index.saturating_add(1)),
            })
            .collect();
        Self {
            slots: slots.into_boxed_slice(),
            oldest_free: Some(0),
            newest_free: Some(last),
            held: 0,
        }
    }

    /// Gives the holder a capability to `object`.
    ///
    /// # Errors
    /// When every slot is held.
    pub fn insert(&mut self, object: O) -> Result<CapId, TableFull> {
        let index = self.oldest_free.ok_or(TableFull)?;
        let slot = self.slots.get_mut(usize::from(index)).ok_or(TableFull)?;
        self.oldest_free = slot.next_free.take();
        if self.oldest_free.is_none() {
            self.newest_free = None;
        }
        slot.object = Some(object);
        self.held = self.held.saturating_add(1);
        Ok(CapId((slot.generation << SLOT_BITS) | u32::from(index)))
    }

    /// What `id` refers to.
    ///
    /// # Errors
    /// When it names nothing: never given, released, or made up.
    pub fn find(&self, id: CapId) -> Result<O, NoSuchCap> {
        self.slots
            .get(id.slot())
            .filter(|slot| slot.generation == id.generation())
            .and_then(|slot| slot.object)
            .ok_or(NoSuchCap)
    }

    /// Takes the capability away; what it referred to.
    ///
    /// # Errors
    /// As [`CapTable::find`].
    pub fn remove(&mut self, id: CapId) -> Result<O, NoSuchCap> {
        let index = id.slot();
        let slot = self
            .slots
            .get_mut(index)
            .filter(|slot| slot.generation == id.generation())
            .ok_or(NoSuchCap)?;
        let object = slot.object.take().ok_or(NoSuchCap)?;
        self.held = self.held.saturating_sub(1);
        slot.generation = match slot.generation {
            GENERATION_MAX => GENERATION_FIRST,
            generation => generation.saturating_add(1),
        };
        self.append_free(index);
        Ok(object)
    }

    /// Whether another capability can be given.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.oldest_free.is_some()
    }

    /// Capabilities held.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Everything held, in the order of the slots.
    pub fn objects(&self) -> impl Iterator<Item = O> + '_ {
        self.slots.iter().filter_map(|slot| slot.object)
    }

    fn append_free(&mut self, index: usize) {
        let Ok(index) = u16::try_from(index) else {
            return;
        };
        match self.newest_free {
            Some(last) => {
                if let Some(slot) = self.slots.get_mut(usize::from(last)) {
                    slot.next_free = Some(index);
                }
            }
            None => self.oldest_free = Some(index),
        }
        self.newest_free = Some(index);
    }
}

impl<O: Copy> Default for CapTable<O> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn finds_what_was_inserted_and_nothing_released() {
        let mut table = CapTable::new();
        let a = table.insert('a').unwrap();
        let b = table.insert('b').unwrap();
        assert_eq!((table.find(a), table.find(b)), (Ok('a'), Ok('b')));
        assert_eq!(table.remove(a), Ok('a'));
        assert_eq!(table.find(a), Err(NoSuchCap));
        assert_eq!(table.remove(a), Err(NoSuchCap));
        assert_eq!(table.held(), 1);
    }

    #[test]
    fn refuses_made_up_ids() {
        let mut table = CapTable::new();
        let real = table.insert(7).unwrap();
        for made_up in [
            0,
            1,
            u32::MAX,
            real.wire() ^ 1,
            real.wire() ^ (1 << SLOT_BITS),
        ] {
            assert_eq!(table.find(CapId::from_wire(made_up)), Err(NoSuchCap));
        }
    }

    #[test]
    fn holds_every_slot_then_refuses() {
        let mut table = CapTable::new();
        let ids: Vec<CapId> = (0..SLOTS).map(|n| table.insert(n).unwrap()).collect();
        assert!(!table.has_room());
        assert_eq!(table.insert(0), Err(TableFull));
        for (number, &id) in ids.iter().enumerate() {
            assert_eq!(table.remove(id), Ok(number));
        }
        assert!(table.insert(1).is_ok());
    }

    /// Gives and takes `count` capabilities; false at the first id in `seen`.
    fn gives_new_ids(table: &mut CapTable<()>, seen: &mut HashSet<u32>, count: usize) -> bool {
        (0..count).all(|_| {
            let id = table.insert(()).unwrap();
            table.remove(id).unwrap();
            seen.insert(id.wire())
        })
    }

    #[test]
    fn gives_no_id_again_soon() {
        let mut table = CapTable::new();
        let mut seen = HashSet::new();
        assert!(gives_new_ids(&mut table, &mut seen, 100_000));
    }

    #[test]
    fn generations_come_round_and_no_slot_is_lost() {
        let mut table = CapTable::with_first_generation(GENERATION_MAX - 1);
        let mut seen = HashSet::new();
        assert!(gives_new_ids(&mut table, &mut seen, 4 * SLOTS));
        assert!(!seen.contains(&0));
        let ids: Vec<CapId> = (0..SLOTS).map(|_| table.insert(()).unwrap()).collect();
        assert!(ids.iter().all(|id| id.generation() == 3));
        assert!(!table.has_room());
    }

    /// Ten years of 10,000 accepts a second use the ids up many times over, so
    /// the table must not run out; and with as many slots free as the service
    /// leaves, an id comes again after more than two days, where a completion
    /// that names it is a round of the queues old at most.
    #[test]
    fn a_machine_that_is_up_for_years_does_not_run_out() {
        const ACCEPTS_A_SECOND: u64 = 10_000;
        /// 1,024 permits and what refuses and closes beside them, with room.
        const HELD_MAX: u64 = 1_120;
        let seconds = 10 * 365 * 24 * 3_600;
        let generations = u64::from(GENERATION_MAX);
        let ids = generations * SLOTS as u64;
        assert!(ACCEPTS_A_SECOND * seconds > 700 * ids);
        let apart = generations * (SLOTS as u64 - HELD_MAX) / ACCEPTS_A_SECOND;
        assert!(apart > 2 * 24 * 3_600, "{apart} s");
    }
}
