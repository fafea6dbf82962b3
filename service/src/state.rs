//! The accounts of a server, and what it is started with.

use ingress_ledger::{
    AcceptBackoff, BackoffLimits, Bytes, ConnectionPermits, ConnectionRecords, IngressLedger,
    Instant, Issuer, Lane, OpenError, PerLane,
};

use crate::boot::policy::{Policy, TICKETS};
use crate::connection::drain::Drain;
use crate::http::date::HttpDate;
use crate::ids::JitterSeed;
use crate::report::evidence::{Evidence, ServiceCounters, ServingState};
use crate::request::jobs::Jobs;
use crate::request::route::Route;

/// The monotonic time, or `None` when the clock could not be read.
pub type Now = Option<Instant>;

static ISSUER: Issuer = Issuer::new();

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// The resolved policy.
    pub policy: Policy,
    /// Where the jitter of `Retry-After` starts.
    pub jitter: JitterSeed,
    /// The time of the start.
    pub now: Instant,
}

/// A reading of the wall clock, tied to the monotonic one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallClock {
    /// Seconds since 1970, UTC.
    pub unix_seconds: u64,
    /// The monotonic time of the reading.
    pub at: Instant,
}

/// The accounts of a server: small, not zero at rest. Meant to live in a `static`.
pub struct State {
    pub(crate) permits: ConnectionPermits<'static>,
    pub(crate) ledger: IngressLedger<'static, TICKETS>,
    /// Records by lane: one a connection, and one an accept on its way.
    pub(crate) records: ConnectionRecords,
    pub(crate) accepting: PerLane<u32>,
    /// Closing connections whose slot is free once their socket is closed.
    pub(crate) leaving: PerLane<u32>,
    /// When an answer that was not being read gave way last.
    pub(crate) turned_over: PerLane<Option<Instant>>,
    pub(crate) backoff: AcceptBackoff,
    pub(crate) jobs: Jobs,
    pub(crate) routes: &'static [Route],
    pub(crate) policy: Option<Policy>,
    pub(crate) service: PerLane<ServiceCounters>,
    pub(crate) jitter: JitterSeed,
    pub(crate) drain: Option<Drain>,
    /// Connections that are not quiet (see `Record::is_quiet`), and records that are not free.
    pub(crate) busy: u32,
    pub(crate) live: u32,
    /// What did not add up here, beside the ledger's own: always zero.
    faults: u64,
    pub(crate) started: Instant,
    /// The latest time that was seen.
    pub(crate) clock: Instant,
    wall: Option<WallClock>,
    date: Option<HttpDate>,
    /// Counts what an evidence line would show; as of the last line; and when each last changed.
    pub(crate) activity: u64,
    pub(crate) reported: u64,
    pub(crate) active_at: Instant,
    pub(crate) reported_at: Instant,
    /// The protected lane that had an action last.
    pub(crate) served_last: Lane,
}

impl State {
    /// Nothing is served before [`Server::start`](crate::Server::start).
    #[must_use]
    pub const fn new() -> Self {
        Self {
            permits: ConnectionPermits::closed(&ISSUER),
            ledger: IngressLedger::closed(&ISSUER),
            records: ConnectionRecords::closed(),
            accepting: PerLane::all(0),
            leaving: PerLane::all(0),
            turned_over: PerLane::all(None),
            backoff: AcceptBackoff::new(BackoffLimits::DEFAULT),
            jobs: Jobs::new(),
            routes: &[],
            policy: None,
            service: PerLane::all(ServiceCounters::ZERO),
            jitter: JitterSeed::new(1),
            drain: None,
            busy: 0,
            live: 0,
            faults: 0,
            started: Instant::ZERO,
            clock: Instant::ZERO,
            wall: None,
            date: None,
            activity: 0,
            reported: 0,
            active_at: Instant::ZERO,
            reported_at: Instant::ZERO,
            served_last: Lane::ProviderHealth,
        }
    }

