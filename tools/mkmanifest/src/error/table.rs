//! The one table of what a manifest is refused for: the fault, its problem, its cure.
//!
//! A row is `Name { what it tells } => (problem), (cure);`, both in the words of `format!`. The
//! words stand side by side because they are read as one line: `problem; cure`.

use std::fmt;
use std::path::PathBuf;

use ingress_ledger::ProfileError;
use ingress_schema::listen::Transport;
use remote_session_web_ui::policy::MarkerError;

use super::{GrantPair, marker_cure};
use crate::location::Location;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident $({ $($field:ident: $type:ty),+ $(,)? })?
        => ($($problem:tt)+), ($($cure:tt)+);)+) => {
        /// What a manifest, or a file beside it, is refused for.
        #[derive(Debug)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the words of a row say what its fields are")]
        pub enum Fault {
            $($(#[$doc])* $name $({ $($field: $type),+ })?,)+
        }

        impl fmt::Display for Fault {
            #[allow(unused_variables, reason = "a problem need not tell all that is known")]
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $({ $($field),+ })? => write!(f, $($problem)+),)+
                }
            }
        }

        impl Fault {
            /// What the author of the manifest should do about it.
            #[must_use]
            #[allow(unused_variables, reason = "a cure need not repeat all that is known")]
            pub fn cure(&self) -> String {
                match self {
                    $(Self::$name $({ $($field),+ })? => format!($($cure)+),)+
                }
            }
        }
    };
}

