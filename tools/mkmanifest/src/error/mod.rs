//! Why a manifest is refused. Every fault stands in one table, with its problem and its cure.
//!
//! The text of an error is always `file:line: field: problem; cure`, so that an
//! editor can jump to it and a person can act on it.

mod table;

use std::fmt;
use std::path::{Path, PathBuf};

use remote_session_web_ui::policy::{MarkerError, MarkerFault};

pub use table::Fault;

use crate::location::Location;

/// A refusal: the file, the place where it has one, and the fault.
#[derive(Debug)]
pub struct ManifestError {
    /// The manifest, or the package, that is refused.
    pub file: PathBuf,
    /// The field at fault; none where the file as a whole is.
    pub at: Option<Location>,
    /// The rule that it breaks.
    pub fault: Box<Fault>,
}

impl ManifestError {
    /// A refusal of the file as a whole.
    #[must_use]
    pub fn whole(file: &Path, fault: Fault) -> Self {
        Self {
            file: file.to_owned(),
            at: None,
            fault: Box::new(fault),
        }
    }
}

/// Two grants that must not stand side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantPair {
    /// The first, by the name of its field.
    pub first: Location,
    /// The second.
    pub second: Location,
}

impl fmt::Display for GrantPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} and {}", self.first, self.second)
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(at) = &self.at {
            write!(f, "{}: ", at.line)?;
            if !at.field.is_empty() {
                write!(f, "{}: ", at.field.escape_debug())?;
            }
        } else {
            f.write_str(" ")?;
        }
        write!(f, "{}; {}", self.fault, self.fault.cure())
    }
}

impl std::error::Error for ManifestError {}

/// The service says what is wrong with a marker; what to write instead is this program's.
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
