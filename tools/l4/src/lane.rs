//! The lanes as a client sees them: how each is named and where it is reached.

/// What a connection is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// The public NIC.
    Anonymous,
    /// The guest's loopback.
    LocalHealth,
    /// The provider's NIC.
    ProviderHealth,
}

impl Lane {
    pub(crate) const ALL: [Self; 3] = [Self::Anonymous, Self::LocalHealth, Self::ProviderHealth];

    /// Its name in evidence keys.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::LocalHealth => "local_health",
            Self::ProviderHealth => "provider_health",
        }
    }

    /// The in-guest client's name for it, and the name in policy markers.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::Anonymous => "public",
            Self::LocalHealth => "local",
            Self::ProviderHealth => "provider",
        }
    }

    /// The guest's port.
    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Anonymous => 8080,
            Self::ProviderHealth => 8081,
            Self::LocalHealth => 8082,
        }
    }
}
