//! The connection table, and everything that is all zeros at rest: records, buffers, lists, deadlines.

use core::ops::{Index, IndexMut};

use ingress_ledger::{Bytes, Instant, LANES};

use crate::connection::buffers::{Area, INPUT_AREA, NOTE_AREA, SLOT_AREA};
use crate::connection::chain::Chains;
use crate::connection::deadlines::Deadlines;
use crate::connection::give_way::{AGE_LISTS, Standing};
use crate::connection::output::Output;
use crate::connection::record::{Doing, Held, Record, Stage};
use crate::ids::{ConnId, Slot};

/// The place of a record that was ever used. Only the table makes one, and it never shrinks, so
/// that a place leads to a record without a further look.
///
/// An input resolves its [`ConnId`] into a place once, by [`Buffers::resolve`]; the stages after it
/// take the place. Its record is that connection's until `forget`, the last thing that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u16);

impl Place {
    /// Its number in lists and deadlines.
    pub(crate) const fn index(self) -> u16 {
        self.0
    }

    const fn offset(self) -> usize {
        self.0 as usize
    }
}

/// All memory of a server with `CONNS` connection records and `SLOTS` serving slots.
///
/// Meant to live in a `static`. [`Buffers::new`] is all zeros, so that a linker puts it into BSS and
/// it costs no image size. `CONNS` is more than the connections that are served at once, for those on
/// their way in and out: see [`ConnectionRecords`](ingress_ledger::ConnectionRecords).
pub struct Buffers<const CONNS: usize, const SLOTS: usize> {
    /// Those that were ever used; a `Vec`, because a free record is not all zeros.
    records: heapless::Vec<Record, CONNS, u16>,
    inputs: [Area<INPUT_AREA>; CONNS],
    notes: [Area<NOTE_AREA>; CONNS],
    slots: [Area<SLOT_AREA>; SLOTS],
    /// Connections with something for the caller to do, a list for each lane.
    pub(crate) ready: Chains<CONNS, LANES>,
    /// Connections that may have to give way, by standing, oldest first; see `give_way`.
    pub(crate) ages: Chains<CONNS, AGE_LISTS>,
    /// Free records that were used before.
    free_records: Chains<CONNS, 1>,
    free_slots: Chains<SLOTS, 1>,
    fresh_slots: u16,
    pub(crate) deadlines: Deadlines<CONNS>,
}

/// One connection's record together with its bytes.
pub(crate) struct Parts<'a> {
    pub(crate) record: &'a mut Record,
    pub(crate) input: &'a mut [u8; INPUT_AREA],
    pub(crate) note: &'a mut [u8; NOTE_AREA],
}

