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
    /// A name of a process or binary that leads elsewhere, as a path does.
    NameIsPath {
        /// The name.
        name: String,
    },
    /// A grant that the service cannot do without.
    MissingGrant {
        /// Its name.
        name: &'static str,
    },
    /// A name that the service knows, on another object than it must be.
    WrongSource {
        /// The grant's source.
        found: String,
        /// The source that the name asks for.
        expected: String,
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
            Self::NameIsPath { name } => write!(f, "the name `{name}` is a path"),
            Self::MissingGrant { name } => {
                write!(f, "the service cannot do without the grant `{name}`")
            }
            Self::WrongSource { found, expected } => {
                write!(f, "a grant of this name is a `{expected}`, not a `{found}`")
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
            Self::NameIsPath { .. } => {
                "use a plain name, and say where a binary is with --bin NAME=PATH".into()
            }
            Self::MissingGrant { name } => format!("add {name} = \"{name}\" to init.caps"),
            Self::WrongSource { expected, .. } => format!("set source = \"{expected}\""),
            Self::TooManyGrants { .. } => "remove grants or policy fields".into(),
            Self::TooManyProcesses { .. } => "remove services".into(),
            Self::MarkerAsGrant => "write it under `init.policy`".into(),
            Self::ReservedName => "remove the grant".into(),
        }
    }
}
