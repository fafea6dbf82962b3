//! A public flood beside a provider's probe and a local client, in virtual time.
//!
//! Sixteen slots, two of them reserved for each protected lane. From second 1 to second 4
//! the public lane is asked for eight times what it can serve; from second 2 to second 3 the
//! local lane is flooded too, past its rate. Run it and watch who gets what:
//!
//! ```sh
//! cargo run --release -p ingress-ledger --example flood
//! ```

use ingress_ledger::{
    Bytes, ConnectionUse, Connections, IngressFootprint, IngressLedger, IngressProfile,
    IngressReservation, Instant, Issuer, Lane, LaneLimits, LanePhases, Limits, Listener, Owner,
    PerLane, RateBudget, RatePolicy, Requests, Selected, Slots, Span, Status, Tickets,
};

const FOOTPRINT: Bytes = Bytes::new(4_096);
const ROW_MS: u64 = 250;
const END_MS: u64 = 5_000;

/// What a lane is asked for and what it costs to serve.
struct Load {
    requests_per_second: fn(ms: u64) -> u64,
    service: Span,
}

fn load(lane: Lane) -> Load {
    match lane {
        Lane::Anonymous => Load {
            requests_per_second: |ms| {
                if (1_000..4_000).contains(&ms) {
                    5_000
                } else {
                    200
                }
            },
            service: Span::from_millis(20),
        },
        Lane::LocalHealth => Load {
            requests_per_second: |ms| {
                if (2_000..3_000).contains(&ms) {
                    1_000
                } else {
                    10
                }
            },
            service: Span::from_millis(5),
        },
        Lane::ProviderHealth => Load {
            requests_per_second: |_| 10,
            service: Span::from_millis(2),
        },
    }
}

fn profile() -> IngressProfile {
    let protected = LaneLimits {
        slots: Slots::new(16),
        slot_reserve: Slots::new(2),
        queue: Tickets::new(8),
        connections: Connections::new(64),
        connection_reserve: Connections::new(8),
        refusals: Connections::new(4),
        per_connection: Requests::new(4),
        footprint: FOOTPRINT,
        deadline: Span::from_millis(500),
        phases: LanePhases {
            head: Span::from_secs(1),
            body: Span::from_secs(1),
            write: Span::from_secs(1),
            idle: Span::from_secs(1),
        },
        request_rate: RatePolicy::Budget(RateBudget {
            burst: 20,
            per_second: 50,
        }),
        accept_rate: RatePolicy::Budget(RateBudget {
            burst: 20,
            per_second: 50,
        }),
    };
    let public = LaneLimits {
        slot_reserve: Slots::ZERO,
        queue: Tickets::new(32),
        connection_reserve: Connections::ZERO,
        request_rate: RatePolicy::Unmetered,
        accept_rate: RatePolicy::Unmetered,
        ..protected
    };
    IngressProfile {
        limits: Limits {
            slots: Slots::new(16),
            connections: Connections::new(64),
            bytes_in_flight: Bytes::new(64 * 4_096),
            refusal_deadline: Span::from_millis(500),
            lanes: PerLane([public, protected, protected]),
        },
        listeners: PerLane([Listener::Network, Listener::Loopback, Listener::Network]),
    }
}

/// An admitted request. A connection carries one.
struct Job<'a> {
    reservation: IngressReservation<'a>,
    connection: ConnectionUse,
    arrived: Instant,
    /// When it is served, once it holds a slot.
    done: Option<Instant>,
}

/// What a lane got, since the last row or in all.
#[derive(Clone, Copy, Default)]
struct Tally {
    asked: u64,
    served: u64,
    too_many: u64,
    unavailable: u64,
    worst: Span,
}

struct Simulation<'a> {
    ledger: IngressLedger<'a, 64>,
    jobs: Vec<Job<'a>>,
    tags: u32,
    row: PerLane<Tally>,
    total: PerLane<Tally>,
}

