//! Connection permits: how many accepted connections there may be (keeps P1: a permit is
//! held from accept to the connection's one end; P2: a refusal names its ceiling as the
//! count).
//!
//! ```text
//!   accept ---> admit ---> ConnectionPermit ---------------------------> release
//!                 | PermitRefusal
//!                 +---> admit_refusal ---> RefusalPermit (deadline) ---> release_refusal
//!                          | CloseUnanswered
//!                          +---> close, counted
//! ```
//! Connections are divided among the lanes as slots are. One past the bound is refused,
//! which costs something too: so answering refusals has a small ceiling and a deadline of
//! its own.

mod accept;
mod admit;
mod evidence;
mod phases;
mod refusal;
mod token;

pub use accept::{AcceptBackoff, AcceptFailure, BackoffError, BackoffLimits};
pub use admit::ConnectionPermits;
pub use evidence::{LanePermitEvidence, PermitCounters, PermitEvidence};
pub use phases::{PhaseDeadline, SessionMode, SessionPhase, SessionPhases, ZeroPhaseDeadline};
pub use refusal::{CloseUnanswered, PermitRefusal};
pub use token::{ConnectionPermit, RefusalPermit};
