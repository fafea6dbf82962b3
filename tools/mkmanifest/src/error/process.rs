//! What a process, its name or its CapSet may not be.

use std::fmt;

use crate::location::Location;

/// What a process, its name or its CapSet may not be.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProcessFault {
    /// Two grants under one name in one process.
    DuplicateName {
        /// Where the first stands.
        first: Location,
    },
    /// A CapSet name longer than an entry of the CapSet page holds.
    NameTooLong {
        /// The name.
        name: String,
        /// What it may have, in bytes.
        limit: usize,
    },
    /// A name, in a CapSet or of a process or binary, that is empty or not printable ASCII.
    NameNotPrintable {
        /// The name.
        name: String,
    },
    /// More grants than a CapSet page holds.
    TooManyGrants {
        /// Grants of the process, markers and injected ones included.
        count: usize,
        /// What a CapSet page holds.
        limit: usize,
    },
    /// More processes than the kernel starts.
    TooManyProcesses {
        /// Init and the services.
        count: usize,
        /// What the kernel starts.
        limit: usize,
    },
    /// A policy marker written as a grant.
    MarkerAsGrant,
    /// A grant under the name that the kernel injects.
    ReservedName,
}

impl fmt::Display for ProcessFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName { first } => write!(f, "the name is already granted at {first}"),
            Self::NameTooLong { name, limit } => write!(
                f,
                "the CapSet name `{name}` has {} bytes and a CapSet entry holds {limit}",
                name.len()
            ),
            Self::NameNotPrintable { name } => {
                write!(f, "the name {name:?} is not printable ASCII")
            }
            Self::TooManyGrants { count, limit } => {
                write!(
                    f,
                    "{count} grants in one process, and a CapSet page holds {limit}"
                )
            }
            Self::TooManyProcesses { count, limit } => {
                write!(
                    f,
                    "{count} processes, init counted, and the kernel starts {limit}"
                )
            }
            Self::MarkerAsGrant => f.write_str("a policy marker is written as a grant"),
            Self::ReservedName => f.write_str("the kernel injects the grant of this name itself"),
        }
    }
}

impl ProcessFault {
    /// What to do about it.
    pub(super) fn cure(&self) -> String {
        match self {
            Self::DuplicateName { .. } => "remove one of the two".into(),
            Self::NameTooLong { .. } => "shorten the name".into(),
            Self::NameNotPrintable { .. } => "use letters, digits, `_`, `-` and `=`".into(),
            Self::TooManyGrants { .. } => "remove grants or policy fields".into(),
            Self::TooManyProcesses { .. } => "remove services".into(),
            Self::MarkerAsGrant => "write it under `init.policy`".into(),
            Self::ReservedName => "remove the grant".into(),
        }
    }
}
