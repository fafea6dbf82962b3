//! The service's own counters over time, read from `/api/ingress` on the public lane like
//! any visitor would: where that lane is saturated, samples are missed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::{self, Tally};
use crate::record::Chart;

const PACE: Duration = Duration::from_millis(100);

/// Counters by name at one time.
type Sample = (f64, BTreeMap<String, f64>);

/// A sampler that runs.
pub(crate) struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Vec<Sample>, Tally)>,
}

/// What was sampled.
pub(crate) struct Sampled {
    samples: Vec<Sample>,
    /// Counts of the sampler's own requests.
    pub(crate) tally: Tally,
}

impl Sampler {
    /// Starts sampling.
    pub(crate) fn start(public: SocketAddr) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let begun = Instant::now();
            let request = http::once("GET", "/api/ingress");
            let mut samples = Vec::new();
            let mut tally = Tally::default();
            while !stopped.load(Ordering::Acquire) {
                let at = begun.elapsed();
                let answer = http::counted(&mut tally, public, &request, Duration::from_secs(2));
                if let Ok(response) = answer
                    && response.status == 200
                    && let Some(json) = response.json()
                {
                    samples.push((at.as_secs_f64(), counters(&json)));
                }
                std::thread::sleep(PACE.saturating_sub(begun.elapsed().saturating_sub(at)));
            }
            (samples, tally)
        });
        Self { stop, thread }
    }

    /// Stops sampling.
    pub(crate) fn finish(self) -> Sampled {
        self.stop.store(true, Ordering::Release);
        let (samples, tally) = self.thread.join().unwrap_or_default();
        Sampled { samples, tally }
    }
}

/// `admitted <lane>`, `serving <lane>` and `<overload> <lane>`.
fn counters(json: &Value) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for lane in json["lanes"].as_array().into_iter().flatten() {
        let name = lane["lane"].as_str().unwrap_or("?");
        for counter in ["admitted", "serving", "conns_refused"] {
            if let Some(count) = lane[counter].as_f64() {
                all.insert(format!("{counter} {name}"), count);
            }
        }
        for (kind, count) in lane["overloads"].as_object().into_iter().flatten() {
            if let Some(count) = count.as_f64() {
                all.insert(format!("{kind} {name}"), count);
            }
        }
    }
    all
}

impl Sampled {
    /// Charts of what was admitted, refused and in use while `what` was done.
    pub(crate) fn charts(&self, what: &str) -> Vec<Chart> {
        let rates = |title: &str, wanted: &dyn Fn(&str) -> bool| Chart {
            title: format!("{title}, {what}"),
            unit: "per second".into(),
            lines: self.lines(wanted, |before, now, time| (now - before) / time),
        };
        vec![
            rates("requests admitted", &|name| name.starts_with("admitted ")),
            rates("refusals", &|name| {
                !name.starts_with("admitted ") && !name.starts_with("serving ")
            }),
            Chart {
                title: format!("slots in use, {what}"),
                unit: "slots".into(),
                lines: self.lines(&|name| name.starts_with("serving "), |_, now, _| now),
            },
        ]
    }

    /// A line for each counter that is ever not zero.
    fn lines(
        &self,
        wanted: &dyn Fn(&str) -> bool,
        value: impl Fn(f64, f64, f64) -> f64,
    ) -> Vec<(String, Vec<(f64, f64)>)> {
        let mut lines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for (before, now) in self.samples.iter().zip(self.samples.iter().skip(1)) {
            let time = (now.0 - before.0).max(1e-3);
            for (name, count) in now.1.iter().filter(|(name, _)| wanted(name)) {
                let earlier = before.1.get(name).copied().unwrap_or_default();
                let point = (now.0, value(earlier, *count, time));
                lines.entry(name).or_default().push(point);
            }
        }
        lines
            .into_iter()
            .filter(|(_, points)| points.iter().any(|(_, value)| *value > 0.0))
            .map(|(name, points)| (name.to_owned(), points))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_rates_and_zero_lines_are_left_out() {
        let at = |time: f64, admitted: u64| {
            let json = serde_json::json!({"lanes": [{"lane": "anonymous", "admitted": admitted,
                "serving": 2, "conns_refused": 0, "overloads": {"rate_limited": 0}}]});
            (time, counters(&json))
        };
        let sampled = Sampled {
            samples: vec![at(0.0, 10), at(0.5, 20), at(1.0, 60)],
            tally: Tally::default(),
        };
        let charts = sampled.charts("tested");
        assert_eq!(
            charts[0].lines,
            [(
                "admitted anonymous".to_owned(),
                vec![(0.5, 20.0), (1.0, 80.0)]
            )]
        );
        assert!(charts[1].lines.is_empty());
        assert_eq!(charts[2].lines[0].1, [(0.5, 2.0), (1.0, 2.0)]);
    }
}
