//! Why a boot package refuses the boot, one sentence each.

use alloc::string::{String, ToString};
use core::fmt;

use capos_config::KernelCapSource;
use ingress_schema::PROCESSES_MAX;

/// Most programs in one package.
pub const BINARIES_MAX: u32 = 16;

/// Why a boot is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootError {
    /// The bytes are no such message, or the published validators object.
    Manifest(String),
    /// A capability comes from a source that this kernel does not have.
    UnsupportedSource {
        /// Whose.
        process: String,
        /// Under which name.
        cap: String,
        /// Which source.
        cap_source: String,
    },
    /// A listen badge is no binding.
    ListenBadge {
        /// Whose.
        process: String,
        /// Under which name.
        cap: String,
        /// In the words of the schema crate.
        reason: String,
    },
    /// An interface is expected that the source does not have.
    InterfaceMismatch {
        /// Whose.
        process: String,
        /// Under which name.
        cap: String,
    },
    /// A field says something that nothing here would heed.
    Unheeded {
        /// Whose.
        process: String,
        /// Under which name.
        cap: String,
        /// Which field.
        field: &'static str,
        /// What it says.
        value: u64,
        /// The grant's source.
        cap_source: KernelCapSource,
    },
    /// A service asks to be restarted.
    Restart(String),
    /// More processes than the kernel starts.
    TooManyProcesses(usize),
    /// No binary of that name.
    NoBinary(String),
    /// More binaries than a package may hold.
    TooManyBinaries(u32),
    /// So many bytes follow the message.
    Trailing(usize),
}

impl fmt::Display for BootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifest(reason) => write!(f, "manifest: {reason}"),
            Self::UnsupportedSource {
                process,
                cap,
                cap_source,
            } => write!(f, "{process}: cap `{cap}`: no source `{cap_source}` here"),
            Self::ListenBadge {
                process,
                cap,
                reason,
            } => write!(f, "{process}: cap `{cap}`: {reason}"),
            Self::InterfaceMismatch { process, cap } => {
                write!(f, "{process}: cap `{cap}`: unexpected interface id")
            }
            Self::Unheeded {
                process,
                cap,
                field,
                value,
                cap_source,
            } => write!(
                f,
                "{process}: cap `{cap}`: {field} = {value}: source `{cap_source}` takes none"
            ),
            Self::Restart(name) => write!(f, "{name}: restart policies are not supported here"),
            Self::TooManyProcesses(count) => {
                write!(f, "{count} processes; at most {PROCESSES_MAX} can run")
            }
            Self::NoBinary(name) => write!(f, "no binary `{name}` in the package"),
            Self::TooManyBinaries(count) => {
                write!(f, "{count} binaries; at most {BINARIES_MAX} can be read")
            }
            Self::Trailing(bytes) => write!(f, "{bytes} bytes follow the package"),
        }
    }
}

impl From<capos_config::Error> for BootError {
    fn from(error: capos_config::Error) -> Self {
        Self::Manifest(error.to_string())
    }
}

impl From<capnp::Error> for BootError {
    fn from(error: capnp::Error) -> Self {
        Self::Manifest(error.to_string())
    }
}
