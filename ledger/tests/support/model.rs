//! The reference model of the ledger: plain, slow, obviously correct. It keeps a list of
//! reservations and works every figure out of that list each time it is asked. Rates are
//! fractions, the arbiter is textbook start-time fair queueing with tags.

use ingress_ledger::{
    IngressOverload, Lane, LaneCounters, Occupancy, PerLane, RatePolicy, Resource, Span,
    ValidatedProfile,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    Waiting,
    Expired,
    Serving,
}

#[derive(Clone, Debug)]
pub struct Admitted {
    pub id: u64,
    pub lane: Lane,
    pub connection: usize,
    pub bytes: u64,
    pub deadline: u64,
    pub doing: Doing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Expired(u64),
    FromReserve(u64),
    FromGeneral(u64),
}

/// A fraction of a token is counted in billionths.
#[derive(Clone, Debug)]
struct Bucket {
    billionths: u128,
    at: u64,
}

pub struct Model {
    profile: ValidatedProfile,
    pub list: Vec<Admitted>,
    pub counters: PerLane<LaneCounters>,
    pub slots_high_water: u64,
    pub bytes_high_water: u64,
    pub latest: u64,
    next_id: u64,
    buckets: PerLane<Bucket>,
    virtual_time: u64,
    finish: PerLane<u64>,
    /// Start tag of a lane's head, from when it began to compete for the general pool.
    start: PerLane<Option<u64>>,
    last_choice: PerLane<u64>,
    choices: u64,
}

impl Model {
    pub fn new(profile: &ValidatedProfile) -> Self {
        Model {
            list: Vec::new(),
            counters: PerLane::default(),
            slots_high_water: 0,
            bytes_high_water: 0,
            latest: 0,
            next_id: 0,
            buckets: PerLane::from_fn(|lane| Bucket {
                billionths: match profile.lane(lane).request_rate {
                    RatePolicy::Budget(budget) => u128::from(budget.burst) * 1_000_000_000,
                    _ => 0,
                },
                at: 0,
            }),
            virtual_time: 0,
            finish: PerLane::all(0),
            start: PerLane::all(None),
            last_choice: PerLane::from_fn(|lane| lane as u64),
            choices: 10,
            profile: profile.clone(),
        }
    }

    fn count(&self, what: impl Fn(&Admitted) -> bool) -> u64 {
        self.list.iter().filter(|admitted| what(admitted)).count() as u64
    }

    pub fn serving(&self, lane: Lane) -> u64 {
        self.count(|a| a.lane == lane && a.doing == Doing::Serving)
    }

    pub fn waiting(&self, lane: Lane) -> u64 {
        self.count(|a| a.lane == lane && a.doing != Doing::Serving)
    }

    pub fn bytes(&self, lane: Lane) -> u64 {
        self.list
            .iter()
            .filter(|a| a.lane == lane)
            .map(|a| a.bytes)
            .sum()
    }

    fn slot_reserve(&self, lane: Lane) -> u64 {
        self.profile.lane(lane).slot_reserve.count().into()
    }

    pub fn slot_ceiling(&self, lane: Lane) -> u64 {
        if !self.profile.is_enabled(lane) {
            return 0;
        }
        let most = self.slot_reserve(lane) + self.general_pool();
        most.min(self.profile.lane(lane).slots.count().into())
    }

    pub fn general_pool(&self) -> u64 {
        let reserved: u64 = Lane::ALL.map(|lane| self.slot_reserve(lane)).iter().sum();
        u64::from(self.profile.limits().slots.count()) - reserved
    }

    pub fn general_used(&self) -> u64 {
        Lane::ALL
            .map(|lane| self.serving(lane).saturating_sub(self.slot_reserve(lane)))
            .iter()
            .sum()
    }

    fn head(&self, lane: Lane) -> Option<&Admitted> {
        self.list
            .iter()
            .find(|a| a.lane == lane && a.doing == Doing::Waiting)
    }

    fn has_free_reserve(&self, lane: Lane) -> bool {
        self.serving(lane) < self.slot_reserve(lane)
    }

    /// Whether a ticket of the lane waits for a slot of the general pool.
    pub fn competes(&self, lane: Lane) -> bool {
        self.head(lane).is_some()
            && !self.has_free_reserve(lane)
            && self.serving(lane) < self.slot_ceiling(lane)
    }

    /// Gives each lane that has begun to compete its start tag.
    fn tag(&mut self) {
        for lane in Lane::ALL {
            let tag = self.start[lane].unwrap_or(self.virtual_time.max(self.finish[lane]));
            self.start[lane] = self.competes(lane).then_some(tag);
        }
    }

    fn general_choice(&mut self, lane: Lane) {
        let tag = self.start[lane]
            .take()
            .unwrap_or(self.virtual_time.max(self.finish[lane]));
        self.virtual_time = tag;
        self.finish[lane] = tag + 1;
        self.choices += 1;
        self.last_choice[lane] = self.choices;
    }

