//! What a client saw, counted the way the ledger counts: responses by exact status, and
//! every other ending by name.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::http::response::Response;
use crate::http::wire::Ending;

/// Client-side counts of one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    /// Responses by exact status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Exchanges that ended without a response.
    pub(crate) endings: BTreeMap<String, u64>,
}

impl Tally {
    pub(crate) fn count(&mut self, outcome: &Result<Response, Ending>) {
        match outcome {
            Ok(response) => self.status(response.status, 1),
            Err(ending) => *self.endings.entry(ending.name().to_owned()).or_default() += 1,
        }
    }

    pub(crate) fn status(&mut self, status: u16, count: u64) {
        if count > 0 {
            *self.statuses.entry(status).or_default() += count;
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (status, count) in &other.statuses {
            self.status(*status, *count);
        }
        for (ending, count) in &other.endings {
            *self.endings.entry(ending.clone()).or_default() += count;
        }
    }

    pub(crate) fn of(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or_default()
    }

    pub(crate) fn responses(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// All exchanges that ended without a response.
    pub(crate) fn unanswered(&self) -> u64 {
        self.endings.values().sum()
    }
}