    /// Opens the accounts, once.
    pub(crate) fn open(
        &mut self,
        config: Config,
        records: ConnectionRecords,
        routes: &'static [Route],
    ) -> Result<(), StartError> {
        self.ledger
            .open(&config.policy.profile)
            .map_err(StartError::Ledger)?;
        self.permits
            .open(&config.policy.profile)
            .map_err(StartError::Ledger)?;
        self.records = records;
        self.routes = routes;
        self.policy = Some(config.policy);
        self.jitter = config.jitter;
        self.started = config.now;
        self.clock = config.now;
        self.active_at = config.now;
        self.reported_at = config.now;
        // The first line shows that a service which nobody used is balanced.
        self.activity = 1;
        Ok(())
    }

    /// Sets the wall clock.
    pub(crate) const fn set_wall_clock(&mut self, wall: WallClock) {
        self.wall = Some(wall);
    }

    /// Whether there is a wall clock, so that reading it again makes sense.
    pub(crate) const fn has_wall_clock(&self) -> bool {
        self.wall.is_some()
    }

    /// All counters.
    pub(crate) fn evidence(&self, memory: Bytes) -> Evidence {
        let (ledger, permits) = (self.ledger.evidence(), self.permits.evidence());
        Evidence {
            enabled: PerLane::from_fn(|lane| self.is_enabled(lane)),
            faults: self
                .faults
                .saturating_add(ledger.faults)
                .saturating_add(permits.faults),
            ledger,
            permits,
            service: PerLane::from_fn(|lane| ServiceCounters {
                accepts_spun: self.backoff.spun(lane),
                accepts_consumed: self.backoff.consumed(lane),
                ..self.service[lane]
            }),
            memory: Bytes::new(memory.count().saturating_add(size_of::<Self>() as u64)),
            uptime: self.clock.since(self.started),
            state: self.serving_state(),
        }
    }

    pub(crate) fn is_enabled(&self, lane: Lane) -> bool {
        self.policy
            .as_ref()
            .is_some_and(|policy| policy.profile.is_enabled(lane))
    }

    pub(crate) const fn serving_state(&self) -> ServingState {
        if self.drain.is_some() {
            ServingState::Draining
        } else {
            ServingState::Serving
        }
    }

    /// Ends an accept that was on its way; whether one was.
    pub(crate) fn end_accept(&mut self, lane: Lane) -> bool {
        match self.accepting[lane].checked_sub(1) {
            Some(accepting) => {
                self.accepting[lane] = accepting;
                true
            }
            None => {
                self.fault("an accept ended that was not started");
                false
            }
        }
    }

    /// Gives a record of the lane back.
    pub(crate) fn release_record(&mut self, lane: Lane) {
        if !self.records.release(lane) {
            self.fault("a lane gave back more records than it had");
        }
    }

    /// The present date, rendered once a second.
    pub(crate) fn date(&mut self) -> Option<HttpDate> {
        let wall = self.wall?;
        let passed = self.clock.since(wall.at).as_millis() / 1000;
        let second = wall.unix_seconds.saturating_add(passed);
        if self.date.is_none_or(|date| date.unix_seconds() != second) {
            self.date = Some(HttpDate::from_unix_seconds(second));
        }
        self.date
    }

    /// Counts what cannot happen, whatever a client does, and names it; fails a debug build.
    #[cold]
    pub(crate) fn fault(&mut self, what: &str) {
        self.faults = self.faults.saturating_add(1);
        debug_assert!(false, "{what}");
    }

    /// Notes that something happened that evidence shows.
    pub(crate) const fn note_activity(&mut self) {
        self.activity = self.activity.wrapping_add(1);
        self.active_at = self.clock;
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a server is not started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartError {
    /// The policy asks for more slots than there are buffers, or leaves no record beyond its
    /// connections.
    MemoryTooSmall,
    /// The ledger or the permits do not open.
    Ledger(OpenError),
}

impl core::fmt::Display for StartError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::MemoryTooSmall => out.write_str("the policy asks for more than the buffers hold"),
            Self::Ledger(error) => error.fmt(out),
        }
    }
}

impl core::error::Error for StartError {}
