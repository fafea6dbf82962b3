//! One policy, many threads: no count is lost or made, no cap passed, whoever comes between.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use ingress_ledger::{
    Access, ChannelLifecyclePolicy, ChannelManager, ChannelOperations, Channels, Identity, NoCap,
    OperationContext, PerIdentityChannelPolicy,
};

const THREADS: u64 = 8;
const ROUNDS: u32 = 20_000;
const CAP: u32 = 5;

const fn is_a_policy<P: ChannelLifecyclePolicy>() {}

/// What the trait asks of every policy, of those that come with it.
const _: () = {
    is_a_policy::<NoCap>();
    is_a_policy::<PerIdentityChannelPolicy<8>>();
    is_a_policy::<&'static PerIdentityChannelPolicy<8>>();
    is_a_policy::<Arc<dyn ChannelLifecyclePolicy>>();
};

/// Runs one closure a thread, all at once.
fn together(run: impl Fn(u64) + Sync) {
    let start = Barrier::new(usize::try_from(THREADS).unwrap());
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (run, start) = (&run, &start);
            scope.spawn(move || {
                start.wait();
                run(number);
            });
        }
    });
}

#[test]
fn no_cap_is_passed_and_no_count_lost_between_threads() {
    const IDENTITIES: usize = 3;
    const KEPT: usize = 3;
    let last = Barrier::new(usize::try_from(THREADS).unwrap());
    let policy = PerIdentityChannelPolicy::<4>::new(Channels::new(CAP));
    let held = [const { AtomicU32::new(0) }; IDENTITIES];
    let [opened, denied, most] = [const { AtomicU32::new(0) }; 3];
    together(|thread| {
        let mut mine = Vec::new();
        for round in 0..ROUNDS {
            let number = (u64::from(round) + thread) % IDENTITIES as u64;
            let identity = Identity::from_number(number);
            let held = &held[usize::try_from(number).unwrap()];
            match policy.check_open(&identity) {
                Ok(()) => {
                    let now = held.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    opened.fetch_add(1, Ordering::SeqCst);
                    mine.push((identity, held));
                }
                Err(_) => drop(denied.fetch_add(1, Ordering::SeqCst)),
            }
            // The threads keep more than there is, all until the last is here.
            while mine.len() > KEPT {
                let (identity, held) = mine.swap_remove(0);
                held.fetch_sub(1, Ordering::SeqCst);
                policy.on_close(&identity);
            }
        }
        last.wait();
        for (identity, held) in mine {
            held.fetch_sub(1, Ordering::SeqCst);
            policy.on_close(&identity);
        }
    });
    let evidence = policy.evidence();
    assert_eq!(most.into_inner(), CAP, "held at once");
    assert_eq!(evidence.opened, u64::from(opened.into_inner()));
    assert_eq!(evidence.denied_at_cap, u64::from(denied.into_inner()));
    assert!(evidence.denied_at_cap > 0, "nobody met the cap");
    assert_eq!(evidence.closed, evidence.opened);
    assert_eq!((evidence.high_water, evidence.faults), (CAP.into(), 0));
    assert_eq!((policy.identities(), evidence.denied_table_full), (0, 0));
}

#[test]
fn identities_come_and_go_in_a_full_table_and_none_is_forgotten() {
    // Fewer lines than threads: each finds the table full at times, and lines move as others go.
    let policy = PerIdentityChannelPolicy::<6>::new(Channels::new(2));
    together(|thread| {
        for round in 0..ROUNDS {
            let identity = Identity::from_number(thread << 32 | u64::from(round));
            if policy.check_open(&identity).is_err() {
                continue;
            }
            assert_eq!(policy.open(&identity), Channels::new(1));
            policy.check_open(&identity).unwrap();
            policy.check_open(&identity).unwrap_err();
            policy.on_close(&identity);
            policy.on_close(&identity);
        }
    });
    let evidence = policy.evidence();
    assert!(evidence.opened > 0);
    assert_eq!(evidence.opened, evidence.closed);
    assert_eq!(evidence.denied_at_cap * 2, evidence.opened);
    assert_eq!((policy.identities(), evidence.faults), (0, 0));
}

#[test]
fn evidence_is_of_one_moment() {
    static POLICY: PerIdentityChannelPolicy<4> = PerIdentityChannelPolicy::new(Channels::new(CAP));
    let over = Arc::new(AtomicBool::new(false));
    let reader = thread::spawn({
        let over = Arc::clone(&over);
        move || {
            while !over.load(Ordering::SeqCst) {
                let evidence = POLICY.evidence();
                let open = evidence.opened.checked_sub(evidence.closed);
                assert!(open.is_some_and(|open| open <= CAP.into()), "{evidence:?}");
            }
        }
    });
    together(|_| {
        let identity = Identity::from_number(1);
        for _ in 0..ROUNDS {
            if POLICY.check_open(&identity).is_ok() {
                POLICY.on_close(&identity);
            }
        }
    });
    over.store(true, Ordering::SeqCst);
    reader.join().unwrap();
}

#[test]
fn connections_of_several_threads_share_one_cap() {
    let policy = Arc::new(PerIdentityChannelPolicy::<4>::new(Channels::new(CAP)));
    let open = AtomicU32::new(0);
    together(|_| {
        let manager = ChannelManager::<4>::default();
        let mut channels = ChannelOperations::with_policy(manager, Arc::clone(&policy));
        let identity = Identity::from_number(9);
        let caller = OperationContext::direct(&identity);
        for _ in 0..ROUNDS {
            let Ok(channel) = channels.open(&caller, Access::Granted) else {
                continue;
            };
            assert!(open.fetch_add(1, Ordering::SeqCst) < CAP);
            channels.close(&caller, channel).unwrap();
            open.fetch_sub(1, Ordering::SeqCst);
            channels.drained(channel).unwrap();
        }
        // What it still has, the connection gives back at its end.
        if channels.open(&caller, Access::Granted).is_ok() {
            drop(channels);
        }
    });
    let evidence = policy.evidence();
    assert_eq!(evidence.opened, evidence.closed);
    assert_eq!((policy.identities(), evidence.faults), (0, 0));
}
