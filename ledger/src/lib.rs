//! Pre-identity admission: who may be connected and served, before anybody is known.
//!
//! A service that anybody can reach must stay reachable for the few who keep it alive: the
//! operator on the local console, the provider's health probe. This crate is the ledger that
//! guarantees it, by counting. It has no allocation, no unsafe code, no clock, no I/O and no
//! dependencies; every operation is O([`LANES`]) and takes tens of nanoseconds.
//!
//! # The model
//!
//! Each connection belongs to a [`Lane`], fixed by the listener that accepted it and by
//! nothing that a client sends. Capacity is divided once, when the profile is validated:
//!
//! ```text
//!            +--------------- slots, connections, bytes in flight ---------------+
//!            | local reserve | provider reserve |          general pool          |
//!            +---------------+------------------+--------------------------------+
//!  local ----> 1st           |                  |  2nd, beyond its reserve       |
//!  provider ---------------> |  1st             |  2nd, beyond its reserve       |
//!  anonymous -----------------------------------> all that it ever has           |
//! ```
//!
//! A reserve is never lent, so no load on one lane can take another lane's floor; and the
//! general pool is never empty, so the public is never shut out. What happens to one
//! connection and one request:
//!
//! ```text
//!  accept -> ConnectionPermits::admit -> ConnectionPermit ----------------------> release
//!                  | PermitRefusal           |
//!                  +-> admit_refusal         | ConnectionUse, one a connection
//!                                            v
//!  request head -> IngressLedger::request -> IngressReservation --> complete | cancel
//!                  | IngressOverload          |            ^
//!                  +-> status, Retry-After    | no slot:   | select_next: slot, or expired
//!                                             +-- ticket --+
//! ```
//!
//! - A [`ConnectionPermit`] and an [`IngressReservation`] are move-only tokens. Each ends
//!   once, where it was issued. One that is dropped instead is counted as leaked, and fails
//!   a debug build at the next operation.
//! - Admission is not service: a request that finds no slot waits as a ticket in its lane's
//!   bounded queue. [`IngressLedger::select_next`] hands out slots: reserves first, then the
//!   general pool in fair turns, so that the head of a queue sees at most `LANES - 1` other
//!   choices before its own. A ticket whose deadline has passed is never served.
//! - A refusal changes one counter and nothing else.
//! - Time comes in as an [`Instant`]; a clock that steps back stands still, and a clock that
//!   is lost refuses everybody.
//! - Once identities are known, [`ChannelOperations`] counts what each of them has open, over
//!   all of its connections. Its policy alone is shared by threads; all else here is `&mut`.
//!
//! # Example
//!
//! ```
//! use ingress_ledger::*;
//!
//! // Numbers of one lane. The anonymous lane has no reserve and no rate budget.
//! let protected = LaneLimits {
//!     slots: Slots::new(4),
//!     slot_reserve: Slots::new(1),
//!     queue: Tickets::new(2),
//!     connections: Connections::new(8),
//!     connection_reserve: Connections::new(1),
//!     refusals: Connections::new(1),
//!     per_connection: Requests::new(2),
//!     footprint: Bytes::new(4_096),
//!     deadline: Span::from_secs(2),
//!     phases: LanePhases {
//!         head: Span::from_secs(2),
//!         body: Span::from_secs(2),
//!         write: Span::from_secs(2),
//!         idle: Span::from_secs(60),
//!     },
//!     request_rate: RatePolicy::Budget(RateBudget { burst: 10, per_second: 5 }),
//!     accept_rate: RatePolicy::Budget(RateBudget { burst: 10, per_second: 5 }),
//! };
//! let public = LaneLimits {
//!     slot_reserve: Slots::ZERO,
//!     connection_reserve: Connections::ZERO,
//!     request_rate: RatePolicy::Unmetered,
//!     accept_rate: RatePolicy::Unmetered,
//!     ..protected
//! };
//! let maxima = StructuralMaxima(Limits {
//!     slots: Slots::new(4),
//!     connections: Connections::new(8),
//!     bytes_in_flight: Bytes::new(65_536),
//!     refusal_deadline: Span::from_millis(500),
//!     lanes: PerLane([public, protected, protected]),
//! });
//! let quota = Quota {
//!     limits: maxima.0,
//!     listeners: PerLane([Listener::Network, Listener::Loopback, Listener::Network]),
//! };
//! let profile = IngressProfile::resolve(&maxima, &quota)?;
//! assert!(profile.clamps().is_empty());
//!
//! static ISSUER: Issuer = Issuer::new();
//! let mut permits = ConnectionPermits::new(&profile, &ISSUER)?;
//! let mut ledger = IngressLedger::<'_, 10>::new(&profile, &ISSUER)?;
//!
//! // The public listener accepts; the flood begins.
//! let now = Instant::from_nanos(1_000);
//! let permit = permits.admit(Lane::Anonymous, Some(now))?;
//! let mut connection = permit.connection_use(Owner(7));
//! let footprint = ledger.footprint(Lane::Anonymous).expect("the lane is enabled");
//! let first = ledger.request(&mut connection, footprint, Instant::MAX, Some(now))?;
//! let second = ledger.request(&mut connection, footprint, Instant::MAX, Some(now))?;
//! assert!(ledger.holds_slot(&first) && ledger.holds_slot(&second));
//!
//! // One connection may have two requests: the third is refused, and told why.
//! let refused = ledger.request(&mut connection, footprint, Instant::MAX, Some(now));
//! let overload = refused.unwrap_err();
//! assert_eq!(overload.status(), Status::TOO_MANY_REQUESTS);
//! assert_eq!(overload.to_string(), "per_connection_limit (2 of 2)");
//!
//! // The general pool is taken: another public request waits. The probe does not.
//! let mut other = ConnectionUse::new(Lane::Anonymous, Owner(8));
//! let waiting = ledger.request(&mut other, footprint, Instant::MAX, Some(now))?;
//! assert!(!ledger.holds_slot(&waiting));
//! let mut probe = ConnectionUse::new(Lane::ProviderHealth, Owner(9));
//! let health = ledger.request(&mut probe, footprint, Instant::MAX, Some(now))?;
//! assert!(ledger.holds_slot(&health));
//!
//! // A slot is freed; whoever waits is told by its tag.
//! ledger.complete(first, &mut connection).unwrap();
//! match ledger.select_next(now) {
//!     Some(Selected::Dispatched(chosen)) => assert_eq!(chosen.owner, Owner(8)),
//!     other => panic!("{other:?}"),
//! }
//! assert_eq!(ledger.select_next(now), None);
//!
//! // Every end gives everything back.
//! ledger.complete(second, &mut connection).unwrap();
//! ledger.complete(waiting, &mut other).unwrap();
//! ledger.cancel(health, &mut probe).unwrap();
//! permits.release(permit).unwrap();
//! let evidence = ledger.evidence();
//! assert!(evidence.is_quiescent() && evidence.release_balanced());
//! assert_eq!(evidence.lanes[Lane::Anonymous].counters.admitted, 3);
//! assert_eq!(evidence.lanes[Lane::Anonymous].counters.overloads.per_connection_limit, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Sessions that carry channels have them counted by identity, over all connections and all
//! threads that serve them:
//!
//! ```
//! use ingress_ledger::*;
//! use std::sync::Arc;
//!
//! // Three channels an identity, 64 identities at once, eight channels a connection.
//! let policy = Arc::new(PerIdentityChannelPolicy::<64>::new(Channels::new(3)));
//! let session = || {
//!     ChannelOperations::<8, _>::with_policy(ChannelManager::default(), Arc::clone(&policy))
//! };
//! let (mut phone, mut laptop) = (session(), session());
//! let ann = Identity::from_number(7);
//! let asked = OperationContext::direct(&ann);
//! let call = phone.open(&asked, Access::Granted)?;
//! laptop.open(&asked, Access::Granted)?;
//! laptop.open(&asked, Access::Granted)?;
//! let refused = laptop.open(&asked, Access::Granted);
//! assert_eq!(refused, Err(ChannelError::TooManyChannels));
//!
//! // A closed channel counts until its last bytes are out.
//! phone.close(&asked, call)?;
//! phone.drained(call)?;
//! laptop.open(&asked, Access::Granted)?;
//!
//! // A connection that ends gives back what it still has.
//! std::thread::spawn(move || drop((phone, laptop))).join().unwrap();
//! assert_eq!(policy.open(&ann), Channels::new(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Other services
//!
//! Nothing here needs HTTP: a connection may be a session and a request a job. The lanes are
//! the public's and two that are protected, whatever they are for. A service with fewer gives
//! the others [`LaneLimits::NONE`] and [`Listener::Absent`]. Where all numbers are the code's
//! own, no quota is needed: [`IngressProfile::validate`]. `TICKETS` is at least
//! [`ValidatedProfile::tickets_needed`]. The crate needs words of 32 bits and atomics of 32
//! bits, and nothing else of the machine.
//!
//! # Refusals
//!
//! Each has one status, one stable `code()` and one `explain()`; the checks come in this
//! order, the cheapest first.
//!
//! | refusal of a request | status | it means | tell the operator |
//! |---|---|---|---|
//! | [`ClockLost`](IngressOverload::ClockLost) | 503 | no deadline can be kept | restart the service if it persists |
//! | [`DeadlineExceeded`](IngressOverload::DeadlineExceeded) | 503 | too late already, or it waited too long | more slots, or faster handlers |
//! | [`RateLimited`](IngressOverload::RateLimited) | 429 | the lane's callers spent its budget | raise the lane's rate and burst, or find the caller |
//! | [`PerConnectionLimit`](IngressOverload::PerConnectionLimit) | 429 | one connection asks for too much at once | the client should wait for answers |
//! | [`LanePoolFull`](IngressOverload::LanePoolFull) | 429 | the lane holds all that it may, or waits for it, and its queue is full | raise the lane's slots |
//! | [`AggregateFull`](IngressOverload::AggregateFull) | 503 | the other lanes hold the general pool, and the queue is full | raise the total slots |
//! | [`ByteBudgetExhausted`](IngressOverload::ByteBudgetExhausted) | 503 | no bytes for this footprint | raise the byte budget, or lower footprints |
//!
//! | refusal of a connection | status | it means | tell the operator |
//! |---|---|---|---|
//! | [`ClockLost`](PermitRefusal::ClockLost) | 503 | no deadline can be kept | restart the service if it persists |
//! | [`RateLimited`](PermitRefusal::RateLimited) | 429 | connections come too fast for the lane | let clients keep connections alive |
//! | [`LaneFull`](PermitRefusal::LaneFull) | 429 | the lane holds all that it may | raise the lane's connections |
//! | [`TotalFull`](PermitRefusal::TotalFull) | 503 | the other lanes hold the shared connections | raise the total |
//! | [`CloseUnanswered`] | none | too many refusals are being answered | nothing; it is counted |
//!
//! | refusal of a channel | status | it means | tell the operator |
//! |---|---|---|---|
//! | [`AccessDenied`](ChannelError::AccessDenied) | 403 | the caller may not | nothing |
//! | [`TooManyChannels`](ChannelError::TooManyChannels) | 429 | the identity or the connection is at its cap | raise the identity's cap, for instance a relay's |
//!
//! `Retry-After` follows from [`IngressOverload::RateLimited`]'s `ready_in`, or from how full
//! the lane is: [`IngressLedger::status_rows`].
//!
//! # Invariants
//!
//! Each file names in its first lines the invariants that it keeps. All of them hold after
//! every operation, and are tested so against a reference model and in every reachable state
//! of small ledgers.
//!
//! | id | invariant | kept by |
//! |---|---|---|
//! | L1 | a connection's lane is fixed before any byte of it is read | `lane` |
//! | L2 | a reserve is never charged by another lane | `partition`, `ledger/admission` |
//! | L3 | no more is held than there is: slots, connections, bytes | `partition`, `ledger/admission` |
//! | L4 | over any time t at most `burst + rate * t` are admitted, or denied with an answer | `rate`, `ledger/denial` |
//! | L5 | a token is released once, by its own ledger, or counted as leaked; `completed + cancelled + outstanding == admitted` | `issuer`, `reservation`, `ledger/release` |
//! | L6 | an enabled protected lane has a floor, and the general pool is not empty | `profile/validate` |
//! | L7 | the head of a lane's queue sees at most `LANES - 1` other general choices | `ledger/fair`, `ledger/dispatch` |
//! | L8 | a refusal changes nothing but its counter (and the latest instant seen) | `ledger/admission`, `permits/admit` |
//! | L9 | an expired ticket is never served, a deadline never extended | `ledger/dispatch` |
//! | P1 | a permit is held from accept to the connection's one end | `permits/token`, `permits/admit` |
//! | P2 | a refusal of capacity names its ceiling as the count | `permits/refusal`, `permits/admit` |
//! | P3 | no phase is untimed, except where silence is its purpose | `permits/phases`, `profile/validate` |
//! | P4 | one lane's accept failures neither spin nor slow another lane | `permits/accept` |
//! | R1 | what a lane's accept brings finds a record, whatever other lanes do | `records` |
//! | C1 | an identity's channels are counted over all its connections, on all threads | `channels/policy`, `channels/lock` |
//! | C2 | a channel counts from before its allocation until after its drain | `channels/operations` |
//! | C3 | a count that is not zero is never forgotten | `channels/table` |
//! | C4 | a channel's id is reused only after its drain | `channels/manager` |
//!
//! # What the caller must do
//!
//! 1. Fix a connection's lane by its listener: [`ConnectionPermits::admit`] is the only place
//!    where a lane is chosen.
//! 2. Release every token at one place a kind, however the connection or request ended.
//! 3. Call [`IngressLedger::select_next`] until it is `None` after each release, and when
//!    [`IngressLedger::next_expiry`] has come.
//! 4. End what overruns its [`IngressLedger::deadline`] while it is being served: the ledger
//!    has no clock to do it.
#![no_std]
#![forbid(unsafe_code)]