impl Simulation<'_> {
    /// One millisecond: what is done ends, what may be served is, what comes is admitted.
    fn step(&mut self, ms: u64) {
        let now = Instant::from_nanos(ms.saturating_mul(1_000_000));
        self.finish(now);
        for lane in Lane::ALL {
            let rate = (load(lane).requests_per_second)(ms);
            // Arrivals are spread evenly: as many by now as the rate says.
            let by = |ms: u64| ms.saturating_mul(rate) / 1_000;
            for _ in by(ms)..by(ms.saturating_add(1)) {
                self.arrive(lane, now);
            }
        }
        self.dispatch(now);
    }

    fn finish(&mut self, now: Instant) {
        let is_done = |job: &Job<'_>| job.done.is_some_and(|done| done <= now);
        while let Some(index) = self.jobs.iter().position(is_done) {
            let Job {
                reservation,
                mut connection,
                arrived,
                ..
            } = self.jobs.swap_remove(index);
            let lane = connection.lane();
            self.ledger
                .complete(reservation, &mut connection)
                .expect("this ledger's");
            self.count(lane, |tally| {
                tally.served = tally.served.saturating_add(1);
                tally.worst = tally.worst.max(now.since(arrived));
            });
            self.dispatch(now);
        }
    }

    fn arrive(&mut self, lane: Lane, now: Instant) {
        self.tags = self.tags.wrapping_add(1);
        let mut connection = ConnectionUse::new(lane, Owner(self.tags));
        let footprint = IngressFootprint::new(FOOTPRINT).expect("not zero");
        self.count(lane, |tally| tally.asked = tally.asked.saturating_add(1));
        match self
            .ledger
            .request(&mut connection, footprint, Instant::MAX, Some(now))
        {
            Ok(reservation) => {
                let served = now.after(load(lane).service);
                let done = self.ledger.holds_slot(&reservation).then_some(served);
                self.jobs.push(Job {
                    reservation,
                    connection,
                    arrived: now,
                    done,
                });
            }
            Err(overload) => self.refuse(lane, overload.status()),
        }
    }

    fn dispatch(&mut self, now: Instant) {
        while let Some(selected) = self.ledger.select_next(now) {
            let (Selected::Dispatched(chosen) | Selected::Expired(chosen)) = selected;
            let found = self
                .jobs
                .iter()
                .position(|job| job.connection.owner() == chosen.owner);
            let index = found.expect("each ticket is a job's");
            if matches!(selected, Selected::Expired(_)) {
                let Job {
                    reservation,
                    mut connection,
                    ..
                } = self.jobs.swap_remove(index);
                self.ledger
                    .cancel(reservation, &mut connection)
                    .expect("this ledger's");
                self.refuse(chosen.lane, Status::SERVICE_UNAVAILABLE);
            } else if let Some(job) = self.jobs.get_mut(index) {
                job.done = Some(now.after(load(chosen.lane).service));
            }
        }
    }

    fn refuse(&mut self, lane: Lane, status: Status) {
        self.count(lane, |tally| {
            let counter = match status {
                Status::TOO_MANY_REQUESTS => &mut tally.too_many,
                _ => &mut tally.unavailable,
            };
            *counter = counter.saturating_add(1);
        });
    }

    fn count(&mut self, lane: Lane, change: impl Fn(&mut Tally)) {
        change(&mut self.row[lane]);
        change(&mut self.total[lane]);
    }

    /// The slots as they are now, and what happened since the last row.
    fn print_row(&mut self, ms: u64) {
        let evidence = self.ledger.evidence();
        let mut slots = String::new();
        for (letter, lane) in [('A', Lane::Anonymous), ('L', Lane::LocalHealth)] {
            (0..evidence.lanes[lane].serving).for_each(|_| slots.push(letter));
        }
        (0..evidence.lanes[Lane::ProviderHealth].serving).for_each(|_| slots.push('P'));
        let [public, local, provider] = Lane::ALL.map(|lane| std::mem::take(&mut self.row[lane]));
        println!(
            "{:>4}.{:03} s |{slots:.<16}| {:>4} {:>5} {:<12}| {:>3} {:>4} | {:>3} {:>6} ms",
            ms / 1_000,
            ms % 1_000,
            public.served,
            public.too_many,
            "#".repeat(usize::try_from(public.too_many.div_ceil(100)).unwrap_or(0)),
            local.served,
            local.too_many,
            provider.served,
            provider.worst.as_millis(),
        );
    }

    fn print_totals(&self) {
        println!("\nlane             asked  served     429   503   slowest answer");
        for (lane, tally) in self.total.iter() {
            println!(
                "{:<15} {:>6} {:>7} {:>7} {:>5} {:>13} ms",
                lane.name(),
                tally.asked,
                tally.served,
                tally.too_many,
                tally.unavailable,
                tally.worst.as_millis(),
            );
        }
    }
}

fn main() {
    let issuer = Issuer::new();
    let profile = profile()
        .validate()
        .unwrap_or_else(|error| panic!("{error}"));
    let ledger = IngressLedger::new(&profile, &issuer).unwrap_or_else(|error| panic!("{error}"));
    let (row, total) = (PerLane::default(), PerLane::default());
    let mut simulation = Simulation {
        ledger,
        jobs: Vec::new(),
        tags: 0,
        row,
        total,
    };
    println!("slots: A anonymous, L local health, P provider health, . free\n");
    println!(
        "    time | slots          | public 200, 429     | local 200, 429 | provider 200, slowest"
    );
    for ms in 0..=END_MS {
        simulation.step(ms);
        if ms > 0 && ms % ROW_MS == 0 {
            simulation.print_row(ms);
        }
    }
    // Let what was admitted end, so that everything balances.
    for ms in END_MS..END_MS.saturating_add(1_000) {
        let now = Instant::from_nanos(ms.saturating_mul(1_000_000));
        simulation.finish(now);
        simulation.dispatch(now);
    }
    simulation.print_totals();
    let evidence = simulation.ledger.evidence();
    println!(
        "\nadmitted {} = completed {} + cancelled {}, outstanding {}, release_balanced {}",
        evidence.sum(|lane| lane.counters.admitted),
        evidence.sum(|lane| lane.counters.completed),
        evidence.sum(|lane| lane.counters.cancelled),
        evidence.outstanding(),
        evidence.release_balanced(),
    );
}
