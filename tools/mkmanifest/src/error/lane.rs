//! The lane rules: which listener may be whose.

use std::fmt;

use ingress_schema::listen::Transport;

use super::GrantPair;

/// The lane rules: which listener may be whose.
#[derive(Debug)]
#[non_exhaustive]
pub enum LaneFault {
    /// A lane listener of another source than `tcp_listen_authority`.
    LaneNotAListener {
        /// The grant's source.
        source: String,
    },
    /// No lane has a listener.
    NoLane,
    /// A listener of the service under a name that is no lane's.
    NoSuchLane,
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
    /// A rate exemption where strangers can reach the listener.
    RateExemptOutside {
        /// The local lane's transport.
        transport: Transport,
    },
}

impl fmt::Display for LaneFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LaneNotAListener { source } => {
                write!(
                    f,
                    "a lane's listener is a `tcp_listen_authority`, not a `{source}`"
                )
            }
            Self::NoLane => f.write_str("no lane has a listener, so nothing would be served"),
            Self::NoSuchLane => {
                f.write_str("no lane has a listener of this name, so nothing would use it")
            }
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
            Self::RateExemptOutside { transport } => write!(
                f,
                "the local lane is reachable over `{transport}` and may not be rate exempt"
            ),
        }
    }
}

impl LaneFault {
    /// What to do about it.
    pub(super) fn cure(&self) -> String {
        match self {
            Self::LaneNotAListener { .. } => "set source = \"tcp_listen_authority\"".into(),
            Self::NoLane => "grant at least `ui_listener`".into(),
            Self::NoSuchLane => {
                "name it ui_listener, ui_local_listener or ui_provider_health_listener".into()
            }
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
            Self::RateExemptOutside { .. } => {
                "set a rate and a burst, or move the lane to the loopback".into()
            }
        }
    }
}
