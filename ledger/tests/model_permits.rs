//! Property: connection permits do what a plain model does, after every operation.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use ingress_ledger::{
    CloseUnanswered, ConnectionPermit, ConnectionPermits, Instant, Issuer, LANES, Lane, Occupancy,
    PerLane, PermitCounters, PermitRefusal, RatePolicy, RefusalPermit, Span, ValidatedProfile,
};
use proptest::prelude::{ProptestConfig, any, proptest};
use support::profiles::{self, Digits};

/// The model: two lists of lanes, one of permits held, one of refusals being answered.
struct Model {
    profile: ValidatedProfile,
    held: Vec<Lane>,
    answering: Vec<Lane>,
    counters: PerLane<PermitCounters>,
    /// Billionths of a token, and when.
    buckets: PerLane<(u128, u64)>,
    high_water: u64,
}

impl Model {
    fn new(profile: &ValidatedProfile) -> Self {
        let full = |lane| match profile.lane(lane).accept_rate {
            RatePolicy::Budget(budget) => (u128::from(budget.burst) * 1_000_000_000, 0),
            _ => (0, 0),
        };
        Model {
            profile: profile.clone(),
            held: Vec::new(),
            answering: Vec::new(),
            counters: PerLane::default(),
            buckets: PerLane::from_fn(full),
            high_water: 0,
        }
    }

    fn held(&self, lane: Lane) -> u64 {
        self.held.iter().filter(|held| **held == lane).count() as u64
    }

    fn reserve(&self, lane: Lane) -> u64 {
        self.profile.lane(lane).connection_reserve.count().into()
    }

    fn general_pool(&self) -> u64 {
        let reserved: u64 = Lane::ALL.map(|lane| self.reserve(lane)).iter().sum();
        u64::from(self.profile.limits().connections.count()) - reserved
    }

    fn ceiling(&self, lane: Lane) -> u64 {
        let most = self.reserve(lane) + self.general_pool();
        let share = self.profile.lane(lane).connections.count().into();
        if self.profile.is_enabled(lane) {
            most.min(share)
        } else {
            0
        }
    }

    fn has_room(&self, lane: Lane) -> bool {
        let excess = |lane| self.held(lane).saturating_sub(self.reserve(lane));
        let pool_used: u64 = Lane::ALL.map(excess).iter().sum();
        self.held(lane) < self.ceiling(lane)
            && (self.held(lane) < self.reserve(lane) || pool_used < self.general_pool())
    }

    fn check(&mut self, lane: Lane, now: Option<u64>) -> Result<(), PermitRefusal> {
        let now = now.ok_or(PermitRefusal::ClockLost)?;
        let (level, at) = self.buckets[lane];
        let mut left = (level, at);
        if let RatePolicy::Budget(budget) = self.profile.lane(lane).accept_rate {
            let refill = u128::from(now.saturating_sub(at)) * u128::from(budget.per_second);
            let level = (level + refill).min(u128::from(budget.burst) * 1_000_000_000);
            if level < 1_000_000_000 {
                let missing = (1_000_000_000 - level) as u64;
                let ready_in = Span::from_nanos(missing.div_ceil(budget.per_second.into()));
                return Err(PermitRefusal::RateLimited { ready_in });
            }
            left = (level - 1_000_000_000, at.max(now));
        }
        let ceiling = self.ceiling(lane);
        if self.held(lane) >= ceiling {
            return Err(PermitRefusal::LaneFull(Occupancy {
                in_use: ceiling,
                limit: ceiling,
            }));
        }
        let pool = self.general_pool();
        let excess = |lane| self.held(lane).saturating_sub(self.reserve(lane));
        let pool_used: u64 = Lane::ALL.map(excess).iter().sum();
        if self.held(lane) >= self.reserve(lane) && pool_used >= pool {
            return Err(PermitRefusal::TotalFull(Occupancy {
                in_use: pool,
                limit: pool,
            }));
        }
        self.buckets[lane] = left;
        Ok(())
    }

    fn admit(&mut self, lane: Lane, now: Option<u64>) -> Result<(), PermitRefusal> {
        let outcome = self.check(lane, now);
        let counters = &mut self.counters[lane];
        match outcome {
            Ok(()) => {
                self.held.push(lane);
                counters.admitted += 1;
            }
            Err(refusal) => {
                counters.refused += 1;
                match refusal {
                    PermitRefusal::ClockLost => counters.refused_clock_lost += 1,
                    PermitRefusal::RateLimited { .. } => counters.refused_rate_limited += 1,
                    PermitRefusal::LaneFull(_) => counters.refused_lane_full += 1,
                    PermitRefusal::TotalFull(_) => counters.refused_total_full += 1,
                }
            }
        }
        let held = self.held(lane);
        self.counters[lane].high_water = self.counters[lane].high_water.max(held);
        self.high_water = self.high_water.max(self.held.len() as u64);
        outcome
    }

