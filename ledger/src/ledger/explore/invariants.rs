//! What must hold in every state of an exploration (shows L2, L3, L5).

use super::{Explorer, World};
use crate::counters::LaneCounters;
use crate::lane::Lane;
use crate::ledger::evidence::EvidenceSnapshot;
use crate::overload::IngressOverload;
use crate::profile::Resource;
use crate::units::Instant;

impl<'a> Explorer<'a> {
    /// Once every free slot is dispatched, a protected lane inside its reserve is served at
    /// once, whatever the others hold.
    pub(super) fn check_floor(&self, world: &World<'a>) {
        for lane in Lane::ALL.into_iter().filter(|lane| lane.is_protected()) {
            let mine = world.held.iter().filter(|held| held.lane == lane).count();
            if mine as u64 >= world.ledger.slots.share(lane).reserve {
                continue;
            }
            let mut probe = world.clone();
            while probe.ledger.select_next(probe.now).is_some() {}
            let footprint = probe.ledger.footprint(lane).expect("enabled");
            let mut connection = self.connection(world, lane);
            let asked =
                probe
                    .ledger
                    .request(&mut connection, footprint, Instant::MAX, Some(probe.now));
            match asked {
                Ok(token) => {
                    assert!(
                        probe.ledger.holds_slot(&token),
                        "{lane:?} waits inside its reserve"
                    );
                    token.seal.open();
                }
                Err(overload) => {
                    assert!(
                        matches!(overload, IngressOverload::RateLimited { .. }),
                        "{overload:?}"
                    );
                }
            }
        }
    }

    /// What holds in every state.
    pub(super) fn check_state(&self, world: &World<'a>) {
        let evidence: EvidenceSnapshot = world.ledger.evidence();
        assert!(evidence.release_balanced());
        assert_eq!(evidence.outstanding(), world.held.len() as u64);
        assert!(evidence.general_used <= evidence.general_pool);
        for (resource, partition) in [
            (Resource::Slots, &world.ledger.slots),
            (Resource::Bytes, &world.ledger.bytes),
        ] {
            for lane in Lane::ALL {
                let reserve = partition.share(lane).reserve;
                let others = partition.total_used() - partition.used(lane);
                assert!(
                    others + reserve <= partition.total(),
                    "{resource:?} of {lane:?} charged"
                );
                assert!(partition.used(lane) <= partition.share(lane).ceiling);
            }
            assert!(partition.total_used() <= partition.total());
        }
        for (lane, lane_evidence) in evidence.lanes.iter() {
            let LaneCounters {
                slots_high_water, ..
            } = lane_evidence.counters;
            assert!(slots_high_water <= lane_evidence.slot_limit);
            let queue: u64 = self.profile.lane(lane).queue.count().into();
            assert!(lane_evidence.waiting <= queue);
        }
    }
}
