//! A manifest as it was written: values with their places, nothing judged yet.

use std::num::NonZeroU16;
use std::path::PathBuf;

use capos_config::{KernelCapSource, LogLevel};
use ingress_schema::listen::{ListenBinding, Transport};

use crate::location::{At, Location};

/// One manifest file.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The file it was read from.
    pub file: PathBuf,
    /// What `[system]` says.
    pub system: System,
    /// The first process, `[init]`.
    pub init: Process,
    /// Lane policy, `[init.policy]`, in the order of the file.
    pub markers: Vec<Marker>,
    /// Further processes, `[[service]]`, launched in this order.
    pub services: Vec<Service>,
}

/// Parameters of the system as a whole.
#[derive(Clone, Debug)]
pub struct System {
    /// Name of the machine.
    pub hostname: String,
    /// Greeting of a terminal session.
    pub motd: String,
    /// Lowest level of log records that are kept.
    pub log_level: LogLevel,
    /// The service whose exit ends the system; else the exit of init does.
    pub exit_when_service_exits: Option<At<String>>,
    /// Transports that only administrators can reach, where the local lane may be.
    pub admin_transports: Vec<Transport>,
}

/// A process: its program and what it is granted.
#[derive(Clone, Debug)]
pub struct Process {
    /// Name of the binary.
    pub binary: At<String>,
    /// Grants in the order of the file, which is their order in the CapSet.
    pub grants: Vec<Grant>,
}

/// A further process and its name.
#[derive(Clone, Debug)]
pub struct Service {
    /// Name, unique in the manifest.
    pub name: At<String>,
    /// The process.
    pub process: Process,
}

/// One capability of a process, under its CapSet name.
#[derive(Clone, Debug)]
pub struct Grant {
    /// CapSet name.
    pub name: String,
    /// Where it is granted.
    pub at: Location,
    /// What is granted.
    pub kind: GrantKind,
}

/// What a grant refers to.
#[derive(Clone, Debug)]
pub enum GrantKind {
    /// The object of this source, of which the kernel has one.
    Object(KernelCapSource),
    /// A `tcp_listen_authority`.
    Listen {
        /// What it is bound to, over what.
        transport: At<Transport>,
        /// The port.
        port: At<NonZeroU16>,
    },
}

impl Grant {
    /// The binding of a listen grant.
    #[must_use]
    pub fn binding(&self) -> Option<ListenBinding> {
        match &self.kind {
            GrantKind::Listen { transport, port } => {
                Some(ListenBinding::new(transport.value, port.value))
            }
            GrantKind::Object(_) => None,
        }
    }

    /// The kernel's source.
    #[must_use]
    pub fn source(&self) -> KernelCapSource {
        match &self.kind {
            GrantKind::Object(source) => *source,
            GrantKind::Listen { .. } => KernelCapSource::TcpListenAuthority,
        }
    }
}

/// One policy marker: an inert grant whose name is what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// `ingress_<lane>_<field>=<value>`.
    pub name: String,
    /// The field it was written as.
    pub at: Location,
}