    fn observe(&mut self, now: u64) -> u64 {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn bucket_at(&self, lane: Lane, now: u64) -> Option<(u128, u32)> {
        let RatePolicy::Budget(budget) = self.profile.lane(lane).request_rate else {
            return None;
        };
        let elapsed = u128::from(now.saturating_sub(self.buckets[lane].at));
        let refilled = self.buckets[lane].billionths + elapsed * u128::from(budget.per_second);
        Some((
            refilled.min(u128::from(budget.burst) * 1_000_000_000),
            budget.per_second,
        ))
    }

    fn rate_check(&self, lane: Lane, now: u64) -> Result<(), IngressOverload> {
        match self.bucket_at(lane, now) {
            Some((billionths, per_second)) if billionths < 1_000_000_000 => {
                let missing = (1_000_000_000 - billionths) as u64;
                let ready_in = Span::from_nanos(missing.div_ceil(per_second.into()));
                Err(IngressOverload::RateLimited { ready_in })
            }
            _ => Ok(()),
        }
    }

    fn take_token(&mut self, lane: Lane, now: u64) {
        if let Some((billionths, _)) = self.bucket_at(lane, now) {
            self.buckets[lane] = Bucket {
                billionths: billionths - 1_000_000_000,
                at: now,
            };
        }
    }

    pub fn charge_denial(&mut self, lane: Lane, now: Option<u64>) -> Result<(), IngressOverload> {
        let paid = now.ok_or(IngressOverload::ClockLost).and_then(|now| {
            let now = self.observe(now);
            self.rate_check(lane, now)
                .map(|()| self.take_token(lane, now))
        });
        match paid {
            Ok(()) => self.counters[lane].denials += 1,
            Err(_) => self.counters[lane].denials_unpaid += 1,
        }
        paid
    }

    fn byte_check(&self, lane: Lane, bytes: u64) -> Result<(), IngressOverload> {
        let reserve =
            |lane: Lane| self.slot_reserve(lane) * self.profile.lane(lane).footprint.count();
        let general = self.profile.limits().bytes_in_flight.count()
            - Lane::ALL.map(reserve).iter().sum::<u64>();
        let excess =
            |lane: Lane, more: u64| (self.bytes(lane) + more).saturating_sub(reserve(lane));
        let used: u64 = Lane::ALL.map(|lane| excess(lane, 0)).iter().sum();
        let after: u64 = Lane::ALL
            .map(|other| excess(other, if other == lane { bytes } else { 0 }))
            .iter()
            .sum();
        // A lane that alone would outgrow its own and the general bytes is told its own.
        if self.bytes(lane) + bytes > reserve(lane) + general {
            let occupancy = Occupancy {
                in_use: self.bytes(lane),
                limit: reserve(lane) + general,
            };
            return Err(IngressOverload::ByteBudgetExhausted(occupancy));
        }
        if after > general {
            let occupancy = Occupancy {
                in_use: used,
                limit: general,
            };
            return Err(IngressOverload::ByteBudgetExhausted(occupancy));
        }
        Ok(())
    }

    /// The id and whether it holds a slot, or the overload.
    pub fn request(
        &mut self,
        lane: Lane,
        connection: usize,
        bytes: u64,
        deadline: u64,
        now: Option<u64>,
    ) -> Result<(u64, bool), IngressOverload> {
        let outcome = self.admit(lane, connection, bytes, deadline, now);
        if let Err(overload) = &outcome {
            self.counters[lane].overloads[overload.kind()] += 1;
        }
        outcome
    }

    /// Whether a request would be served at once; else it would wait.
    fn place(&self, lane: Lane) -> Result<bool, IngressOverload> {
        let lane_full = self.serving(lane) >= self.slot_ceiling(lane);
        let general_full =
            !self.has_free_reserve(lane) && self.general_used() >= self.general_pool();
        let behind_somebody = self.head(lane).is_some()
            || (!self.has_free_reserve(lane)
                && Lane::ALL.iter().any(|other| self.competes(*other)));
        let serve = !lane_full && !general_full && !behind_somebody;
        if !serve
            && (!self.profile.is_enabled(lane)
                || self.waiting(lane) >= self.profile.lane(lane).queue.count().into())
        {
            // A queue that this lane has filled is its own doing, unless no slot falls free
            // that its tickets could have.
            let own_queue_full = self.profile.lane(lane).queue.count() > 0;
            return Err(if lane_full || (!general_full && own_queue_full) {
                let limit = self.slot_ceiling(lane);
                IngressOverload::LanePoolFull(Occupancy {
                    in_use: self.serving(lane),
                    limit,
                })
            } else {
                let limit = self.general_pool();
                IngressOverload::AggregateFull(Occupancy {
                    in_use: self.general_used(),
                    limit,
                })
            });
        }
        Ok(serve)
    }

    fn admit(
        &mut self,
        lane: Lane,
        connection: usize,
        bytes: u64,
        deadline: u64,
        now: Option<u64>,
    ) -> Result<(u64, bool), IngressOverload> {
        let now = self.observe(now.ok_or(IngressOverload::ClockLost)?);
        if deadline <= now {
            return Err(IngressOverload::DeadlineExceeded);
        }
        self.rate_check(lane, now)?;
        let enabled = self.profile.is_enabled(lane);
        let rules = *self.profile.lane(lane);
        let mine = self.count(|a| a.connection == connection);
        if enabled && mine >= rules.per_connection.count().into() {
            let limit = rules.per_connection.count().into();
            return Err(IngressOverload::PerConnectionLimit(Occupancy {
                in_use: mine,
                limit,
            }));
        }
        let serve = self.place(lane)?;
        if bytes > rules.footprint.count() {
            let limit = rules.footprint.count();
            return Err(IngressOverload::ByteBudgetExhausted(Occupancy {
                in_use: bytes,
                limit,
            }));
        }
        self.byte_check(lane, bytes)?;

        self.take_token(lane, now);
        if serve && !self.has_free_reserve(lane) {
            self.general_choice(lane);
        }
        let id = self.next_id;
        self.next_id += 1;
        self.list.push(Admitted {
            id,
            lane,
            connection,
            bytes,
            deadline: deadline.min(now.saturating_add(rules.deadline.as_nanos())),
            doing: if serve {
                Doing::Serving
            } else {
                Doing::Waiting
            },
        });
        self.counters[lane].admitted += 1;
        self.note();
        Ok((id, serve))
    }

    pub fn select_next(&mut self, now: u64) -> Option<Choice> {
        let now = self.observe(now);
        let choice = self.choose(now)?;
        let (id, doing) = match choice {
            Choice::Expired(id) => (id, Doing::Expired),
            Choice::FromReserve(id) | Choice::FromGeneral(id) => (id, Doing::Serving),
        };
        let index = self.list.iter().position(|a| a.id == id)?;
        let lane = self.list[index].lane;
        self.list[index].doing = doing;
        match choice {
            Choice::Expired(_) => self.counters[lane].expired += 1,
            Choice::FromReserve(_) => {}
            Choice::FromGeneral(_) => self.general_choice(lane),
        }
        self.note();
        Some(choice)
    }

    fn choose(&self, now: u64) -> Option<Choice> {
        let heads = || Lane::ALL.into_iter().filter_map(|lane| self.head(lane));
        if let Some(late) = heads().find(|head| head.deadline <= now) {
            return Some(Choice::Expired(late.id));
        }
        if let Some(head) = heads().find(|head| self.has_free_reserve(head.lane)) {
            return Some(Choice::FromReserve(head.id));
        }
        if self.general_used() >= self.general_pool() {
            return None;
        }
        // Least start tag; of equal ones, the lane that was chosen longest ago.
        let lane = Lane::ALL
            .into_iter()
            .filter(|lane| self.competes(*lane))
            .min_by_key(|lane| (self.start[*lane], self.last_choice[*lane]))?;
        Some(Choice::FromGeneral(self.head(lane)?.id))
    }

    pub fn end(&mut self, id: u64, completed: bool) {
        let index = self
            .list
            .iter()
            .position(|a| a.id == id)
            .expect("it was admitted");
        let gone = self.list.remove(index);
        if completed {
            self.counters[gone.lane].completed += 1;
        } else {
            self.counters[gone.lane].cancelled += 1;
        }
        self.note();
    }

    pub fn next_expiry(&self) -> Option<u64> {
        Lane::ALL
            .into_iter()
            .filter_map(|lane| self.head(lane))
            .map(|head| head.deadline)
            .min()
    }

    /// After each change: tags, and high-water marks.
    fn note(&mut self) {
        self.tag();
        for lane in Lane::ALL {
            let (serving, waiting) = (self.serving(lane), self.waiting(lane));
            let counters = &mut self.counters[lane];
            counters.slots_high_water = counters.slots_high_water.max(serving);
            counters.waiting_high_water = counters.waiting_high_water.max(waiting);
        }
        let slots = self.count(|a| a.doing == Doing::Serving);
        self.slots_high_water = self.slots_high_water.max(slots);
        let bytes = self.list.iter().map(|a| a.bytes).sum();
        self.bytes_high_water = self.bytes_high_water.max(bytes);
    }

    /// Whether the profile's partition agrees with the model's arithmetic.
    pub fn agrees_on_ceilings(&self) -> bool {
        Lane::ALL
            .into_iter()
            .all(|lane| self.profile.ceiling(lane, Resource::Slots) == self.slot_ceiling(lane))
            && self.profile.general_pool(Resource::Slots) == self.general_pool()
    }
}
