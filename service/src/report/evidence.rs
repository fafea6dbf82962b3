//! Every counter of the service as one plain copy, and the console line that shows them
//! (INV-EVIDENCE: fixed size, no record of any single attempt, no secret and no address).
//!
//! The line is `key=value` words. `<lane>` is `anonymous`, `local_health` or `provider_health`; a lane
//! without listener shows only its `admitted_` and `conns_admitted_`, which are 0.
//!
//! | key | counts |
//! |---|---|
//! | `admitted_<lane>` | requests admitted, to a slot or to the queue |
//! | `completed_<lane>` | of these, fully served |
//! | `cancelled_<lane>` | of these, ended otherwise: time-out, close, reset |
//! | `expired_<lane>` | of the cancelled, those whose deadline passed in the queue |
//! | `overload_<kind>_<lane>` | requests refused: `lane_pool_full`, `per_connection_limit`, `rate_limited` (429); `aggregate_full`, `byte_budget_exhausted`, `deadline_exceeded`, `clock_lost` (503) |
//! | `route_denied_<lane>` | requests denied because path or method is not one of the lane's |
//! | `high_water_<lane>` | most slots held at once |
//! | `waiting_high_water_<lane>` | most requests waiting for a slot at once |
//! | `conns_admitted_<lane>` | connections that got a permit |
//! | `conns_released_<lane>` | permits given back |
//! | `conns_refused_<lane>` | connections refused a permit |
//! | `conns_turned_away_<lane>` | connections closed without being asked for a permit: while draining |
//! | `conns_high_water_<lane>` | most permits held at once |
//! | `refusals_unanswered_<lane>` | of the refused, those that could not be sent an answer |
//! | `idle_closed_<lane>` | connections without a request closed to let newcomers in, or by a drain |
//! | `gave_way_<lane>` | connections in a request or an answer ended to let newcomers or waiting requests in |
//! | `timed_out_<lane>` | connections or requests ended by a phase deadline, or by the end of a drain's patience |
//! | `accepts_failed_<lane>` | accepts that failed |
//! | `rate_<lane>` | `budget`, `exempt` or `unmetered` |
//! | `status_<code>_<lane>` | responses begun with that status; those never sent are left out |
//! | `responses_<class>xx` | responses begun, by class, all lanes |
//! | `outstanding` | requests admitted and not ended |
//! | `release_balanced` | `true` if `completed + cancelled + outstanding == admitted` and the like for permits hold on every lane |
//! | `leaked`, `faults` | tokens dropped unreleased; accounting faults: always 0 |
//! | `slots_high_water`, `conns_high_water`, `bytes_high_water`, `bytes_in_flight` | of all lanes together |
//! | `memory_bytes` | accounts, and every record and slot that was ever used: grows with the most connections at once, and with nothing else |
//! | `uptime_ms` | since the start |
//! | `state` | `serving` or `draining` |
//!
//! Per listener, `accepted == conns_admitted + conns_refused + conns_turned_away`.

use core::fmt;

use ingress_ledger::{
    Bytes, EvidenceSnapshot, Lane, OverloadKind, PerLane, PermitEvidence, RatePolicy, Span,
};

use crate::http::status::{Status, StatusCounters};

/// What the service itself counts on one lane, beside the ledger and the permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceCounters {
    /// Responses begun, by status.
    pub responses: StatusCounters,
    /// Connections closed without being asked for a permit.
    pub turned_away: u64,
    /// Refused connections whose answer was not taken.
    pub refusals_unsent: u64,
    /// Connections without a request closed to let newcomers in, or by a drain.
    pub idle_closed: u64,
    /// Connections in a request or an answer ended to let newcomers or waiting requests in.
    pub gave_way: u64,
    /// Connections or requests ended by a phase deadline, or by the end of a drain's patience.
    pub timed_out: u64,
    /// Accepts that failed and would have failed again at once.
    pub accepts_spun: u64,
    /// Accepts that failed and lost their connection.
    pub accepts_consumed: u64,
}

impl ServiceCounters {
    /// All zero.
    pub const ZERO: Self = Self {
        responses: StatusCounters::new(),
        turned_away: 0,
        refusals_unsent: 0,
        idle_closed: 0,
        gave_way: 0,
        timed_out: 0,
        accepts_spun: 0,
        accepts_consumed: 0,
    };
}

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
    pub fn responses_of_class(&self, class: u16) -> u64 {
        self.service.iter().fold(0, |sum, (_, service)| {
            sum.saturating_add(service.responses.of_class(class))
        })
    }

    /// Refused connections of a lane that were closed without their answer: past the ceiling, or
    /// because it was not taken.
    #[must_use]
    pub fn refusals_unanswered(&self, lane: Lane) -> u64 {
        let past_ceiling = self.permits.lanes[lane].counters.refusals_unanswered;
        past_ceiling.saturating_add(self.service[lane].refusals_unsent)
    }

    fn lane(&self, lane: Lane, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = lane.name();
        let requests = &self.ledger.lanes[lane].counters;
        let conns = &self.permits.lanes[lane].counters;
        let service = &self.service[lane];
        if !self.enabled[lane] {
            return write!(
                out,
                "admitted_{name}={} conns_admitted_{name}={} ",
                requests.admitted, conns.admitted
            );
        }
        for (key, count) in [
            ("admitted", requests.admitted),
            ("completed", requests.completed),
            ("cancelled", requests.cancelled),
            ("expired", requests.expired),
            ("route_denied", requests.route_denied),
            ("high_water", requests.slots_high_water),
            ("waiting_high_water", requests.waiting_high_water),
            ("conns_admitted", conns.admitted),
            ("conns_released", conns.released),
            ("conns_refused", conns.refused),
            ("conns_turned_away", service.turned_away),
            ("conns_high_water", conns.high_water),
            ("refusals_unanswered", self.refusals_unanswered(lane)),
            ("idle_closed", service.idle_closed),
            ("gave_way", service.gave_way),
            ("timed_out", service.timed_out),
            (
                "accepts_failed",
                service
                    .accepts_spun
                    .saturating_add(service.accepts_consumed),
            ),
        ] {
            write!(out, "{key}_{name}={count} ")?;
        }
        for kind in OverloadKind::ALL {
            write!(
                out,
                "overload_{}_{name}={} ",
                kind.code(),
                requests.overloads[kind]
            )?;
        }
        for status in Status::ALL
            .into_iter()
            .filter(|status| service.responses.of(*status) > 0)
        {
            write!(
                out,
                "status_{}_{name}={} ",
                status.code(),
                service.responses.of(status)
            )?;
        }
        write!(
            out,
            "rate_{name}={} ",
            rate_word(self.ledger.lanes[lane].rate)
        )
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

impl fmt::Display for Evidence {
    /// The words of the evidence line, one line, without a prefix.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for lane in Lane::ALL {
            self.lane(lane, out)?;
        }
        for class in 2..=5 {
            write!(
                out,
                "responses_{class}xx={} ",
                self.responses_of_class(class)
            )?;
        }
        write!(
            out,
            "outstanding={} release_balanced={} leaked={} faults={} slots_high_water={} conns_high_water={} \
             bytes_high_water={} bytes_in_flight={} memory_bytes={} uptime_ms={} state={}",
            self.ledger.outstanding(),
            self.release_balanced(),
            self.ledger.leaked,
            self.faults,
            self.ledger.slots_high_water,
            self.permits.high_water,
            self.ledger.bytes_high_water,
            self.ledger.bytes_in_flight,
            self.memory,
            self.uptime.as_millis(),
            self.state.word(),
        )
    }
}
