//! What all workers of a load share: how much is left to ask, and what came of it.

use ingress_probe::answer::Answer;
use ingress_probe::command::Load;
use ingress_probe::tally::Tally;

/// What all workers of a load share.
pub(crate) struct Series<'l> {
    pub(super) load: &'l Load,
    /// What is sent for a batch of requests.
    pub(super) bytes: alloc::vec::Vec<u8>,
    /// Requests begun.
    pub(super) begun: u64,
    deadline_ns: Option<u64>,
    /// The counts so far.
    pub(crate) tally: Tally,
    /// The latest answer.
    pub(crate) last: Option<Answer>,
}

impl<'l> Series<'l> {
    /// A series that starts now.
    pub(crate) fn new(load: &'l Load, now_ns: u64) -> Self {
        Self {
            load,
            bytes: load.request.repeated(load.pipeline),
            begun: 0,
            deadline_ns: load.for_ns.map(|ns| now_ns.saturating_add(ns)),
            tally: Tally::started(now_ns),
            last: None,
        }
    }

    /// No request is begun any more.
    pub(crate) fn stop(&mut self, now_ns: u64) {
        self.deadline_ns = Some(now_ns);
    }

    /// How many requests may be begun together now.
    pub(super) fn batch(&self, now_ns: u64) -> u32 {
        if self.deadline_ns.is_some_and(|deadline| now_ns >= deadline) {
            return 0;
        }
        let left = self
            .load
            .count
            .map_or(u64::MAX, |count| count.saturating_sub(self.begun));
        u32::try_from(left)
            .unwrap_or(u32::MAX)
            .min(self.load.pipeline)
    }
}
