//! The connection table, and everything that is all zeros at rest: records, buffers, lists, deadlines.

use ingress_ledger::{Bytes, Instant, Lane};

use crate::connection::buffers::{Area, INPUT_AREA, NOTE_AREA, SLOT_AREA};
use crate::connection::chain::Chains;
use crate::connection::deadlines::Deadlines;
use crate::connection::give_way::{AGE_LISTS, Standing};
use crate::connection::output::Source;
use crate::connection::record::{Phase, Record};
use crate::ids::{ConnId, Slot};

/// Lists of one kind: one for each lane, numbered by [`list_of`].
pub(crate) const LANE_LISTS: u16 = 3;

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
    pub(crate) ready: Chains<CONNS, { LANE_LISTS as usize }>,
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

    /// The record of a connection that is still there.
    pub(crate) fn record(&mut self, conn: ConnId) -> Option<&mut Record> {
        let record = self.records.get_mut(usize::from(conn.index()))?;
        (record.generation == conn.generation() && record.phase != Phase::Free).then_some(record)
    }

    /// The record of a connection that is still there, to look at.
    pub(crate) fn peek(&self, conn: ConnId) -> Option<&Record> {
        let record = self.records.get(usize::from(conn.index()))?;
        (record.generation == conn.generation() && record.phase != Phase::Free).then_some(record)
    }

    /// A connection that is still there, with its bytes.
    pub(crate) fn parts(&mut self, conn: ConnId) -> Option<Parts<'_>> {
        let index = usize::from(conn.index());
        let record = self.records.get_mut(index)?;
        if record.generation != conn.generation() || record.phase == Phase::Free {
            return None;
        }
        Some(Parts {
            record,
            input: &mut self.inputs.get_mut(index)?.0,
            note: &mut self.notes.get_mut(index)?.0,
        })
    }

    /// A connection's record with the area that its output is in.
    pub(crate) fn output(&mut self, conn: ConnId) -> Option<(&mut Record, &mut [u8])> {
        let index = usize::from(conn.index());
        let record = self.records.get_mut(index)?;
        if record.generation != conn.generation() || record.phase == Phase::Free {
            return None;
        }
        let area = match record.output.source {
            Source::Note => &mut self.notes.get_mut(index)?.0[..],
            Source::Slot => &mut self.slots.get_mut(record.slot.as_ref()?.index())?.0[..],
        };
        Some((record, area))
    }

    /// The present id of a record's connection.
    pub(crate) fn id_of(&self, index: u16) -> Option<ConnId> {
        let record = self.records.get(usize::from(index))?;
        Some(ConnId::from_parts(index, record.generation))
    }

    /// Takes a free record; the caller fills it.
    pub(crate) fn claim_record(&mut self) -> Option<ConnId> {
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
        let record = self.records.get_mut(usize::from(index))?;
        record.generation = record.generation.wrapping_add(1);
        record.phase = Phase::Fresh;
        Some(ConnId::from_parts(index, record.generation))
    }

    /// Puts a connection at the end of the list of its standing, or on none. One that is on it already
    /// keeps its place.
    pub(crate) fn note_standing(&mut self, conn: ConnId, at: Instant) {
        let Some(record) = self.record(conn) else {
            return;
        };
        let list = Standing::of(record).map(|standing| standing.list(record.lane()));
        match list {
            Some(list) if self.ages.list_of(conn.index()) == Some(list) => {}
            Some(_) => self.renew_standing(conn, at),
            None => self.ages.remove(conn.index()),
        }
    }

    /// Lets a connection's standing begin anew: it is the youngest of its list.
    pub(crate) fn renew_standing(&mut self, conn: ConnId, at: Instant) {
        let Some(record) = self.record(conn) else {
            return;
        };
        if let Some(standing) = Standing::of(record) {
            let list = standing.list(record.lane());
            record.since = at;
            self.ages.push(list, conn.index());
        }
    }

    /// Records that were ever used.
    pub(crate) fn records_used(&self) -> u16 {
        u16::try_from(self.records.len()).unwrap_or(u16::MAX)
    }

    /// Gives a record back.
    pub(crate) fn free_record(&mut self, conn: ConnId) {
        let record = self.records.get_mut(usize::from(conn.index()));
        if let Some(record) = record.filter(|record| record.generation == conn.generation()) {
            record.phase = Phase::Free;
            self.free_records.push(0, conn.index());
        }
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

/// The list of a lane.
pub(crate) const fn list_of(lane: Lane) -> u16 {
    match lane {
        Lane::Anonymous => 0,
        Lane::LocalHealth => 1,
        Lane::ProviderHealth => 2,
    }
}
