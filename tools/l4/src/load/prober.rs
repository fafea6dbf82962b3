//! A provider's probe: one request at a fixed pace, on a connection of its own each time,
//! in a thread, while something else loads the guest.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::http::{self, Ending, Response, Tally};
use crate::load::background::Background;
use crate::load::quantiles::Quantiles;
use crate::machine::share::Shares;
use crate::record::{ProbeRow, Side};
use crate::session::Session;

/// The quantiles that are told.
const PERCENTS: [usize; 3] = [50, 90, 99];

/// One probe: when it was sent, how long it took, how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Since the prober was started.
    pub(crate) at: Duration,
    /// Until the answer was read or the attempt failed.
    pub(crate) took: Duration,
    /// Whether the answer was a 200.
    pub(crate) healthy: bool,
}

pub(crate) struct Prober(Background<Probed>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Probed {
    pub(crate) samples: Vec<Sample>,
    pub(crate) tally: Tally,
}

impl Prober {
    /// Starts probing `address` every `pace`, at least once.
    pub(crate) fn start(address: SocketAddr, pace: Duration) -> Self {
        Self(Background::start(move |stop| {
            let started = Instant::now();
            let request = http::once("GET", "/healthz");
            let mut samples = Vec::new();
            let mut tally = Tally::default();
            loop {
                let begun = Instant::now();
                let outcome: Result<Response, Ending> = http::exchange(address, &request);
                let took = begun.elapsed();
                samples.push(Sample {
                    at: begun.duration_since(started),
                    took,
                    healthy: matches!(&outcome, Ok(response) if response.status == 200),
                });
                tally.count(&outcome);
                std::thread::sleep(pace.saturating_sub(took));
                if stop.is_told() {
                    return Probed { samples, tally };
                }
            }
        }))
    }

    pub(crate) fn finish(self) -> Probed {
        self.0.finish()
    }
}

impl Probed {
    /// Probes that were answered 200.
    pub(crate) fn healthy(&self) -> usize {
        self.samples.iter().filter(|sample| sample.healthy).count()
    }

    /// Whether there were probes and each was answered 200.
    pub(crate) fn all_healthy(&self) -> bool {
        !self.samples.is_empty() && self.healthy() == self.samples.len()
    }

    /// Asserts that every probe under the load `name` was answered 200.
    pub(crate) fn judge(&self, session: &mut Session<'_>, name: &str) {
        session.check(
            format!("{name}: every provider probe is answered 200"),
            self.all_healthy(),
            format_args!(
                "{} of {}: {:?}",
                self.healthy(),
                self.samples.len(),
                self.tally
            ),
        );
    }

    pub(crate) fn latencies(&self) -> Quantiles {
        let healthy = self.samples.iter().filter(|sample| sample.healthy);
        Quantiles::of(healthy.map(|sample| sample.took).collect())
    }

    /// The longest time between two healthy answers.
    pub(crate) fn longest_gap(&self) -> Duration {
        let mut last = Duration::ZERO;
        let mut longest = Duration::ZERO;
        for sample in self.samples.iter().filter(|sample| sample.healthy) {
            let answered = sample.at + sample.took;
            longest = longest.max(answered.saturating_sub(last));
            last = answered;
        }
        longest
    }

    /// Success and latency under a load, beside an idle guest's.
    pub(crate) fn row(&self, load: &str, side: Side, idle: &Self, shares: &Shares) -> ProbeRow {
        let in_ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let (loaded, calm) = (self.latencies(), idle.latencies());
        ProbeRow {
            load: load.to_owned(),
            side,
            asked: self.samples.len() as u64,
            answered: self.healthy() as u64,
            loaded_ms: PERCENTS.map(|percent| in_ms(loaded.percent(percent))),
            idle_ms: PERCENTS.map(|percent| in_ms(calm.percent(percent))),
            max_ms: in_ms(loaded.max()),
            gap_ms: in_ms(self.longest_gap()),
            host_share: shares.overall(),
        }
    }

    /// The samples as a chart line: seconds, milliseconds.
    pub(crate) fn line(&self) -> Vec<(f64, f64)> {
        self.samples
            .iter()
            .map(|sample| (sample.at.as_secs_f64(), sample.took.as_secs_f64() * 1e3))
            .collect()
    }
}
