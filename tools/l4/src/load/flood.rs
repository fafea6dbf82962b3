//! Many connections that send the same request over and over, from a few threads.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::http::{Ending, Tally, Wire};
use crate::load::background::{Background, Stop};
use crate::load::quantiles::Quantiles;

/// Whether a connection carries one request or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// A connection per request.
    Never,
    /// Keep-alive, until the server closes.
    KeepAlive,
}

#[derive(Clone, Debug)]
pub(crate) struct Flood {
    pub(crate) address: SocketAddr,
    /// The request's exact bytes.
    pub(crate) request: Vec<u8>,
    /// Clients at the same time, a thread each.
    pub(crate) clients: usize,
    pub(crate) requests_each: usize,
    pub(crate) reuse: Reuse,
    /// No request is started after this.
    pub(crate) time_max: Duration,
    /// How long a client that is not served waits before it asks again: one that comes at once
    /// counts the same moment many times.
    pub(crate) pause: Duration,
}

/// The longest that a flood may take which ends by itself: a busy host may be slow at it.
const TIME_MAX: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, Default)]
pub(crate) struct Flooded {
    pub(crate) tally: Tally,
    /// Latencies of the answered requests.
    pub(crate) latencies: Quantiles,
    pub(crate) took: Duration,
}

impl Flood {
    /// A flood of `GET target` with a few usual bounds.
    pub(crate) fn of(address: SocketAddr, request: Vec<u8>, clients: usize, each: usize) -> Self {
        Self {
            address,
            request,
            clients,
            requests_each: each,
            reuse: Reuse::Never,
            time_max: TIME_MAX,
            pause: Duration::ZERO,
        }
    }

    pub(crate) fn run(&self) -> Flooded {
        self.until(&Stop::default())
    }

    pub(crate) fn start(self) -> Background<Flooded> {
        Background::start(move |stop| self.until(stop))
    }

    /// Carries it through, or on until it is told to stop.
    fn until(&self, stop: &Stop) -> Flooded {
        let started = Instant::now();
        let clients: Vec<(Tally, Vec<Duration>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.clients)
                .map(|_| scope.spawn(|| self.client(started, stop)))
                .collect();
            threads
                .into_iter()
                .filter_map(|thread| thread.join().ok())
                .collect()
        });
        let mut tally = Tally::default();
        let mut latencies = Vec::new();
        for (counts, mut times) in clients {
            tally.add(&counts);
            latencies.append(&mut times);
        }
        Flooded {
            tally,
            latencies: Quantiles::of(latencies),
            took: started.elapsed(),
        }
    }

    fn client(&self, started: Instant, stop: &Stop) -> (Tally, Vec<Duration>) {
        let mut tally = Tally::default();
        let mut latencies = Vec::new();
        let mut open: Option<Wire> = None;
        for _ in 0..self.requests_each {
            if stop.is_told() || started.elapsed() > self.time_max {
                break;
            }
            let begun = Instant::now();
            let wire = match open.take() {
                Some(wire) => Ok(wire),
                None => Wire::connect(self.address),
            };
            let outcome = wire.and_then(|mut wire| {
                wire.send(&self.request)?;
                let response = wire.response(&self.request)?;
                Ok((response, wire))
            });
            if outcome.as_ref().map_or(true, |(one, _)| one.status != 200) {
                std::thread::sleep(self.pause);
            }
            match outcome {
                Ok((response, wire)) => {
                    latencies.push(begun.elapsed());
                    if self.reuse == Reuse::KeepAlive && !response.closes() {
                        open = Some(wire);
                    }
                    tally.count(&Ok(response));
                }
                Err(ending) => tally.count(&Err::<_, Ending>(ending)),
            }
        }
        (tally, latencies)
    }
}
