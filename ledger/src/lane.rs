//! Lanes: what a connection is charged to (keeps L1: a lane is fixed before any byte is read).

use core::ops::{Index, IndexMut};

/// Number of lanes.
pub const LANES: usize = 3;

/// What a connection, and every request on it, is charged to.
///
/// A lane follows from the listener that accepted the connection and from
/// nothing that a client can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// Everything public. Owns no reserve; lives on the general pool.
    Anonymous,
    /// Local status, set-up and recovery. Protected: owns a reserve.
    LocalHealth,
    /// The provider's liveness probe. Protected: owns a reserve.
    ProviderHealth,
}

impl Lane {
    /// Every lane, in a fixed order.
    pub const ALL: [Lane; LANES] = [Lane::Anonymous, Lane::LocalHealth, Lane::ProviderHealth];

    /// The lane's place in [`Lane::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether this lane owns a reserve that no other lane can charge.
    #[must_use]
    pub const fn is_protected(self) -> bool {
        !matches!(self, Lane::Anonymous)
    }

    /// Stable name for evidence lines, problem documents and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Lane::Anonymous => "anonymous",
            Lane::LocalHealth => "local_health",
            Lane::ProviderHealth => "provider_health",
        }
    }
}

/// One `T` for each lane, in the order of [`Lane::ALL`]; indexing by [`Lane`] is total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PerLane<T>(pub [T; LANES]);

impl<T> PerLane<T> {
    /// The same value for each lane.
    pub const fn all(value: T) -> Self
    where
        T: Copy,
    {
        PerLane([value; LANES])
    }

    /// Each lane's value from a function of the lane.
    pub fn from_fn(value_of: impl FnMut(Lane) -> T) -> Self {
        PerLane(Lane::ALL.map(value_of))
    }

    /// These values, but for one lane's.
    #[must_use]
    pub fn with(mut self, lane: Lane, value: T) -> Self {
        self[lane] = value;
        self
    }

    /// Lanes with their values, in the order of [`Lane::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Lane, &T)> {
        Lane::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<Lane> for PerLane<T> {
    type Output = T;

    #[inline]
    fn index(&self, lane: Lane) -> &T {
        let PerLane([anonymous, local_health, provider_health]) = self;
        match lane {
            Lane::Anonymous => anonymous,
            Lane::LocalHealth => local_health,
            Lane::ProviderHealth => provider_health,
        }
    }
}

impl<T> IndexMut<Lane> for PerLane<T> {
    #[inline]
    fn index_mut(&mut self, lane: Lane) -> &mut T {
        let PerLane([anonymous, local_health, provider_health]) = self;
        match lane {
            Lane::Anonymous => anonymous,
            Lane::LocalHealth => local_health,
            Lane::ProviderHealth => provider_health,
        }
    }
}
