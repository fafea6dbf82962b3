//! Evidence of the permits: counters and present state, as one plain copy.

use super::ConnectionPermits;
use crate::lane::{Lane, PerLane};
use crate::ledger::StatusRow;
use crate::rate::RatePolicy;

/// One lane's connections since the permits were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PermitCounters {
    /// Connections admitted.
    pub admitted: u64,
    /// Connections that ended.
    pub released: u64,
    /// Connections refused: the sum of the four below.
    pub refused: u64,
    /// Refused for [`PermitRefusal::ClockLost`](crate::PermitRefusal::ClockLost).
    pub refused_clock_lost: u64,
    /// Refused for [`PermitRefusal::RateLimited`](crate::PermitRefusal::RateLimited).
    pub refused_rate_limited: u64,
    /// Refused for [`PermitRefusal::LaneFull`](crate::PermitRefusal::LaneFull).
    pub refused_lane_full: u64,
    /// Refused for [`PermitRefusal::TotalFull`](crate::PermitRefusal::TotalFull).
    pub refused_total_full: u64,
    /// Refused connections that were to be answered.
    pub refusals_admitted: u64,
    /// Refused connections closed unanswered at the ceiling of refusals.
    pub refusals_unanswered: u64,
    /// Most connections held at once.
    pub high_water: u64,
}

impl PermitCounters {
    pub(super) const ZERO: PermitCounters = PermitCounters {
        admitted: 0,
        released: 0,
        refused: 0,
        refused_clock_lost: 0,
        refused_rate_limited: 0,
        refused_lane_full: 0,
        refused_total_full: 0,
        refusals_admitted: 0,
        refusals_unanswered: 0,
        high_water: 0,
    };
}

/// One lane's counters and present state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LanePermitEvidence {
    /// What happened since the permits were opened.
    pub counters: PermitCounters,
    /// Connections held now.
    pub in_use: u64,
    /// Connections that the lane can reach.
    pub limit: u64,
    /// Connections that only this lane can hold.
    pub reserve: u64,
    /// Refused connections being answered now.
    pub refusals_in_use: u64,
    /// How the lane's accepts are bounded over time.
    pub rate: RatePolicy,
}

/// All counters and the present state of the permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PermitEvidence {
    /// Each lane's.
    pub lanes: PerLane<LanePermitEvidence>,
    /// Connections held now.
    pub in_use: u64,
    /// Connections in all.
    pub limit: u64,
    /// Most connections held at once by all lanes together.
    pub high_water: u64,
    /// Tokens of the issuer that were dropped unreleased.
    pub leaked: u64,
    /// Accounting faults: always zero.
    pub faults: u64,
}

impl PermitEvidence {
    /// Whether `released + in use == admitted` on every lane, and nothing leaked or failed.
    #[must_use]
    pub fn release_balanced(&self) -> bool {
        self.leaked == 0
            && self.faults == 0
            && self.lanes.iter().all(|(_, lane)| {
                lane.counters.released.checked_add(lane.in_use) == Some(lane.counters.admitted)
            })
    }
}

impl ConnectionPermits<'_> {
    /// All counters and the present state.
    #[must_use]
    pub fn evidence(&self) -> PermitEvidence {
        PermitEvidence {
            lanes: PerLane::from_fn(|lane| LanePermitEvidence {
                counters: self.counters[lane],
                in_use: self.partition.used(lane),
                limit: self.partition.share(lane).ceiling,
                reserve: self.partition.share(lane).reserve,
                refusals_in_use: self.refusals[lane].into(),
                rate: self.rates[lane].policy(),
            }),
            in_use: self.partition.total_used(),
            limit: self.partition.total(),
            high_water: self.high_water,
            leaked: self.issuer.leaked(),
            faults: self.faults,
        }
    }

    /// Each lane's connections, then all.
    #[must_use]
    pub fn status_rows(&self) -> [StatusRow; 4] {
        let row = |lane| StatusRow {
            resource: "connections",
            lane: Some(lane),
            in_use: self.partition.used(lane),
            limit: self.partition.share(lane).ceiling,
        };
        let [a, b, c] = Lane::ALL;
        let all = StatusRow {
            resource: "connections",
            lane: None,
            in_use: self.partition.total_used(),
            limit: self.partition.total(),
        };
        [row(a), row(b), row(c), all]
    }
}
