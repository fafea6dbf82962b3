//! Connection records: how a table of them is divided among the lanes (keeps R1: what a lane's
//! accept brings finds a record, whatever other lanes do).
//!
//! A connection needs a record from before its accept until its socket is closed, which is
//! longer than it holds a permit: one that is refused has none, and one that is closed has
//! given its own back. So the table is divided as the permits are, and what it has beyond them
//! is divided evenly, for those without.

use crate::lane::{Lane, PerLane};
use crate::partition::{Partition, Share};
use crate::profile::{Resource, ValidatedProfile};

/// The records of a table, by lane.
#[derive(Clone, Debug)]
pub struct ConnectionRecords {
    partition: Partition,
}

impl ConnectionRecords {
    /// No records for anybody.
    #[must_use]
    pub const fn closed() -> Self {
        ConnectionRecords {
            partition: Partition::CLOSED,
        }
    }

    /// Divides `records` among the lanes of `profile`. `None` if a lane that holds all its
    /// permits would have no record left to accept or refuse another connection with.
    #[must_use]
    pub fn divide(profile: &ValidatedProfile, records: u32) -> Option<Self> {
        let permits = profile.partition(Resource::Connections);
        let enabled = |lane: &Lane| profile.is_enabled(*lane);
        let lanes = u64::try_from(Lane::ALL.iter().filter(|lane| enabled(lane)).count()).ok()?;
        let beyond = u64::from(records).checked_sub(permits.total())?;
        let each = beyond.checked_div(lanes).filter(|each| *each > 0)?;
        let shares = PerLane::from_fn(|lane| match permits.share(lane) {
            Share { reserve, ceiling } if profile.is_enabled(lane) => Share {
                reserve: reserve.saturating_add(each),
                ceiling: ceiling.saturating_add(each),
            },
            _ => Share::default(),
        });
        Some(ConnectionRecords {
            partition: Partition::new(shares, permits.general()),
        })
    }

    /// Takes a record for `lane`, if there is one for it.
    #[must_use]
    pub fn claim(&mut self, lane: Lane) -> bool {
        self.has_room(lane) && self.partition.charge(lane, 1)
    }

    /// Whether there is a record for `lane`.
    #[must_use]
    pub fn has_room(&self, lane: Lane) -> bool {
        self.partition.check(lane, 1).is_ok()
    }

    /// Gives a record of `lane` back. False, and without effect, if it had none.
    #[must_use]
    pub fn release(&mut self, lane: Lane) -> bool {
        self.partition.release(lane, 1)
    }

    /// Records that `lane` has.
    #[must_use]
    pub fn used(&self, lane: Lane) -> u64 {
        self.partition.used(lane)
    }
}
