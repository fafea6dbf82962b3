//! The service's own counters over time, from its account of its lanes. Where every slot is
//! taken the refusal itself tells how many there are.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::http::Tally;
use crate::lane::Lane;
use crate::load::account::Account;
use crate::load::background::Background;
use crate::record::Chart;
use crate::session::Session;
use crate::trial::Trial;

const PACE: Duration = Duration::from_millis(100);

/// Counters by name at one time.
type Sample = (f64, BTreeMap<String, f64>);

pub(crate) struct Sampler(Background<Sampled>);

/// What was sampled, and the counts of the sampler's own requests.
#[derive(Default)]
pub(crate) struct Sampled {
    samples: Vec<Sample>,
    tally: Tally,
}

impl Sampler {
    pub(crate) fn start(public: SocketAddr) -> Self {
        Self::resume(public, Instant::now())
    }

    /// Starts sampling again, in a series that `begun` earlier.
    pub(crate) fn resume(public: SocketAddr, begun: Instant) -> Self {
        Self(Background::start(move |stop| {
            let mut samples = Vec::new();
            let mut account = Account::of(public);
            while !stop.is_told() {
                let at = begun.elapsed();
                if let Some(lanes) = account.ask() {
                    samples.push((at.as_secs_f64(), counters(lanes.json())));
                }
                std::thread::sleep(PACE.saturating_sub(begun.elapsed().saturating_sub(at)));
            }
            Sampled {
                samples,
                tally: account.tally,
            }
        }))
    }

    /// Stops sampling and charts what was seen.
    pub(crate) fn record(self, trial: &mut Trial<'_, '_>) {
        let mut sampled = Sampled::default();
        self.pause(&mut sampled, trial);
        sampled.chart(trial.session);
    }

    /// Stops sampling, adds what was seen to `series`, and counts the sampler's own
    /// requests: its connection is never idle, so that no service is quiescent beside it.
    pub(crate) fn pause(self, series: &mut Sampled, trial: &mut Trial<'_, '_>) {
        let sampled = self.0.finish();
        trial.count(Lane::Anonymous, &sampled.tally);
        series.samples.extend(sampled.samples);
    }
}

/// `admitted <lane>`, `serving <lane>` and `<overload> <lane>`; of a refusal for want of a
/// slot, only how many are taken.
fn counters(json: &Value) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    if json["code"] == "lane_pool_full"
        && let (Some(name), Some(taken)) = (json["lane"].as_str(), json["in_use"].as_f64())
    {
        all.insert(format!("serving {name}"), taken);
    }
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
    pub(crate) fn chart(&self, session: &mut Session<'_>) {
        // Nothing refused is no chart.
        for chart in self
            .charts()
            .into_iter()
            .filter(|one| !one.lines.is_empty())
        {
            session.chart(chart);
        }
    }

    /// Charts of what each lane admitted, refused and had in use.
    fn charts(&self) -> Vec<Chart> {
        let rates = |title: &str, wanted: &dyn Fn(&str) -> bool| Chart {
            title: format!("{title}, by lane"),
            unit: "per second".into(),
            lines: self.lines(wanted, |before, now, time| (now - before) / time),
        };
        vec![
            rates("requests admitted", &|name| name.starts_with("admitted ")),
            rates("refusals", &|name| {
                !name.starts_with("admitted ") && !name.starts_with("serving ")
            }),
            Chart {
                title: "slots in use, by lane".into(),
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
        let mut last: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (at, counters) in &self.samples {
            for (name, count) in counters.iter().filter(|(name, _)| wanted(name)) {
                if let Some((then, before)) = last.insert(name, (*at, *count)) {
                    let point = (*at, value(before, *count, (at - then).max(1e-3)));
                    lines.entry(name).or_default().push(point);
                }
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
    fn a_refusal_tells_the_slots_in_use_and_a_rate_spans_it() {
        let told = |admitted: u64| {
            counters(&serde_json::json!({"lanes": [{"lane": "anonymous",
                "admitted": admitted, "serving": 1}]}))
        };
        let refused = counters(&serde_json::json!({"code": "lane_pool_full",
            "lane": "anonymous", "in_use": 4, "limit": 4}));
        let sampled = Sampled {
            samples: vec![(0.0, told(10)), (1.0, refused), (2.0, told(30))],
            tally: Tally::default(),
        };
        let charts = sampled.charts();
        assert_eq!(charts[0].lines[0].1, [(2.0, 10.0)]);
        assert_eq!(charts[2].lines[0].1, [(1.0, 4.0), (2.0, 1.0)]);
    }

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
        let charts = sampled.charts();
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
