//! What the lanes' policy may not say.

use std::fmt;

use ingress_ledger::ProfileError;
use remote_session_web_ui::policy::{MarkerError, MarkerFault};

/// What the lanes' policy may not say.
#[derive(Debug)]
#[non_exhaustive]
pub enum PolicyFault {
    /// A marker that the service refuses.
    Marker(MarkerError),
    /// The profile that the markers make of the defaults breaks a rule of the ledger.
    Profile(ProfileError),
    /// A phase of a lane would be over at once.
    ZeroPhase,
    /// A field of a lane that has no listener.
    PolicyWithoutListener {
        /// The CapSet name of the listener that is missing.
        listener: &'static str,
    },
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Marker(error) => error.fmt(f),
            Self::Profile(error) => write!(f, "the policy is refused: {}", error.code()),
            Self::ZeroPhase => f.write_str("this phase would be over at once"),
            Self::PolicyWithoutListener { listener } => {
                write!(
                    f,
                    "policy for a lane that does not exist: `{listener}` is not granted"
                )
            }
        }
    }
}

impl PolicyFault {
    /// What to do about it.
    pub(super) fn cure(&self) -> String {
        match self {
            Self::Marker(error) => marker_cure(*error),
            Self::Profile(error) => error.explain().into(),
            Self::ZeroPhase => "give it at least a millisecond".into(),
            Self::PolicyWithoutListener { listener } => {
                format!("remove the field, or grant `{listener}`")
            }
        }
    }
}

fn marker_cure(error: MarkerError) -> String {
    match error {
        MarkerError::Invalid(name, MarkerFault::UnknownField) => {
            format!(
                "use one of: {}",
                crate::policy::fields_beside(name.as_str())
            )
        }
        MarkerError::Invalid(_, MarkerFault::UnknownScope) => {
            "use one of: total, public, local, provider".into()
        }
        MarkerError::Invalid(..) => "write a plain number below 4294967296".into(),
        MarkerError::Duplicate(_) => "set it once".into(),
        MarkerError::Contradictory(..) => "remove one of the two".into(),
        MarkerError::LaneNotGranted(..) => "remove the field, or grant the lane's listener".into(),
        MarkerError::BurstWithoutRate(..) => "set the rate beside it".into(),
    }
}
