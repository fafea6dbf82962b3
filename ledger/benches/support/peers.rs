//! The same jobs with `tokio::sync::Semaphore` and `governor`, as a service would write them:
//! a semaphore for a lane's reserve, one for the general pool, one for the bytes, one a
//! connection, a limiter for the rate, and around them the deadline, a typed refusal with the
//! figures of an answer, and its counter. What the ledger does beside that is left out in the
//! peers' favour: marks of the most held, tokens that know their ledger, fair turns between
//! lanes, tickets that expire. Their counters are plain cells, though their permits are made
//! for threads.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use governor::clock::{Clock, FakeRelativeClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use ingress_ledger::Instant;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError};

use super::profiles::Shape;

const BYTES: u32 = 8_192;
const PER_CONNECTION: usize = 8;
const RESERVE: usize = 8;
const GENERAL: usize = 80;

type Limiter = RateLimiter<NotKeyed, InMemoryState, FakeRelativeClock, NoOpMiddleware<Nanos>>;

/// Why a request is refused, with the figures of its answer.
#[derive(Debug)]
#[expect(dead_code, reason = "made to be looked at by nobody")]
pub(crate) enum Refused {
    Late,
    Rate { ready_in: Duration },
    Connection { in_use: usize, limit: usize },
    Slots { in_use: usize, limit: usize },
    Bytes { in_use: usize, limit: usize },
}

/// What happened, a count each.
#[derive(Default)]
struct Counts {
    admitted: Cell<u64>,
    completed: Cell<u64>,
    late: Cell<u64>,
    rate: Cell<u64>,
    connection: Cell<u64>,
    slots: Cell<u64>,
    bytes: Cell<u64>,
}

fn bump(count: &Cell<u64>) {
    count.set(count.get().wrapping_add(1));
}

/// One lane's admission.
pub(crate) struct Peer {
    reserve: Arc<Semaphore>,
    general: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    bytes_limit: usize,
    clock: FakeRelativeClock,
    rate: Limiter,
    counts: Counts,
}

/// What a request holds beside its slot.
#[expect(dead_code, reason = "held to be dropped")]
pub(crate) struct Charged {
    connection: OwnedSemaphorePermit,
    bytes: OwnedSemaphorePermit,
}

/// What an admitted request holds.
#[expect(dead_code, reason = "held to be dropped")]
pub(crate) struct Admission {
    slot: OwnedSemaphorePermit,
    charged: Charged,
}

impl Peer {
    pub(crate) fn new(shape: Shape) -> Self {
        let burst = if shape == Shape::RateSpent {
            NonZeroU32::MIN
        } else {
            NonZeroU32::MAX
        };
        let quota = Quota::per_second(NonZeroU32::MAX).allow_burst(burst);
        let requests: usize = if shape == Shape::FewBytes { 24 } else { 512 };
        let bytes = requests.saturating_mul(BYTES as usize);
        let clock = FakeRelativeClock::default();
        Peer {
            reserve: Arc::new(Semaphore::new(RESERVE)),
            general: Arc::new(Semaphore::new(GENERAL)),
            bytes: Arc::new(Semaphore::new(bytes)),
            bytes_limit: bytes,
            rate: RateLimiter::direct_with_clock(quota, clock.clone()),
            clock,
            counts: Counts::default(),
        }
    }

    /// The peer that will refuse for the same reason, where it knows that reason.
    pub(crate) fn refusing(name: &str) -> Option<Self> {
        match name {
            "rate_limited" => Some(Peer::new(Shape::RateSpent)),
            "per_connection_limit" | "lane_pool_full" | "aggregate_full" => {
                Some(Peer::new(Shape::Roomy))
            }
            "byte_budget_exhausted" => Some(Peer::new(Shape::FewBytes)),
            _ => None,
        }
    }