faults! {
    // A file, before it is looked into.
    Io { error: std::io::Error }
        => ("{error}"), ("check the path and its permissions");
    /// An output would replace an input, under whatever name or link.
    IsAnInput { input: PathBuf }
        => ("this is the input {}, and would be lost", input.display()),
           ("name another file for the output");
    /// It has more bytes than any of its kind, or no end.
    FileTooLarge { file: PathBuf, limit: usize }
        => ("{} has more than {limit} bytes", file.display()),
           ("check that the path is the right one");

    // The form of a manifest.
    Syntax { message: String }
        => ("this is not TOML: {message}"), ("correct the line");
    UnknownField { known: &'static str }
        => ("there is no such field"), ("remove it, or use one of: {known}");
    MissingField
        => ("this field is missing"), ("add it");
    WrongType { expected: &'static str, found: &'static str }
        => ("expected {expected}, found {found}"), ("write {expected}");
    NumberOutOfRange { range: &'static str }
        => ("the number is not in {range}"), ("write a number in {range}");
    UnknownWord { found: String, expected: String }
        => ("`{}` is not known here", found.escape_debug()), ("use one of: {expected}");
    /// A list that is a set has it twice.
    Repeated { word: String }
        => ("`{word}` stands in this list already"), ("remove it");
    /// `transport` or `port` on a source that does not listen.
    BindingOnOtherSource { source: String }
        => ("a `{source}` grant has no transport and no port"),
           ("remove `transport` and `port`, or set source = \"tcp_listen_authority\"");

    // A process, its name or its CapSet.
    DuplicateName { first: Location }
        => ("the name is already granted at {first}"), ("remove one of the two");
    /// An entry of the CapSet page holds so many bytes.
    NameTooLong { name: String, limit: usize }
        => ("the CapSet name `{name}` has {} bytes and a CapSet entry holds {limit}", name.len()),
           ("shorten the name");
    /// Names stand in the kernel's own lines, which nothing may forge.
    NameNotPrintable { name: String }
        => ("the name {name:?} is not printable ASCII"),
           ("use letters, digits, `_`, `-` and `=`");
    /// A binary is looked for under its name, which must not lead elsewhere.
    NameIsPath { name: String }
        => ("the name `{name}` is a path"),
           ("use a plain name, and say where a binary is with --bin NAME=PATH");
    MissingGrant { name: &'static str }
        => ("the service cannot do without the grant `{name}`"),
           ("add {name} = \"{name}\" to init.caps");
    /// The service looks names up and trusts what stands there to be of their kind.
    WrongSource { found: String, expected: String }
        => ("a grant of this name is a `{expected}`, not a `{found}`"),
           ("set source = \"{expected}\"");
    /// Markers and injected grants count, too.
    TooManyGrants { count: usize, limit: usize }
        => ("{count} grants in one process, and a CapSet page holds {limit}"),
           ("remove grants or policy fields");
    TooManyProcesses { count: usize, limit: usize }
        => ("{count} processes, init counted, and the kernel starts {limit}"),
           ("remove services");
    MarkerAsGrant
        => ("a policy marker is written as a grant"), ("write it under `init.policy`");
    ReservedName
        => ("the kernel injects the grant of this name itself"), ("remove the grant");

    // The lane rules: which listener may be whose.
    LaneNotAListener { source: String }
        => ("a lane's listener is a `tcp_listen_authority`, not a `{source}`"),
           ("set source = \"tcp_listen_authority\"");
    NoLane
        => ("no lane has a listener, so nothing would be served"),
           ("grant at least `ui_listener`");
    /// The service would leave it alone, and a slip of the pen would take a lane away.
    NoSuchLane
        => ("no lane has a listener of this name, so nothing would use it"),
           ("name it ui_listener, ui_local_listener or ui_provider_health_listener");
    SameObject { grants: GrantPair }
        => ("one listener object is granted under two names: {grants}"),
           ("give each lane its own transport and its own port");
    SamePort { grants: GrantPair, port: u16 }
        => ("two lanes listen on port {port}: {grants}"),
           ("give one of the two another port");
    SameTransport { grants: GrantPair, transport: Transport }
        => ("two lanes listen on transport `{transport}`: {grants}"),
           ("move one of the two to another transport");
    /// The wildcard one is told first.
    WildcardOverlap { grants: GrantPair }
        => ("a lane that listens on every transport overlaps another lane: {grants}"),
           ("name the one transport that this lane's clients use");
    WildcardLane
        => ("a lane listens on every transport"),
           ("name the one transport that this lane's clients use");
    /// Recovery and drain are the operator's alone.
    LocalLaneOutside { transport: Transport }
        => ("the local lane would be reachable over `{transport}`"),
           ("set transport = \"loopback\", or add \"{transport}\" to system.admin_transports if \
             only administrators reach it");
    LaneShared { grants: GrantPair }
        => ("another process could take a lane's connections: {grants}"),
           ("remove the other grant, or move it to another transport or port");
    /// An exemption holds where no stranger can reach the listener.
    RateExemptOutside { transport: Transport }
        => ("the local lane is reachable over `{transport}` and may not be rate exempt"),
           ("set a rate and a burst, or move the lane to the loopback");

    // The lanes' policy; what its markers and profile may be is the service's and the ledger's.
    Marker { error: MarkerError }
        => ("{error}"), ("{}", marker_cure(*error));
    Profile { error: ProfileError }
        => ("the policy is refused: {}", error.code()), ("{}", error.explain());
    ZeroPhase
        => ("this phase would be over at once"), ("give it at least a millisecond");
    PolicyWithoutListener { listener: &'static str }
        => ("policy for a lane that does not exist: `{listener}` is not granted"),
           ("remove the field, or grant `{listener}`");

    // The package and its binaries.
    BinaryNotFound { name: String, looked: PathBuf }
        => ("binary `{name}` is not at {}", looked.display()),
           ("build it, or give its path with --bin {name}=PATH");
    /// It is there: a directory, a loop of links, a permission.
    BinaryNotReadable { name: String, looked: PathBuf, error: std::io::Error }
        => ("binary `{name}` cannot be read at {}: {error}", looked.display()),
           ("correct it, or give another path with --bin {name}=PATH");
    BinaryNotLoadable { name: String, reason: &'static str }
        => ("binary `{name}` cannot be loaded: {reason}"),
           ("build it with its own linker script");
    Published { error: capos_config::Error }
        => ("the published validator says: {error}"), ("correct the field that it names");
    PackageTooLarge { bytes: usize, limit: usize }
        => ("the boot package has {bytes} bytes and may have {limit}"),
           ("build the binaries in release mode, and pack fewer of them");
    NotAPackage { error: capos_config::Error }
        => ("this is not a boot package: {error}"), ("make one with `mkmanifest build`");
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Self::Io { error }
    }
}

/// What the published crate refuses, it does as a validator.
impl From<capos_config::Error> for Fault {
    fn from(error: capos_config::Error) -> Self {
        Self::Published { error }
    }
}
