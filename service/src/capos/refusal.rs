//! Why the service does not serve: each reason names what is at fault.

use core::fmt;

use ingress_ledger::Lane;
use remote_session_web_ui::distinct::DistinctFault;
use remote_session_web_ui::grants::{GrantFault, listener_name};
use remote_session_web_ui::policy::PolicyError;
use remote_session_web_ui::server::StartError;

use super::outcome::CallFailure;

/// Why the service does not serve what it was granted.
pub(super) enum Refusal<'a> {
    /// The CapSet cannot be made sense of.
    Grants(GrantFault<'a>),
    /// Two listeners do not make two lanes.
    Distinct(DistinctFault),
    /// The markers, or what they make of the defaults.
    Policy(PolicyError),
    /// The kernel does not tell what a listener is.
    Identify(Lane, CallFailure),
    /// A listener cannot be bound.
    Listen(Lane, CallFailure),
    /// There is no time to start with.
    Clock(CallFailure),
    /// The policy does not fit the memory.
    Start(StartError),
}

impl<'a> From<GrantFault<'a>> for Refusal<'a> {
    fn from(fault: GrantFault<'a>) -> Self {
        Self::Grants(fault)
    }
}

impl From<DistinctFault> for Refusal<'_> {
    fn from(fault: DistinctFault) -> Self {
        Self::Distinct(fault)
    }
}

impl From<PolicyError> for Refusal<'_> {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

impl From<StartError> for Refusal<'_> {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grants(fault) => fault.fmt(out),
            Self::Distinct(fault) => fault.fmt(out),
            Self::Policy(error) => error.fmt(out),
            Self::Identify(lane, failure) => {
                write!(
                    out,
                    "{} cannot be identified: {failure}",
                    listener_name(*lane)
                )
            }
            Self::Listen(lane, failure) => {
                write!(out, "{} cannot listen: {failure}", listener_name(*lane))
            }
            Self::Start(error) => error.fmt(out),
            Self::Clock(failure) => write!(out, "timer cannot be read: {failure}"),
        }
    }
}
