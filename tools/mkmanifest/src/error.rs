//! Why a manifest is refused: one variant a rule, each with its problem and its cure.
//!
//! The text of an error is always `file:line: field: problem; cure`, so that an
//! editor can jump to it and a person can act on it.

use std::fmt;
use std::path::{Path, PathBuf};

use ingress_ledger::ProfileError;
use ingress_schema::listen::Transport;
use remote_session_web_ui::policy::MarkerError;

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

/// The rule that a manifest breaks.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// A file cannot be read or written.
    Io(std::io::Error),
    /// A file that is read has more bytes than any of its kind, or no end.
    FileTooLarge {
        /// The file.
        file: PathBuf,
        /// What it may have, in bytes.
        limit: usize,
    },
    /// The file is not TOML.
    Syntax(String),
    /// A field that this format does not have; `known` lists those that it has.
    UnknownField {
        /// What the table may hold.
        known: &'static str,
    },
    /// A field that must be there is not.
    MissingField,
    /// A value of another type.
    WrongType {
        /// What the field takes.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A number outside of its range.
    NumberOutOfRange {
        /// The range.
        range: &'static str,
    },
    /// A word that is none of those that the field takes.
    UnknownWord {
        /// What stands there.
        found: String,
        /// The words.
        expected: String,
    },
    /// `transport` or `port` on a source that does not listen.
    BindingOnOtherSource {
        /// The grant's source.
        source: String,
    },
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
    /// A lane listener of another source than `tcp_listen_authority`.
    LaneNotAListener {
        /// The grant's source.
        source: String,
    },
    /// No lane has a listener.
    NoLane,
    /// Two lane grants that are one object under two names.
    SameObject {
        /// Both grants.
        grants: GrantPair,
    },
    /// Two lane grants on one port.
    SamePort {
        /// Both grants.
        grants: GrantPair,
        /// The port.
        port: u16,
    },
    /// Two lane grants on one transport.
    SameTransport {
        /// Both grants.
        grants: GrantPair,
        /// The transport.
        transport: Transport,
    },
    /// A lane grant on every transport, which overlaps another lane's.
    WildcardOverlap {
        /// Both grants, the wildcard one first.
        grants: GrantPair,
    },
    /// A lane grant on every transport.
    WildcardLane,
    /// The local lane on a transport from outside.
    LocalLaneOutside {
        /// The transport.
        transport: Transport,
    },
    /// A listener of another process that could take a lane's connections.
    LaneShared {
        /// The lane's grant and the other one.
        grants: GrantPair,
    },
    /// A marker that the service refuses.
    Marker(MarkerError),
    /// The profile that the markers make of the defaults breaks a rule of the ledger.
    Profile(ProfileError),
    /// A phase of a lane would be over at once.
    ZeroPhase,
    /// A rate exemption where strangers can reach the listener.
    RateExemptOutside {
        /// The local lane's transport.
        transport: Transport,
    },
    /// A field of a lane that has no listener.
    PolicyWithoutListener {
        /// The CapSet name of the listener that is missing.
        listener: &'static str,
    },
    /// A binary that the manifest names was not given.
    BinaryNotFound {
        /// Its name.
        name: String,
        /// Where it was looked for.
        looked: PathBuf,
    },
    /// A binary that the kernel could not load.
    BinaryNotLoadable {
        /// Its name.
        name: String,
        /// What the ELF reader says.
        reason: &'static str,
    },
    /// The published validators refuse the manifest.
    Published(capos_config::Error),
    /// The package is larger than it may be.
    PackageTooLarge {
        /// Its size.
        bytes: usize,
        /// What it may have.
        limit: usize,
    },
    /// The bytes are no boot package.
    NotAPackage(capos_config::Error),
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

impl fmt::Display for Fault {
    #[expect(
        clippy::too_many_lines,
        reason = "one line a rule, kept together to be read together"
    )]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::FileTooLarge { file, limit } => {
                write!(f, "{} has more than {limit} bytes", file.display())
            }
            Self::Syntax(message) => write!(f, "this is not TOML: {message}"),
            Self::UnknownField { .. } => f.write_str("there is no such field"),
            Self::MissingField => f.write_str("this field is missing"),
            Self::WrongType { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::NumberOutOfRange { range } => write!(f, "the number is not in {range}"),
            Self::UnknownWord { found, .. } => write!(f, "`{found}` is not known here"),
            Self::BindingOnOtherSource { source } => {
                write!(f, "a `{source}` grant has no transport and no port")
            }
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
            Self::LaneNotAListener { source } => {
                write!(
                    f,
                    "a lane's listener is a `tcp_listen_authority`, not a `{source}`"
                )
            }
            Self::NoLane => f.write_str("no lane has a listener, so nothing would be served"),
            Self::SameObject { grants } => {
                write!(
                    f,
                    "one listener object is granted under two names: {grants}"
                )
            }
            Self::SamePort { grants, port } => {
                write!(f, "two lanes listen on port {port}: {grants}")
            }
            Self::SameTransport { grants, transport } => {
                write!(f, "two lanes listen on transport `{transport}`: {grants}")
            }
            Self::WildcardOverlap { grants } => write!(
                f,
                "a lane that listens on every transport overlaps another lane: {grants}"
            ),
            Self::WildcardLane => f.write_str("a lane listens on every transport"),
            Self::LocalLaneOutside { transport } => {
                write!(f, "the local lane would be reachable over `{transport}`")
            }
            Self::LaneShared { grants } => {
                write!(
                    f,
                    "another process could take a lane's connections: {grants}"
                )
            }
            Self::Marker(error) => error.fmt(f),
            Self::Profile(error) => write!(f, "the policy is refused: {}", error.code()),
            Self::ZeroPhase => f.write_str("this phase would be over at once"),
            Self::RateExemptOutside { transport } => write!(
                f,
                "the local lane is reachable over `{transport}` and may not be rate exempt"
            ),
            Self::PolicyWithoutListener { listener } => {
                write!(
                    f,
                    "policy for a lane that does not exist: `{listener}` is not granted"
                )
            }
            Self::BinaryNotFound { name, looked } => {
                write!(f, "binary `{name}` is not at {}", looked.display())
            }
            Self::BinaryNotLoadable { name, reason } => {
                write!(f, "binary `{name}` cannot be loaded: {reason}")
            }
            Self::Published(error) => write!(f, "the published validator says: {error}"),
            Self::PackageTooLarge { bytes, limit } => {
                write!(f, "the boot package has {bytes} bytes and may have {limit}")
            }
            Self::NotAPackage(error) => write!(f, "this is not a boot package: {error}"),
        }
    }
}