    /// A connection's own bound.
    pub(crate) fn connection(&self) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(PER_CONNECTION))
    }

    /// Holds what makes the next admission be refused.
    pub(crate) fn occupy(
        &self,
        name: &str,
        connection: &Arc<Semaphore>,
        now: Instant,
    ) -> Vec<Admission> {
        let mut held = Vec::new();
        loop {
            let own = if name == "per_connection_limit" {
                Arc::clone(connection)
            } else {
                self.connection()
            };
            match self.admit(&own, BYTES, Instant::MAX, now) {
                Ok(admission) => held.push(admission),
                Err(_) => return held,
            }
        }
    }

    /// Deadline, rate, connection, lane, general pool, bytes: the order of the ledger.
    pub(crate) fn admit(
        &self,
        connection: &Arc<Semaphore>,
        bytes: u32,
        deadline: Instant,
        now: Instant,
    ) -> Result<Admission, Refused> {
        self.check_time(deadline, now)?;
        let connection = self.connect(connection)?;
        let Ok(slot) = Self::either(&self.reserve, &self.general) else {
            bump(&self.counts.slots);
            return Err(Refused::Slots {
                in_use: GENERAL.saturating_sub(self.general.available_permits()),
                limit: GENERAL,
            });
        };
        let charged = self.charge(connection, bytes)?;
        Ok(Admission { slot, charged })
    }

    /// The checks of a request that waits for its slot.
    fn queue(
        &self,
        connection: &Arc<Semaphore>,
        deadline: Instant,
        now: Instant,
    ) -> Result<Charged, Refused> {
        self.check_time(deadline, now)?;
        self.charge(self.connect(connection)?, BYTES)
    }

    fn check_time(&self, deadline: Instant, now: Instant) -> Result<(), Refused> {
        if deadline <= now {
            bump(&self.counts.late);
            return Err(Refused::Late);
        }
        self.rate.check().map_err(|not_until| {
            bump(&self.counts.rate);
            let ready_in = not_until.wait_time_from(self.clock.now());
            Refused::Rate { ready_in }
        })
    }

    fn connect(&self, connection: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Refused> {
        Arc::clone(connection).try_acquire_owned().map_err(|_| {
            bump(&self.counts.connection);
            Refused::Connection {
                in_use: PER_CONNECTION.saturating_sub(connection.available_permits()),
                limit: PER_CONNECTION,
            }
        })
    }

    fn charge(&self, connection: OwnedSemaphorePermit, bytes: u32) -> Result<Charged, Refused> {
        let Ok(bytes) = Arc::clone(&self.bytes).try_acquire_many_owned(bytes) else {
            bump(&self.counts.bytes);
            return Err(Refused::Bytes {
                in_use: self
                    .bytes_limit
                    .saturating_sub(self.bytes.available_permits()),
                limit: self.bytes_limit,
            });
        };
        bump(&self.counts.admitted);
        Ok(Charged { connection, bytes })
    }

    /// Ends a request.
    pub(crate) fn complete<T>(&self, held: T) {
        bump(&self.counts.completed);
        drop(held);
    }

    /// A connection permit: rate, reserve or general pool.
    pub(crate) fn accept(&self, now: Instant) -> Result<OwnedSemaphorePermit, Refused> {
        self.check_time(Instant::MAX, now)?;
        match Self::either(&self.reserve, &self.general) {
            Ok(permit) => {
                bump(&self.counts.admitted);
                Ok(permit)
            }
            Err(_) => {
                bump(&self.counts.slots);
                Err(Refused::Slots {
                    in_use: GENERAL.saturating_sub(self.general.available_permits()),
                    limit: GENERAL,
                })
            }
        }
    }

    fn either(
        reserve: &Arc<Semaphore>,
        general: &Arc<Semaphore>,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        Arc::clone(reserve)
            .try_acquire_owned()
            .or_else(|_| Arc::clone(general).try_acquire_owned())
    }

    /// The limiter alone, as it comes.
    pub(crate) fn check_rate_alone(&self) -> bool {
        self.rate.check().is_ok()
    }
}

type Waiting = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>>>>;

/// A semaphore with a queue: requests served, and futures of those that wait. Each request
/// has a connection of its own.
pub(crate) struct Queue {
    peer: Peer,
    now: Instant,
    slots: Arc<Semaphore>,
    serving: VecDeque<(OwnedSemaphorePermit, Charged, Arc<Semaphore>)>,
    waiting: VecDeque<(Waiting, Charged, Arc<Semaphore>)>,
}

impl Queue {
    pub(crate) fn new(slots: usize, waiting: usize, now: Instant) -> Self {
        let mut queue = Queue {
            peer: Peer::new(Shape::Roomy),
            now,
            slots: Arc::new(Semaphore::new(slots)),
            serving: VecDeque::new(),
            waiting: VecDeque::new(),
        };
        for _ in 0..slots {
            let connection = queue.peer.connection();
            let charged = queue.peer.queue(&connection, Instant::MAX, now);
            let permit = Arc::clone(&queue.slots).try_acquire_owned();
            queue.serving.push_back((
                permit.expect("as many as there are"),
                charged.expect("room"),
                connection,
            ));
        }
        for _ in 0..waiting {
            let connection = queue.peer.connection();
            queue.wait(connection);
        }
        queue
    }

    fn wait(&mut self, connection: Arc<Semaphore>) {
        let charged = self.peer.queue(&connection, Instant::MAX, self.now);
        let mut waiting: Waiting = Box::pin(Arc::clone(&self.slots).acquire_owned());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        self.waiting
            .push_back((waiting, charged.expect("room"), connection));
    }

    /// One served ends, the first that waits is served, one more waits.
    pub(crate) fn turn(&mut self) {
        let (slot, charged, connection) = self.serving.pop_front().expect("some are served");
        self.peer.complete((slot, charged));
        let mut context = Context::from_waker(Waker::noop());
        let (mut first, charged, own) = self.waiting.pop_front().expect("some wait");
        match first.as_mut().poll(&mut context) {
            Poll::Ready(Ok(permit)) => self.serving.push_back((permit, charged, own)),
            _ => panic!("the first is next"),
        }
        self.wait(connection);
    }
}

/// A semaphore an identity, behind one lock.
pub(crate) struct PerIdentity {
    semaphores: Mutex<HashMap<u64, Arc<Semaphore>>>,
}

impl PerIdentity {
    pub(crate) fn new(identities: u64) -> Self {
        let semaphores = (0..identities)
            .map(|identity| (identity, Arc::new(Semaphore::new(256))))
            .collect();
        PerIdentity {
            semaphores: Mutex::new(semaphores),
        }
    }

    pub(crate) fn open(&self, identity: u64) -> Option<OwnedSemaphorePermit> {
        let semaphore = {
            let mut semaphores = self.semaphores.lock().ok()?;
            let new = || Arc::new(Semaphore::new(256));
            Arc::clone(semaphores.entry(identity).or_insert_with(new))
        };
        semaphore.try_acquire_owned().ok()
    }
}
