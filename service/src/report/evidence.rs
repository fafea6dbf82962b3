//! Every counter of the service as one plain copy (INV-EVIDENCE: fixed size, no record of any
//! single attempt, no secret and no address).
//!
//! Per listener, `accepted == conns_admitted + conns_refused + conns_turned_away`.

use ingress_ledger::{Bytes, EvidenceSnapshot, PerLane, PermitEvidence, RatePolicy, Span};

use super::row::StatusClass;
pub use super::table::ServiceCounters;

/// Whether the service takes work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServingState {
    /// It does.
    Serving,
    /// It finishes what it has.
    Draining,
}

impl ServingState {
    /// The word in answers and on the evidence line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::Draining => "draining",
        }
    }
}

/// Everything that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// Lanes that have a listener.
    pub enabled: PerLane<bool>,
    /// Requests.
    pub ledger: EvidenceSnapshot,
    /// Connections.
    pub permits: PermitEvidence,
    /// The rest.
    pub service: PerLane<ServiceCounters>,
    /// Memory in use: accounts, and every record and slot that was ever used.
    pub memory: Bytes,
    /// Accounts that did not add up, of requests, connections and records: always zero.
    pub faults: u64,
    /// Time since the start.
    pub uptime: Span,
    /// Whether the service takes work.
    pub state: ServingState,
}

impl Evidence {
    /// Whether every token is accounted for: requests and connections, on every lane.
    #[must_use]
    pub fn release_balanced(&self) -> bool {
        self.ledger.release_balanced() && self.permits.release_balanced()
    }

    /// Responses of a class, on all lanes.
    #[must_use]
    pub fn responses_of_class(&self, class: StatusClass) -> u64 {
        self.service.iter().fold(0, |sum, (_, service)| {
            sum.saturating_add(service.responses.of_class(class.0))
        })
    }
}

/// How a rate policy is called.
#[must_use]
pub const fn rate_word(rate: RatePolicy) -> &'static str {
    match rate {
        RatePolicy::Budget(_) => "budget",
        RatePolicy::LoopbackExempt => "exempt",
        RatePolicy::Unmetered => "unmetered",
    }
}
