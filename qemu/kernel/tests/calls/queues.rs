//! Queues that are full, corrupt, or wrong.

use capos_config::ring::{
    CAP_ERR_INVALID_REQUEST, CAP_ERR_INVOKE_FAILED, CAP_ERR_UNSUPPORTED_OPCODE, CAP_OP_FINISH,
    CQ_ENTRIES, CapSqe, SQ_ENTRIES,
};
use harness_kernel::call::kinds::Object;
use harness_kernel::syscall::enter::Entered;

use crate::rig::{NOP, Rig, call, release};

#[test]
fn a_full_queue_takes_no_submission_and_loses_none() {
    let mut rig = Rig::of(1);
    for _ in 0..CQ_ENTRIES / SQ_ENTRIES {
        for _ in 0..SQ_ENTRIES {
            rig.submit(0, NOP);
        }
        rig.enter(0, 0, 0);
    }
    for user_data in 0..u64::from(SQ_ENTRIES) {
        rig.submit(0, CapSqe { user_data, ..NOP });
    }
    assert_eq!(rig.enter(0, 0, 0), Entered::Returns(CQ_ENTRIES));
    let ring = rig.ring(0);
    let left = ring.submission_tail.get() - ring.submission_head.get();
    assert_eq!(left, SQ_ENTRIES, "all of them wait");
    assert_eq!(rig.take(0).len(), CQ_ENTRIES as usize);
    rig.enter(0, 0, 0);
    let order: Vec<u64> = rig.take(0).iter().map(|done| done.user_data).collect();
    assert_eq!(order, (0..u64::from(SQ_ENTRIES)).collect::<Vec<u64>>());
}

#[test]
fn corrupt_submissions_are_dropped_and_the_entry_is_rejected() {
    let mut rig = Rig::of(1);
    rig.ring(0).submission_tail.set(SQ_ENTRIES + 1);
    assert_eq!(rig.enter(0, 1, u64::MAX), Entered::Rejected);
    let ring = rig.ring(0);
    assert_eq!(ring.submission_head.get(), ring.submission_tail.get());
    assert_eq!(rig.code(0, NOP), 0, "it goes on");
}

#[test]
fn corrupt_completions_break_the_process_and_nothing_is_posted() {
    let mut rig = Rig::of(1);
    rig.ring(0).completion_head.set(5);
    rig.submit(0, NOP);
    assert!(matches!(rig.enter(0, 0, 0), Entered::Broke(_)));
    assert_eq!(rig.ring(0).completion_tail.get(), 0);
}

#[test]
fn what_names_nothing_is_refused() {
    let mut rig = Rig::of(1);
    let cap = rig.grant(0, Object::Timer);
    for (wrong, code) in [
        (call(cap + 1, 0, 0), CAP_ERR_INVOKE_FAILED),
        (call(0, 0, 0), CAP_ERR_INVOKE_FAILED),
        (release(cap + 1), CAP_ERR_INVALID_REQUEST),
        (
            CapSqe {
                opcode: CAP_OP_FINISH,
                ..NOP
            },
            CAP_ERR_UNSUPPORTED_OPCODE,
        ),
    ] {
        let opcode = wrong.opcode;
        assert_eq!(rig.code(0, wrong), code, "{opcode}");
    }
}

#[test]
fn a_slot_that_is_given_again_does_not_answer_to_its_old_name() {
    let mut rig = Rig::of(1);
    let old = rig.grant(0, Object::Timer);
    assert_eq!(rig.code(0, release(old)), 0);
    // Free slots are taken oldest first: the table comes round to the same one.
    for _ in 1..harness_kernel::cap_table::SLOTS {
        let other = rig.grant(0, Object::Console);
        assert_eq!(rig.code(0, release(other)), 0);
    }
    let new = rig.grant(0, Object::Timer);
    assert_eq!(new & 0x7ff, old & 0x7ff, "the same slot");
    assert_eq!(rig.code(0, call(old, 0, 0)), CAP_ERR_INVOKE_FAILED);
    assert_eq!(rig.code(0, release(old)), CAP_ERR_INVALID_REQUEST);
    assert_eq!(rig.code(0, call(new, 0, 0)), 32);
}

#[test]
fn a_process_that_waits_is_woken_by_what_it_waits_for_or_by_the_clock() {
    let mut rig = Rig::of(1);
    assert_eq!(rig.enter(0, 1, 5_000_000), Entered::Waits);
    assert!(rig.processes[0].is_waiting());
    let due = rig.processes[0].next_deadline().unwrap();
    assert_eq!(due, rig.world.platform.now + 5_000_000);
    assert_eq!(rig.look_after(0), None);
    rig.world.platform.now = due;
    assert_eq!(rig.look_after(0), Some(Entered::Returns(0)));
    assert!(!rig.processes[0].is_waiting());
    assert_eq!(rig.enter(0, 1, u64::MAX), Entered::Waits);
    let told = rig.world.platform.told.last().unwrap();
    assert!(told.contains("waits for ever: for 1 completions"), "{told}");
}
