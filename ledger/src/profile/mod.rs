//! Profiles: what a ledger is told to hold. Structural maxima are the code's, the quota is
//! the operator's, the profile is the lesser of both, field by field, and validated.

mod clamp;
mod error;
mod limits;
mod validate;

pub use clamp::{ClampedField, Clamps, Field};
pub use error::{ProfileError, Resource};
pub use limits::{
    LaneLimits, LanePhases, Limits, Listener, PhaseDeadlines, Quota, StructuralMaxima,
};
pub use validate::{IngressProfile, ValidatedProfile};
