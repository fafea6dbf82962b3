//! What to do about each fault: the second half of every refusal.

use remote_session_web_ui::policy::{MarkerError, MarkerFault};

use crate::error::Fault;

impl Fault {
    /// What the author of the manifest should do about it.
    #[must_use]
    pub fn cure(&self) -> String {
        match self {
            Self::Io(_) => "check the path and its permissions".into(),
            Self::FileTooLarge { .. } => "check that the path is the right one".into(),
            Self::Syntax(_) => "correct the line".into(),
            Self::UnknownField { known } => format!("remove it, or use one of: {known}"),
            Self::MissingField => "add it".into(),
            Self::WrongType { expected, .. } => format!("write {expected}"),
            Self::NumberOutOfRange { range } => format!("write a number in {range}"),
            Self::UnknownWord { expected, .. } => format!("use one of: {expected}"),
            Self::BindingOnOtherSource { .. } => {
                "remove `transport` and `port`, or set source = \"tcp_listen_authority\"".into()
            }
            Self::DuplicateName { .. } => "remove one of the two".into(),
            Self::NameTooLong { .. } => "shorten the name".into(),
            Self::NameNotPrintable { .. } => "use letters, digits, `_`, `-` and `=`".into(),
            Self::TooManyGrants { .. } => "remove grants or policy fields".into(),
            Self::TooManyProcesses { .. } => "remove services".into(),
            Self::MarkerAsGrant => "write it under `init.policy`".into(),
            Self::ReservedName => "remove the grant".into(),
            Self::LaneNotAListener { .. } => "set source = \"tcp_listen_authority\"".into(),
            Self::NoLane => "grant at least `ui_listener`".into(),
            Self::SameObject { .. } => "give each lane its own transport and its own port".into(),
            Self::SamePort { .. } => "give one of the two another port".into(),
            Self::SameTransport { .. } => "move one of the two to another transport".into(),
            Self::WildcardOverlap { .. } | Self::WildcardLane => {
                "name the one transport that this lane's clients use".into()
            }
            Self::LocalLaneOutside { transport } => format!(
                "set transport = \"loopback\", or add \"{transport}\" to system.admin_transports \
                 if only administrators reach it"
            ),
            Self::LaneShared { .. } => {
                "remove the other grant, or move it to another transport or port".into()
            }
            Self::Marker(error) => marker_cure(*error),
            Self::Profile(error) => error.explain().into(),
            Self::ZeroPhase => "give it at least a millisecond".into(),
            Self::RateExemptOutside { .. } => {
                "set a rate and a burst, or move the lane to the loopback".into()
            }
            Self::PolicyWithoutListener { listener } => {
                format!("remove the field, or grant `{listener}`")
            }
            Self::BinaryNotFound { name, .. } => {
                format!("build it, or give its path with --bin {name}=PATH")
            }
            Self::BinaryNotLoadable { .. } => "build it with its own linker script".into(),
            Self::Published(_) => "correct the field that it names".into(),
            Self::PackageTooLarge { .. } => {
                "build the binaries in release mode, and pack fewer of them".into()
            }
            Self::NotAPackage(_) => "make one with `mkmanifest build`".into(),
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
