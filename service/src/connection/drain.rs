//! Draining: the service tells those who watch it, finishes what it has, and is then done.
//!
//! ```text
//! POST /drain          grace over             nobody left, or patience over
//!      │                    │                        │
//!      ▼                    ▼                        ▼
//!  health 503, every    no public connection    whoever is left is ended, nobody is
//!  answer closes        is taken any more       taken on any lane: `finished`
//! ```
//!
//! During the grace public connections are still taken: a balancer goes on sending requests until its
//! next probes have told it not to, and none of them is lost.

use ingress_ledger::{Instant, Lane, Span};

use crate::connection::record::Phase;
use crate::http::fault::Fault;
use crate::http::framing::parse_decimal;
use crate::server::{Ending, Now, Server};

/// How long after the grace connections that are still there keep the service from ending.
const PATIENCE: Span = Span::from_secs(15);

/// The longest grace that a request may ask for.
const GRACE_MAX_MS: u64 = 600_000;

/// A drain under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Drain {
    /// The end of the grace.
    pub(crate) until: Instant,
    is_over: bool,
    /// Whoever was left when patience was over has been ended.
    has_ended_all: bool,
}

/// Reads the body of a drain request: empty, or `grace_ms=<decimal>`.
pub(crate) fn parse_body(body: &[u8]) -> Result<Option<Span>, Fault> {
    let body = body.trim_ascii();
    if body.is_empty() {
        return Ok(None);
    }
    let digits = body.strip_prefix(b"grace_ms=").ok_or(Fault::BodyInvalid)?;
    match parse_decimal(digits) {
        Some(grace) if grace <= GRACE_MAX_MS => Ok(Some(Span::from_millis(grace))),
        _ => Err(Fault::BodyInvalid),
    }
}

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Begins a drain, or shortens the grace of the one under way.
    pub(crate) fn begin_drain(&mut self, grace: Option<Span>, now: Now) -> Span {
        let configured = self
            .state
            .policy
            .as_ref()
            .map_or(Span::ZERO, |policy| policy.drain);
        let at = now.unwrap_or(self.state.clock);
        let until = at.after(grace.unwrap_or(configured));
        match &mut self.state.drain {
            Some(drain) => drain.until = drain.until.min(until),
            None => {
                self.state.drain = Some(Drain {
                    until,
                    is_over: false,
                    has_ended_all: false,
                })
            }
        }
        self.state
            .drain
            .map_or(Span::ZERO, |drain| drain.until.since(at))
    }

    /// Closes idlers once the grace is over, and those that become idle later; ends everybody else
    /// once patience is.
    pub(crate) fn advance_drain(&mut self, at: Instant) {
        let Some(drain) = &mut self.state.drain else {
            return;
        };
        if at < drain.until {
            return;
        }
        drain.is_over = true;
        for lane in Lane::ALL {
            while self.close_oldest_idler(lane) {}
        }
        if self.is_overdue() {
            self.end_all();
        }
    }

    /// Ends whoever is left, once: from here on nobody is taken (INV-DRAIN).
    fn end_all(&mut self) {
        let Some(drain) = &mut self.state.drain else {
            return;
        };
        if core::mem::replace(&mut drain.has_ended_all, true) {
            return;
        }
        for index in 0..self.memory.records_used() {
            let Some(conn) = self.memory.id_of(index) else {
                continue;
            };
            let ending = match self.phase(conn) {
                Phase::Free | Phase::Closing => continue,
                Phase::Waiting | Phase::Answering => Ending::Abort,
                Phase::Fresh | Phase::Idle | Phase::Head | Phase::Body | Phase::Lingering => {
                    Ending::Close
                }
            };
            self.count_time_out(conn);
            self.end(conn, ending);
        }
    }

    /// Whether connections of `lane` are taken.
    pub(crate) fn takes_connections(&self, lane: Lane) -> bool {
        let is_closed = match lane {
            Lane::Anonymous => self.is_grace_over(),
            Lane::LocalHealth | Lane::ProviderHealth => self.is_overdue(),
        };
        self.state.is_enabled(lane) && !is_closed
    }

    /// Whether nobody is left to serve, or whoever is left was given long enough.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_grace_over() && (self.state.live == 0 || self.is_overdue())
    }

    /// When time alone changes something about the drain.
    pub(crate) fn drain_deadline(&self) -> Option<Instant> {
        let drain = self.state.drain?;
        if !drain.is_over {
            return Some(drain.until);
        }
        let idlers = Lane::ALL.map(|lane| self.next_idler_at(lane));
        let patience = (!drain.has_ended_all).then(|| drain.until.after(PATIENCE));
        idlers.into_iter().chain([patience]).flatten().min()
    }

    fn is_overdue(&self) -> bool {
        self.state
            .drain
            .is_some_and(|drain| self.state.clock >= drain.until.after(PATIENCE))
    }

    fn is_grace_over(&self) -> bool {
        self.state
            .drain
            .is_some_and(|drain| self.state.clock >= drain.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_empty_or_a_grace() {
        assert_eq!(parse_body(b""), Ok(None));
        assert_eq!(parse_body(b"\r\n"), Ok(None));
        assert_eq!(
            parse_body(b"grace_ms=250"),
            Ok(Some(Span::from_millis(250)))
        );
        for bad in [
            "grace_ms=",
            "grace_ms=-1",
            "grace_ms=600001",
            "grace=1",
            "{}",
            "grace_ms=1&x=2",
        ] {
            assert_eq!(parse_body(bad.as_bytes()), Err(Fault::BodyInvalid), "{bad}");
        }
    }
}
