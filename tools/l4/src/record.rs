//! What a case leaves behind: its checks, figures and boots, as the reports show them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::evidence::{Evidence, ListenerCount};
use crate::failure::Failure;
use crate::wire::Wire;

/// One assertion on what the guest did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Check {
    pub(crate) claim: String,
    pub(crate) held: bool,
    /// The figures that it was judged by.
    pub(crate) detail: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    /// Its value, with its unit.
    pub(crate) value: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) unit: String,
    /// Lines by name: (seconds, value).
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Where a probe stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side {
    /// On the host: QEMU's network and the host's scheduler take part.
    Outside,
    /// In the guest, by the guest's own clock.
    Inside,
    /// On the host, at the loaded public lane itself.
    Public,
}

/// The provider's probe under one load, beside an idle guest's just before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProbeRow {
    pub(crate) load: String,
    pub(crate) side: Side,
    /// Probes sent.
    pub(crate) asked: u64,
    /// Probes answered 200.
    pub(crate) answered: u64,
    /// Latency at p50, p90 and p99, in milliseconds.
    pub(crate) loaded_ms: [f64; 3],
    /// The same of the idle guest.
    pub(crate) idle_ms: [f64; 3],
    /// The longest latency, in milliseconds.
    pub(crate) max_ms: f64,
    /// The longest time without an answer, in milliseconds.
    pub(crate) gap_ms: f64,
    /// What the host gave QEMU of the processor time that it asked for, 0 to 1.
    pub(crate) host_share: f64,
}

impl ProbeRow {
    /// What is aimed at, in multiples of idle: p50, p90, p99.
    pub(crate) const GOAL: [f64; 3] = [1.5, 2.0, 3.0];

    /// The latencies as multiples of the idle guest's.
    pub(crate) fn ratios(&self) -> [f64; 3] {
        let [p50, p90, p99] = self.loaded_ms;
        let [i50, i90, i99] = self.idle_ms.map(|ms| ms.max(1e-6));
        [p50 / i50, p90 / i90, p99 / i99]
    }
}

/// One machine that a case booted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Boot {
    pub(crate) manifest: String,
    /// Where its console was logged.
    pub(crate) serial_log: PathBuf,
    /// QEMU's start to the readiness line.
    pub(crate) ready_seconds: Option<f64>,
    /// The size of its boot package.
    pub(crate) package_bytes: u64,
    /// The kernel's own line on its memory.
    pub(crate) memory: Option<String>,
    /// The last evidence line.
    pub(crate) evidence: Option<Evidence>,
    /// The kernel's own counts.
    pub(crate) listeners: Vec<ListenerCount>,
    pub(crate) exit: Option<String>,
    /// The last console lines.
    pub(crate) tail: Vec<String>,
}

/// Everything about one case.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The assertions, in order.
    pub(crate) checks: Vec<Check>,
    /// The figures, in order.
    pub(crate) figures: Vec<Figure>,
    /// The provider's probe under each load.
    #[serde(default)]
    pub(crate) probes: Vec<ProbeRow>,
    pub(crate) charts: Vec<Chart>,
    /// The machines, in order.
    pub(crate) boots: Vec<Boot>,
}

/// How a case ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Every check held.
    Passed,
    /// Checks failed, or the case could not be carried through.
    Failed {
        /// One word for why.
        kind: String,
        /// Why, at length.
        why: String,
    },
    /// Not run, by name.
    Skipped {
        /// What it needs.
        why: String,
    },
}

/// A finished case, or a finished negative control.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The case's name; for a control, `case/control`.
    pub(crate) name: String,
    /// What its traffic went over.
    pub(crate) wire: Wire,
    /// One line on what it shows.
    pub(crate) title: String,
    pub(crate) verdict: Verdict,
    pub(crate) took: Duration,
    pub(crate) record: Record,
}

impl Verdict {
    /// The verdict on a case that could not be carried through.
    pub(crate) fn of(failure: &Failure) -> Self {
        Self::Failed {
            kind: failure.kind().to_owned(),
            why: failure.to_string(),
        }
    }
}

impl Outcome {
    /// Its name in files and addresses: no other outcome of a run has it.
    pub(crate) fn id(&self) -> String {
        format!("{}-{}", self.name.replace('/', "-"), self.wire.name())
    }

    pub(crate) fn passed(&self) -> bool {
        matches!(self.verdict, Verdict::Passed)
    }

    pub(crate) fn skipped(&self) -> bool {
        matches!(self.verdict, Verdict::Skipped { .. })
    }
}

/// Versions of everything that took part, by name.
pub(crate) type Versions = BTreeMap<String, String>;
