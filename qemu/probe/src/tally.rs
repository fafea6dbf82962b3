//! What a command counted, and the one line that says it.

use alloc::collections::BTreeMap;
use core::fmt;

use crate::answer::Answer;
use crate::latency::Latencies;
use crate::percent;

/// How a request or a connection came to nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Loss {
    /// The connection could not be opened.
    Refused,
    /// The server closed before the answer was whole.
    Closed,
    /// The connection was reset, or a call on it failed.
    Broken,
    /// The answer is not HTTP.
    Malformed,
    /// The answer did not come in time.
    TimedOut,
}

/// Counts of one series of requests.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests of which every byte was handed over.
    pub sent: u64,
    /// Connections opened.
    pub opened: u64,
    /// Connections dropped on purpose.
    pub aborted: u64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Body bytes of all answers.
    pub body_bytes: u64,
    /// From a request's start, its connection included if it is fresh, to the
    /// end of its answer.
    pub latencies: Latencies,
    /// Longest time without a 2xx answer.
    pub gap_ns: u64,
    losses: [u64; 5],
    last_success_ns: Option<u64>,
}

impl Tally {
    /// Nothing counted yet, at `now_ns`.
    #[must_use]
    pub fn started(now_ns: u64) -> Self {
        Self {
            last_success_ns: Some(now_ns),
            ..Self::default()
        }
    }

    /// An answer to a request that was started at `start_ns`.
    pub fn answered(&mut self, answer: &Answer, start_ns: u64, now_ns: u64) {
        let count = self.statuses.entry(answer.status).or_insert(0);
        *count = count.saturating_add(1);
        self.body_bytes = self.body_bytes.saturating_add(answer.body_bytes);
        self.latencies.add(now_ns.saturating_sub(start_ns));
        if (200..300).contains(&answer.status) {
            self.close_gap(now_ns);
        }
    }

    /// A request or connection that came to nothing.
    pub fn lost(&mut self, loss: Loss) {
        if let Some(count) = self.losses.get_mut(loss as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// How often something came to nothing in that way.
    #[must_use]
    pub fn losses(&self, loss: Loss) -> u64 {
        self.losses.get(loss as usize).copied().unwrap_or(0)
    }

    /// Everything that came to nothing but refused connections.
    #[must_use]
    pub fn failed(&self) -> u64 {
        [Loss::Closed, Loss::Broken, Loss::Malformed, Loss::TimedOut]
            .into_iter()
            .fold(0, |sum: u64, loss| sum.saturating_add(self.losses(loss)))
    }

    /// The series is over.
    pub fn end(&mut self, now_ns: u64) {
        self.close_gap(now_ns);
    }

    fn close_gap(&mut self, now_ns: u64) {
        if let Some(last) = self.last_success_ns.replace(now_ns) {
            self.gap_ns = self.gap_ns.max(now_ns.saturating_sub(last));
        }
    }

    /// The counts as `key=value` words, each key behind `prefix`.
    #[must_use]
    pub const fn words<'a>(&'a self, prefix: &'a str) -> Words<'a> {
        Words {
            tally: self,
            prefix,
        }
    }
}

/// A tally in words.
pub struct Words<'a> {
    tally: &'a Tally,
    prefix: &'a str,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tally, prefix } = self;
        write!(
            out,
            "{prefix}sent={} {prefix}opened={}",
            tally.sent, tally.opened
        )?;
        for (status, count) in &tally.statuses {
            write!(out, " {prefix}status_{status}={count}")?;
        }
        write!(
            out,
            " {prefix}failed={} {prefix}refused={} {prefix}closed={} {prefix}broken={} \
             {prefix}malformed={} {prefix}timeout={} {prefix}aborted={} {prefix}body_bytes={}",
            tally.failed(),
            tally.losses(Loss::Refused),
            tally.losses(Loss::Closed),
            tally.losses(Loss::Broken),
            tally.losses(Loss::Malformed),
            tally.losses(Loss::TimedOut),
            tally.aborted,
            tally.body_bytes,
        )?;
        let times = &tally.latencies;
        write!(
            out,
            " {prefix}ns_min={} {prefix}ns_p50={} {prefix}ns_p90={} {prefix}ns_p99={} \
             {prefix}ns_max={} {prefix}ns_gap={}",
            times.min_ns(),
            times.quantile_ns(500),
            times.quantile_ns(900),
            times.quantile_ns(990),
            times.max_ns(),
            tally.gap_ns,
        )
    }
}

/// The last answer of a command, in words.
pub struct LastAnswer<'a>(pub &'a Answer);

impl fmt::Display for LastAnswer<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(answer) = self;
        write!(out, "status={} ", answer.status)?;
        if let Some(seconds) = answer.retry_after {
            write!(out, "retry_after={seconds} ")?;
        }
        let close = if answer.close { "on" } else { "off" };
        write!(
            out,
            "close={close} body_size={} body={}",
            answer.body_bytes,
            percent::encode(&answer.body)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn answer(status: u16) -> Answer {
        Answer {
            status,
            body_bytes: 3,
            body: b"a b".to_vec(),
            close: true,
            retry_after: Some(2),
        }
    }

    #[test]
    fn a_line_has_each_key_once() {
        let mut tally = Tally::started(0);
        tally.sent = 3;
        tally.opened = 1;
        tally.answered(&answer(200), 0, 1_000);
        tally.answered(&answer(429), 0, 2_000);
        tally.lost(Loss::Refused);
        tally.lost(Loss::Closed);
        tally.end(5_000);
        assert_eq!(
            tally.words("").to_string(),
            "sent=3 opened=1 status_200=1 status_429=1 failed=1 refused=1 closed=1 broken=0 \
             malformed=0 timeout=0 aborted=0 body_bytes=6 ns_min=1000 ns_p50=1007 ns_p90=2000 \
             ns_p99=2000 ns_max=2000 ns_gap=4000"
        );
        assert!(
            tally
                .words("watch_")
                .to_string()
                .contains(" watch_status_429=1 ")
        );
    }

    #[test]
    fn the_last_answer_is_shown_encoded() {
        assert_eq!(
            LastAnswer(&answer(503)).to_string(),
            "status=503 retry_after=2 close=on body_size=3 body=a%20b"
        );
    }

    #[test]
    fn the_gap_is_between_successes_and_at_both_ends() {
        let mut tally = Tally::started(100);
        tally.answered(&answer(200), 0, 150);
        tally.answered(&answer(503), 0, 400);
        tally.answered(&answer(200), 0, 500);
        assert_eq!(tally.gap_ns, 350);
        tally.end(1_000);
        assert_eq!(tally.gap_ns, 500);
    }
}