    fn admit_refusal(&mut self, lane: Lane) -> Result<(), CloseUnanswered> {
        let answering = self
            .answering
            .iter()
            .filter(|other| **other == lane)
            .count() as u32;
        if answering >= self.profile.lane(lane).refusals.count() {
            self.counters[lane].refusals_unanswered += 1;
            return Err(CloseUnanswered);
        }
        self.counters[lane].refusals_admitted += 1;
        self.answering.push(lane);
        Ok(())
    }
}

struct Driver<'a> {
    permits: ConnectionPermits<'a>,
    model: Model,
    held: Vec<ConnectionPermit<'a>>,
    answering: Vec<RefusalPermit<'a>>,
    now: u64,
}

impl Driver<'_> {
    fn step(&mut self, word: u64) {
        let mut draw = Digits(word);
        let lane = Lane::ALL[draw.below(LANES as u64) as usize];
        match draw.below(10) {
            0..=3 => {
                let now = (draw.below(64) != 0).then_some(self.now);
                let foreseen = self.permits.would_admit(lane, now.map(Instant::from_nanos));
                let real = self.permits.admit(lane, now.map(Instant::from_nanos));
                assert_eq!(foreseen.err().as_ref(), real.as_ref().err());
                let model = self.model.admit(lane, now);
                assert_eq!(real.as_ref().err(), model.err().as_ref());
                self.held.extend(real.ok());
            }
            4..=6 if !self.held.is_empty() => {
                let index = draw.below(self.held.len() as u64) as usize;
                let permit = self.held.swap_remove(index);
                let lane = self.model.held.swap_remove(index);
                assert_eq!(permit.lane(), lane);
                self.permits
                    .release(permit)
                    .expect("a permit of these permits");
                self.model.counters[lane].released += 1;
            }
            7 => {
                let now = Instant::from_nanos(self.now);
                let real = self.permits.admit_refusal(lane, now);
                assert_eq!(
                    real.as_ref().err(),
                    self.model.admit_refusal(lane).err().as_ref()
                );
                if let Ok(permit) = real {
                    let span = self.model.profile.limits().refusal_deadline;
                    assert_eq!(permit.deadline(), now.after(span));
                    self.answering.push(permit);
                }
            }
            8 if !self.answering.is_empty() => {
                let index = draw.below(self.answering.len() as u64) as usize;
                let permit = self.answering.swap_remove(index);
                assert_eq!(permit.lane(), self.model.answering.swap_remove(index));
                self.permits
                    .release_refusal(permit)
                    .expect("a permit of these permits");
            }
            9 if draw.below(8) == 0 => self.now = self.now.saturating_sub(draw.below(1_000_000)),
            _ => self.now = self.now.saturating_add(draw.below(100_000_000)),
        }
        self.check();
    }

    fn check(&self) {
        let evidence = self.permits.evidence();
        for (lane, real) in evidence.lanes.iter() {
            assert_eq!(real.counters, self.model.counters[lane], "{lane:?}");
            assert_eq!(real.in_use, self.model.held(lane), "{lane:?}");
            assert_eq!(real.limit, self.model.ceiling(lane), "{lane:?}");
            assert_eq!(
                self.permits.can_admit(lane),
                self.model.has_room(lane),
                "{lane:?}"
            );
            let answering = self
                .model
                .answering
                .iter()
                .filter(|other| **other == lane)
                .count();
            assert_eq!(real.refusals_in_use, answering as u64, "{lane:?}");
        }
        assert_eq!(evidence.in_use, self.held.len() as u64);
        assert_eq!(evidence.high_water, self.model.high_water);
        assert!(evidence.in_use <= evidence.limit);
        assert!(evidence.release_balanced());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn permits_agree_with_the_model(
        seed in any::<u64>(),
        words in proptest::collection::vec(any::<u64>(), 1..=2_000),
    ) {
        let issuer = Issuer::new();
        let profile = profiles::random(seed);
        let mut driver = Driver {
            permits: ConnectionPermits::new(&profile, &issuer).unwrap(),
            model: Model::new(&profile),
            held: Vec::new(),
            answering: Vec::new(),
            now: 0,
        };
        for word in words {
            driver.step(word);
        }
        for permit in driver.held.drain(..) {
            driver.permits.release(permit).expect("a permit of these permits");
        }
        for permit in driver.answering.drain(..) {
            driver.permits.release_refusal(permit).expect("a permit of these permits");
        }
        let evidence = driver.permits.evidence();
        assert_eq!(evidence.in_use, 0);
        assert!(evidence.release_balanced());
        assert!(evidence.lanes.iter().all(|(_, lane)| lane.refusals_in_use == 0));
    }
}
