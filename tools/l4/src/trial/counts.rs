//! What the clients of one guest saw, and how it is compared with what the service counted.

use std::collections::BTreeMap;

use crate::evidence::Evidence;
use crate::http::Tally;
use crate::lane::Lane;

/// Whether client-side counts can be exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Counting {
    /// The client read every response, so the counts must be equal.
    #[default]
    Exact,
    /// The client left some unread, so it must not have seen more than was sent.
    AtMost,
}

/// What the clients of one run saw, by lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientCounts {
    /// By lane; a lane that is absent was not fed.
    pub(crate) lanes: BTreeMap<Lane, Tally>,
    /// How they compare with the ledger's.
    pub(crate) counting: Counting,
}

impl ClientCounts {
    /// The counts of one lane, to add to.
    pub(crate) fn lane(&mut self, lane: Lane) -> &mut Tally {
        self.lanes.entry(lane).or_default()
    }

    /// Whether the service's counts are what the clients saw.
    pub(crate) fn agree(&self, evidence: &Evidence, lane: Lane) -> bool {
        let sent = evidence.statuses(lane);
        let seen = self.lanes.get(&lane).cloned().unwrap_or_default().statuses;
        match self.counting {
            Counting::Exact => sent.iter().filter(|(_, count)| **count > 0).eq(seen.iter()),
            Counting::AtMost => seen
                .iter()
                .all(|(status, count)| sent.get(status).is_some_and(|sent| sent >= count)),
        }
    }
}
