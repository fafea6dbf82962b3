//! Evidence: everything that an evidence line needs, as one plain copy.

use super::IngressLedger;
use crate::counters::{LaneCounters, bump};
use crate::lane::{Lane, PerLane};
use crate::rate::RatePolicy;

/// One lane's counters and present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneEvidence {
    /// What happened since the ledger was opened.
    pub counters: LaneCounters,
    /// Requests that hold a slot now.
    pub serving: u64,
    /// Requests admitted that hold none now.
    pub waiting: u64,
    /// Bytes held now.
    pub bytes: u64,
    /// Slots that only this lane can hold.
    pub slot_reserve: u64,
    /// Slots that the lane can reach.
    pub slot_limit: u64,
    /// How the lane's rate is bounded.
    pub rate: RatePolicy,
}

impl LaneEvidence {
    /// Requests admitted and not yet ended.
    #[must_use]
    pub const fn outstanding(&self) -> u64 {
        self.serving.saturating_add(self.waiting)
    }

    /// Whether `completed + cancelled + outstanding == admitted`.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let LaneCounters {
            admitted,
            completed,
            cancelled,
            ..
        } = self.counters;
        let ended = completed.checked_add(cancelled);
        ended.and_then(|ended| ended.checked_add(self.outstanding())) == Some(admitted)
    }
}

/// All counters and the present state of a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EvidenceSnapshot {
    /// Each lane's.
    pub lanes: PerLane<LaneEvidence>,
    /// Most slots held at once by all lanes together.
    pub slots_high_water: u64,
    /// Slots of the general pool held now.
    pub general_used: u64,
    /// Slots of the general pool.
    pub general_pool: u64,
    /// Bytes held now.
    pub bytes_in_flight: u64,
    /// Most bytes held at once.
    pub bytes_high_water: u64,
    /// Tokens of this ledger's issuer that were dropped unreleased.
    pub leaked: u64,
    /// Times the caller's clock stepped back; it was taken to stand still.
    pub clock_steps_back: u64,
    /// Accounting faults: always zero.
    pub faults: u64,
}

impl EvidenceSnapshot {
    /// Requests admitted and not yet ended, on all lanes.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.sum(LaneEvidence::outstanding)
    }

    /// Sum of one figure over the lanes.
    #[must_use]
    pub fn sum(&self, figure: impl Fn(&LaneEvidence) -> u64) -> u64 {
        self.lanes
            .iter()
            .fold(0, |sum, (_, lane)| sum.saturating_add(figure(lane)))
    }

    /// Whether nothing is outstanding.
    #[must_use]
    pub fn is_quiescent(&self) -> bool {
        self.outstanding() == 0
    }

    /// Whether every admission is accounted for on every lane, and nothing leaked or failed.
    #[must_use]
    pub fn release_balanced(&self) -> bool {
        self.lanes.iter().all(|(_, lane)| lane.is_balanced())
            && self.leaked == 0
            && self.faults == 0
    }
}

/// One bounded resource, for an operator's status table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatusRow {
    /// What is bounded, for instance `slots`.
    pub resource: &'static str,
    /// Whose, or `None` for all lanes together.
    pub lane: Option<Lane>,
    /// In use now.
    pub in_use: u64,
    /// The bound.
    pub limit: u64,
}

impl<const TICKETS: usize> IngressLedger<'_, TICKETS> {
    /// All counters and the present state.
    #[must_use]
    pub fn evidence(&self) -> EvidenceSnapshot {
        EvidenceSnapshot {
            lanes: PerLane::from_fn(|lane| LaneEvidence {
                counters: self.books[lane].counters,
                serving: self.slots.used(lane),
                waiting: self.books[lane].waiting.into(),
                bytes: self.bytes.used(lane),
                slot_reserve: self.slots.share(lane).reserve,
                slot_limit: self.slots.share(lane).ceiling,
                rate: self.books[lane].rate.policy(),
            }),
            slots_high_water: self.slots_high_water,
            general_used: self.slots.general_used(),
            general_pool: self.slots.general(),
            bytes_in_flight: self.bytes.total_used(),
            bytes_high_water: self.bytes_high_water,
            leaked: self.issuer.leaked(),
            clock_steps_back: self.clock_steps_back,
            faults: self.faults,
        }
    }

    /// Counts a request that was denied because its route is not one of the lane's.
    pub fn route_denied(&mut self, lane: Lane) {
        bump(&mut self.books[lane].counters.route_denied);
    }

    /// Slots and queue places: each lane's, then all slots and bytes.
    #[must_use]
    pub fn status_rows(&self) -> [StatusRow; 8] {
        let slots = |lane| StatusRow {
            resource: "slots",
            lane: Some(lane),
            in_use: self.slots.used(lane),
            limit: self.slots.share(lane).ceiling,
        };
        let queue = |lane| StatusRow {
            resource: "queue",
            lane: Some(lane),
            in_use: self.books[lane].waiting.into(),
            limit: self.books[lane].rules.queue.into(),
        };
        let all = |resource, in_use, limit| StatusRow {
            resource,
            lane: None,
            in_use,
            limit,
        };
        let [a, b, c] = Lane::ALL;
        [
            slots(a),
            queue(a),
            slots(b),
            queue(b),
            slots(c),
            queue(c),
            all("slots", self.slots.total_used(), self.slots.total()),
            all("bytes", self.bytes.total_used(), self.bytes.total()),
        ]
    }
}
