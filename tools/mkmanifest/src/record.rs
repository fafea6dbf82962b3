//! The resolved policy as one record of `schema/policy.capnp`, for programs that compare
//! what was asked with what a running service reports.

use capnp::message::{Builder, HeapAllocator};
use ingress_ledger::{Lane, LanePhases, RatePolicy, Resource};
use ingress_schema::policy_capnp::{lane_policy, policy, rate};
use remote_session_web_ui::policy::Policy;

/// The record of `policy`, a framed Cap'n Proto message of one segment.
///
/// What is cut stands under `clamped` in the words of the readback line.
#[must_use]
pub fn policy_record(resolved: &Policy) -> Vec<u8> {
    let mut message = Builder::new(HeapAllocator::new());
    let mut root: policy::Builder<'_> = message.init_root();
    let profile = &resolved.profile;
    let limits = profile.limits();
    root.set_slots(limits.slots.count().into());
    root.set_general_slots(profile.general_pool(Resource::Slots));
    root.set_conns(limits.connections.count().into());
    root.set_general_conns(profile.general_pool(Resource::Connections));
    root.set_bytes(limits.bytes_in_flight.count());
    root.set_refusal_ms(limits.refusal_deadline.as_millis());
    root.set_drain_ms(resolved.drain.as_millis());
    for lane in Lane::ALL
        .into_iter()
        .filter(|lane| profile.is_enabled(*lane))
    {
        let root = root.reborrow();
        let record = match lane {
            Lane::Anonymous => root.init_anonymous(),
            Lane::LocalHealth => root.init_local_health(),
            Lane::ProviderHealth => root.init_provider_health(),
        };
        write_lane(resolved, lane, record);
    }
    let words: Vec<String> = resolved
        .clamped()
        .map(|(scope, word)| format!("{}_{word}", scope.word()))
        .collect();
    let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
    let mut clamped = root.init_clamped(count);
    for (index, word) in (0..count).zip(&words) {
        clamped.set(index, word);
    }
    capnp::serialize::write_message_to_words(&message)
}

fn write_lane(resolved: &Policy, lane: Lane, mut record: lane_policy::Builder<'_>) {
    let limits = resolved.profile.lane(lane);
    let ceiling = |resource| resolved.profile.ceiling(lane, resource);
    let LanePhases {
        head,
        body,
        write,
        idle,
    } = resolved.phases[lane];
    record.set_enabled(true);
    record.set_slots(ceiling(Resource::Slots));
    record.set_slot_reserve(limits.slot_reserve.count().into());
    record.set_queue(limits.queue.count().into());
    record.set_conns(ceiling(Resource::Connections));
    record.set_conn_reserve(limits.connection_reserve.count().into());
    record.set_refusals(limits.refusals.count().into());
    record.set_per_connection(limits.per_connection.count().into());
    record.set_footprint_bytes(limits.footprint.count());
    record.set_deadline_ms(limits.deadline.as_millis());
    record.set_head_ms(head.as_millis());
    record.set_body_ms(body.as_millis());
    record.set_write_ms(write.as_millis());
    record.set_idle_ms(idle.as_millis());
    write_rate(limits.request_rate, record.reborrow().init_request_rate());
    write_rate(limits.accept_rate, record.init_accept_rate());
}

fn write_rate(policy: RatePolicy, mut record: rate::Builder<'_>) {
    match policy {
        RatePolicy::Budget(budget) => {
            let mut record = record.init_budget();
            record.set_per_second(budget.per_second);
            record.set_burst(budget.burst);
        }
        RatePolicy::LoopbackExempt => record.set_exempt(()),
        RatePolicy::Unmetered => record.set_unmetered(()),
    }
}
