//! Property: on random profiles and random operations, the ledger does what the reference
//! model does, figure by figure, after every operation. Ten million operations a run.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::cell::RefCell;

use ingress_ledger::{EvidenceSnapshot, Issuer, LaneCounters, OverloadKind};
use proptest::prelude::any;
use proptest::test_runner::{Config, TestError, TestRunner};
use support::driver::Driver;
use support::profiles;

const CASES: u32 = 5_000;
/// Cases are short and long alike: 2,100 operations on average.
const OPERATIONS_MAX: usize = 4_200;

/// What the run met: a property that never met a bound would prove little.
#[derive(Default)]
struct Seen {
    operations: usize,
    totals: LaneCounters,
}

#[test]
fn ledger_agrees_with_the_model() {
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let words = proptest::collection::vec(any::<u64>(), 1..=OPERATIONS_MAX);
    let seen = RefCell::new(Seen::default());
    let outcome = TestRunner::new(config).run(&(any::<u64>(), words), |(seed, words)| {
        let evidence = run(seed, &words);
        seen.borrow_mut().add(words.len(), &evidence);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, (seed, words))) => {
            panic!(
                "{why}\nprofile {seed}, {} operations: {words:?}",
                words.len()
            )
        }
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
    let Seen { operations, totals } = seen.into_inner();
    println!("{operations} operations: {totals:?}");
    assert!(operations >= 10_000_000);
    for kind in OverloadKind::ALL {
        assert!(totals.overloads[kind] > 1_000, "{kind:?} was hardly met");
    }
    assert!(totals.completed > 100_000 && totals.cancelled > 100_000 && totals.expired > 10_000);
}

fn run(seed: u64, words: &[u64]) -> EvidenceSnapshot {
    let issuer = Issuer::new();
    let mut driver = Driver::new(&profiles::random(seed), &issuer);
    for word in words {
        driver.step(*word);
    }
    driver.finish()
}

impl Seen {
    fn add(&mut self, operations: usize, evidence: &EvidenceSnapshot) {
        self.operations += operations;
        for (_, lane) in evidence.lanes.iter() {
            self.totals.completed += lane.counters.completed;
            self.totals.cancelled += lane.counters.cancelled;
            self.totals.expired += lane.counters.expired;
            for kind in OverloadKind::ALL {
                self.totals.overloads[kind] += lane.counters.overloads[kind];
            }
        }
    }
}
