//! Why a manifest is refused: one variant a rule, each with its problem and its cure.
//!
//! The text of an error is always `file:line: field: problem; cure`, so that an
//! editor can jump to it and a person can act on it.

mod field;
mod file;
mod lane;
mod package;
mod policy;
mod process;

use std::fmt;
use std::path::{Path, PathBuf};

pub use field::FieldFault;
pub use file::FileFault;
pub use lane::LaneFault;
pub use package::PackageFault;
pub use policy::PolicyFault;
pub use process::ProcessFault;

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
    pub fn whole(file: &Path, fault: impl Into<Fault>) -> Self {
        Self {
            file: file.to_owned(),
            at: None,
            fault: Box::new(fault.into()),
        }
    }
}

/// The rule that a manifest breaks, by what it is about.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// A file, before it is looked into.
    File(FileFault),
    /// The form: fields, types, words.
    Field(FieldFault),
    /// A process, its name or its CapSet.
    Process(ProcessFault),
    /// The lane rules.
    Lane(LaneFault),
    /// The lanes' policy.
    Policy(PolicyFault),
    /// The package and its binaries.
    Package(PackageFault),
}

impl Fault {
    /// What the author of the manifest should do about it.
    #[must_use]
    pub fn cure(&self) -> String {
        match self {
            Self::File(fault) => fault.cure(),
            Self::Field(fault) => fault.cure(),
            Self::Process(fault) => fault.cure(),
            Self::Lane(fault) => fault.cure(),
            Self::Policy(fault) => fault.cure(),
            Self::Package(fault) => fault.cure(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(fault) => fault.fmt(f),
            Self::Field(fault) => fault.fmt(f),
            Self::Process(fault) => fault.fmt(f),
            Self::Lane(fault) => fault.fmt(f),
            Self::Policy(fault) => fault.fmt(f),
            Self::Package(fault) => fault.fmt(f),
        }
    }
}

impl From<FileFault> for Fault {
    fn from(fault: FileFault) -> Self {
        Self::File(fault)
    }
}

impl From<FieldFault> for Fault {
    fn from(fault: FieldFault) -> Self {
        Self::Field(fault)
    }
}

impl From<ProcessFault> for Fault {
    fn from(fault: ProcessFault) -> Self {
        Self::Process(fault)
    }
}

impl From<LaneFault> for Fault {
    fn from(fault: LaneFault) -> Self {
        Self::Lane(fault)
    }
}

impl From<PolicyFault> for Fault {
    fn from(fault: PolicyFault) -> Self {
        Self::Policy(fault)
    }
}

impl From<PackageFault> for Fault {
    fn from(fault: PackageFault) -> Self {
        Self::Package(fault)
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