// Places are counted in 32 bits, and a place is looked up as a `usize`.
const _: () = assert!(usize::BITS >= u32::BITS);

#[cfg(test)]
extern crate std;

mod channels;
mod counters;
mod issuer;
mod lane;
mod ledger;
mod overload;
mod partition;
mod permits;
mod profile;
mod rate;
mod records;
mod reservation;
mod units;

pub use channels::{
    Access, CHANNELS_PER_CONNECTION, CHANNELS_PER_IDENTITY, ChannelError, ChannelId,
    ChannelLifecyclePolicy, ChannelManager, ChannelOperations, Channels, CloseError, Identity,
    NoCap, OperationContext, PerIdentityChannelPolicy, PolicyError, PolicyEvidence,
};
pub use counters::{LaneCounters, PerOverload};
pub use issuer::Issuer;
pub use lane::{LANES, Lane, PerLane};
pub use ledger::{
    Chosen, EvidenceSnapshot, IngressLedger, LaneEvidence, OpenError, Selected, StatusRow,
};
pub use overload::{IngressOverload, OverloadKind, Status};
pub use permits::{
    AcceptBackoff, AcceptFailure, BackoffError, BackoffLimits, CloseUnanswered, ConnectionPermit,
    ConnectionPermits, LanePermitEvidence, PermitCounters, PermitEvidence, PermitRefusal,
    PhaseDeadline, RefusalPermit, SessionMode, SessionPhase, SessionPhases, ZeroPhaseDeadline,
};
pub use profile::{
    ClampedField, Clamps, Field, IngressProfile, LaneLimits, LanePhases, Limits, Listener,
    PhaseDeadlines, ProfileError, Quota, Resource, StructuralMaxima, ValidatedProfile,
};
pub use rate::{RateBudget, RatePolicy};
pub use records::ConnectionRecords;
pub use reservation::{ConnectionUse, IngressReservation, Misuse, ReleaseRefused, TicketId};
pub use units::{
    Bytes, Connections, IngressFootprint, Instant, Occupancy, Owner, Requests, Slots, Span, Tickets,
};