impl<const CONNS: usize, const SLOTS: usize> Buffers<CONNS, SLOTS> {
    /// No connections.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            records: heapless::Vec::new(),
            inputs: [const { Area([0; INPUT_AREA]) }; CONNS],
            notes: [const { Area([0; NOTE_AREA]) }; CONNS],
            slots: [const { Area([0; SLOT_AREA]) }; SLOTS],
            ready: Chains::new(),
            ages: Chains::new(),
            free_records: Chains::new(),
            free_slots: Chains::new(),
            fresh_slots: 0,
            deadlines: Deadlines::new(),
        }
    }

    /// The place of a connection that is still there.
    pub(crate) fn resolve(&self, conn: ConnId) -> Option<Place> {
        let record = self.records.get(usize::from(conn.index()))?;
        let is_there =
            record.generation == conn.generation() && !matches!(record.stage, Stage::Free);
        is_there.then_some(Place(conn.index()))
    }

    /// The place at an index of a list; `None` for an index that no list has.
    pub(crate) fn place(&self, index: u16) -> Option<Place> {
        (usize::from(index) < self.records.len()).then_some(Place(index))
    }

    /// Every place that was ever used.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + use<CONNS, SLOTS> {
        let used = u16::try_from(self.records.len()).unwrap_or(u16::MAX);
        (0..used).map(Place)
    }

    /// The present id of the connection at a place.
    pub(crate) fn id_of(&self, at: Place) -> ConnId {
        ConnId::from_parts(at.0, self[at].generation)
    }

    /// A connection with its bytes.
    #[expect(
        clippy::indexing_slicing,
        reason = "a place is below the length, see `Place`"
    )]
    pub(crate) fn parts(&mut self, at: Place) -> Parts<'_> {
        Parts {
            record: &mut self.records[at.offset()],
            input: &mut self.inputs[at.offset()].0,
            note: &mut self.notes[at.offset()].0,
        }
    }

    /// What a handler works on: what came in, and the area of the slot.
    #[expect(
        clippy::indexing_slicing,
        reason = "places and slots are below the length, and the table alone makes them"
    )]
    pub(crate) fn served(&mut self, at: Place, held: &Held) -> (Parts<'_>, &mut [u8; SLOT_AREA]) {
        let parts = Parts {
            record: &mut self.records[at.offset()],
            input: &mut self.inputs[at.offset()].0,
            note: &mut self.notes[at.offset()].0,
        };
        (parts, &mut self.slots[held.slot.index()].0)
    }

    /// What a connection has to send, with the area that it is in.
    #[expect(
        clippy::indexing_slicing,
        reason = "places and slots are below the length, and the table alone makes them"
    )]
    pub(crate) fn output(&mut self, at: Place) -> Option<(&mut Output, &mut [u8])> {
        let note = &mut self.notes[at.offset()].0;
        match &mut self.records[at.offset()].stage {
            Stage::Refused { output, .. } => Some((output, note)),
            Stage::Open { doing, .. } => match doing {
                Doing::Body {
                    interim: output, ..
                }
                | Doing::Telling { output, .. }
                | Doing::Session { output, .. } => Some((output, note)),
                Doing::Serving { held, output, .. } => {
                    Some((output, &mut self.slots[held.slot.index()].0))
                }
                Doing::Fresh
                | Doing::Idle
                | Doing::Head
                | Doing::Waiting { .. }
                | Doing::Working { .. }
                | Doing::Lingering { .. } => None,
            },
            Stage::Free | Stage::Closing { .. } => None,
        }
    }

    /// Takes a free record; the caller fills it.
    pub(crate) fn claim_record(&mut self) -> Option<Place> {
        let index = match self.free_records.first(0) {
            Some(index) => {
                self.free_records.remove(index);
                index
            }
            None => {
                let index = u16::try_from(self.records.len()).ok()?;
                self.records.push(Record::FREE).ok()?;
                index
            }
        };
        let at = self.place(index)?;
        self[at].generation = self[at].generation.wrapping_add(1);
        Some(at)
    }

    /// Puts a connection at the end of the list of its standing, or on none. One that is on it already
    /// keeps its place.
    pub(crate) fn note_standing(&mut self, at: Place, now: Instant) {
        let record = &self[at];
        let list = Standing::of(record).map(|standing| standing.list(record.lane()));
        match list {
            Some(list) if self.ages.list_of(at.0) == Some(list) => {}
            Some(_) => self.renew_standing(at, now),
            None => self.ages.remove(at.0),
        }
    }

    /// Lets a connection's standing begin anew: it is the youngest of its list.
    pub(crate) fn renew_standing(&mut self, at: Place, now: Instant) {
        let record = &mut self[at];
        if let Some(standing) = Standing::of(record) {
            let list = standing.list(record.lane());
            record.since = now;
            self.ages.push(list, at.0);
        }
    }

    /// Gives a record back.
    pub(crate) fn free_record(&mut self, at: Place) {
        self.free_records.push(0, at.0);
    }

    /// Bytes of every record and slot that was ever used.
    pub(crate) fn bytes_used(&self) -> Bytes {
        let record = size_of::<Record>()
            .saturating_add(INPUT_AREA)
            .saturating_add(NOTE_AREA);
        let records = self.records.len().saturating_mul(record);
        let slots = usize::from(self.fresh_slots).saturating_mul(SLOT_AREA);
        Bytes::new(records.saturating_add(slots) as u64)
    }

    /// Takes a free slot.
    pub(crate) fn claim_slot(&mut self) -> Option<Slot> {
        if let Some(index) = self.free_slots.first(0) {
            self.free_slots.remove(index);
            return Some(Slot(index));
        }
        let index = self.fresh_slots;
        (usize::from(index) < SLOTS).then(|| {
            self.fresh_slots = index.saturating_add(1);
            Slot(index)
        })
    }

    /// Gives a slot back.
    pub(crate) fn free_slot(&mut self, slot: Slot) {
        self.free_slots.push(0, slot.0);
    }
}

impl<const CONNS: usize, const SLOTS: usize> Default for Buffers<CONNS, SLOTS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const CONNS: usize, const SLOTS: usize> Index<Place> for Buffers<CONNS, SLOTS> {
    type Output = Record;

    #[expect(
        clippy::indexing_slicing,
        reason = "a place is below the length, see `Place`"
    )]
    fn index(&self, at: Place) -> &Record {
        &self.records[at.offset()]
    }
}

impl<const CONNS: usize, const SLOTS: usize> IndexMut<Place> for Buffers<CONNS, SLOTS> {
    #[expect(
        clippy::indexing_slicing,
        reason = "a place is below the length, see `Place`"
    )]
    fn index_mut(&mut self, at: Place) -> &mut Record {
        &mut self.records[at.offset()]
    }
}
