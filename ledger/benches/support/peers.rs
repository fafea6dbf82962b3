//! The same jobs with `tokio::sync::Semaphore` and `governor`: a semaphore for a lane's
//! reserve, one for the general pool, one for the bytes, one a connection, and a limiter for
//! the rate. Not every guarantee is the same: these permits know no deadline, no ledger and
//! no lane, and their queue is one for all.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use governor::clock::FakeRelativeClock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::profiles::Shape;

const BYTES: u32 = 8_192;

type Limiter = RateLimiter<NotKeyed, InMemoryState, FakeRelativeClock, NoOpMiddleware<Nanos>>;

/// One lane's admission.
pub(crate) struct Peer {
    reserve: Arc<Semaphore>,
    general: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    rate: Limiter,
}

/// What an admitted request holds.
#[expect(dead_code, reason = "held to be dropped")]
pub(crate) struct Admission {
    slot: OwnedSemaphorePermit,
    connection: OwnedSemaphorePermit,
    bytes: OwnedSemaphorePermit,
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
        Peer {
            reserve: Arc::new(Semaphore::new(8)),
            general: Arc::new(Semaphore::new(80)),
            bytes: Arc::new(Semaphore::new(bytes)),
            rate: RateLimiter::direct_with_clock(quota, FakeRelativeClock::default()),
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
        Arc::new(Semaphore::new(8))
    }

    /// Holds what makes the next admission be refused.
    pub(crate) fn occupy(&self, name: &str, connection: &Arc<Semaphore>) -> Vec<Admission> {
        let mut held = Vec::new();
        loop {
            let own = if name == "per_connection_limit" {
                Arc::clone(connection)
            } else {
                self.connection()
            };
            match self.admit(&own, BYTES) {
                Some(admission) => held.push(admission),
                None => return held,
            }
        }
    }

    /// Rate, connection, lane, general pool, bytes: the order of the ledger.
    pub(crate) fn admit(&self, connection: &Arc<Semaphore>, bytes: u32) -> Option<Admission> {
        self.rate.check().ok()?;
        let connection = Arc::clone(connection).try_acquire_owned().ok()?;
        let slot = Arc::clone(&self.reserve)
            .try_acquire_owned()
            .or_else(|_| Arc::clone(&self.general).try_acquire_owned())
            .ok()?;
        let bytes = Arc::clone(&self.bytes).try_acquire_many_owned(bytes).ok()?;
        Some(Admission {
            slot,
            connection,
            bytes,
        })
    }

    /// A connection permit: rate, reserve or general pool.
    pub(crate) fn accept(&self) -> Option<OwnedSemaphorePermit> {
        self.rate.check().ok()?;
        Arc::clone(&self.reserve)
            .try_acquire_owned()
            .or_else(|_| Arc::clone(&self.general).try_acquire_owned())
            .ok()
    }
}

type Waiting = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>>>>;

/// A semaphore with a queue: permits held, and futures that wait.
pub(crate) struct Queue {
    slots: Arc<Semaphore>,
    serving: VecDeque<OwnedSemaphorePermit>,
    waiting: VecDeque<Waiting>,
}

impl Queue {
    pub(crate) fn new(slots: usize, waiting: usize) -> Self {
        let mut queue = Queue {
            slots: Arc::new(Semaphore::new(slots)),
            serving: VecDeque::new(),
            waiting: VecDeque::new(),
        };
        for _ in 0..slots {
            let permit = Arc::clone(&queue.slots).try_acquire_owned();
            queue
                .serving
                .push_back(permit.expect("as many as there are"));
        }
        for _ in 0..waiting {
            queue.wait();
        }
        queue
    }

    fn wait(&mut self) {
        let mut waiting: Waiting = Box::pin(Arc::clone(&self.slots).acquire_owned());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        self.waiting.push_back(waiting);
    }

    /// One served ends, the first that waits is served, one more waits.
    pub(crate) fn turn(&mut self) {
        drop(self.serving.pop_front());
        let mut context = Context::from_waker(Waker::noop());
        let mut first = self.waiting.pop_front().expect("some wait");
        match first.as_mut().poll(&mut context) {
            Poll::Ready(Ok(permit)) => self.serving.push_back(permit),
            _ => panic!("the first is next"),
        }
        self.wait();
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
