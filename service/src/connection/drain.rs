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
//! next probes have told it not to, and none of them is lost. A session (a connection that was upgraded)
//! is asked to end when the grace is over, and ended with the others when patience is.

use ingress_ledger::{Instant, Lane, Span};

use crate::connection::record::{Doing, Reason, Stage};
use crate::server::{Now, Server};
use crate::state::State;

/// How long after the grace connections that are still there keep the service from ending.
const PATIENCE: Span = Span::from_secs(15);

/// A drain under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Drain {
    /// The end of the grace.
    until: Instant,
    /// What was done about its being over, so that each is done once.
    done: Done,
}

/// How far a drain has been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    /// Watchers are told.
    Told,
    /// Idlers are closed, and sessions were asked to end.
    GraceEnded,
    /// Whoever was left was ended.
    AllEnded,
}

impl State {
    /// When the grace would be over if a drain were begun now; one that is under way is not made
    /// longer.
    pub(crate) fn drain_until(&self, grace: Option<Span>) -> Instant {
        let configured = self
            .policy
            .as_ref()
            .map_or(Span::ZERO, |policy| policy.drain);
        let until = self.clock.after(grace.unwrap_or(configured));
        self.drain.map_or(until, |drain| drain.until.min(until))
    }

    /// Begins a drain, or shortens the grace of the one under way.
    pub(crate) fn begin_drain(&mut self, grace: Option<Span>) {
        let until = self.drain_until(grace);
        let done = self.drain.map_or(Done::Told, |drain| drain.done);
        self.drain = Some(Drain { until, done });
    }
}

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Closes idlers once the grace is over, and those that become idle later; ends everybody else
    /// once patience is.
    pub(crate) fn advance_drain(&mut self, now: Now) {
        if !self.is_grace_over() {
            return;
        }
        if self.reaches(Done::GraceEnded) {
            self.end_sessions(now);
        }
        for lane in Lane::ALL {
            while self.close_oldest_idler(lane) {}
        }
        // From here on nobody is taken (INV-DRAIN).
        if self.is_overdue() && self.reaches(Done::AllEnded) {
            self.end_all();
        }
    }

    /// Notes that a drain has come so far; whether it had not before.
    fn reaches(&mut self, done: Done) -> bool {
        let drain = self.state.drain.as_mut();
        drain.is_some_and(|drain| {
            let is_news = drain.done < done;
            drain.done = drain.done.max(done);
            is_news
        })
    }

    fn end_all(&mut self) {
        for at in self.memory.places() {
            let reason = match &self.memory[at].stage {
                Stage::Free | Stage::Closing { .. } => continue,
                Stage::Refused { .. } => Reason::DrainedUnread,
                Stage::Open { doing, .. } => match doing {
                    Doing::Waiting { .. }
                    | Doing::Working { .. }
                    | Doing::Serving { .. }
                    | Doing::Telling { .. } => Reason::DrainedUnread,
                    Doing::Fresh
                    | Doing::Idle
                    | Doing::Head
                    | Doing::Body { .. }
                    | Doing::Lingering { .. }
                    | Doing::Session { .. } => Reason::Drained,
                },
            };
            self.end(at, reason);
        }
    }

    /// Whether connections of `lane` are taken.
    pub(crate) fn takes_connections(&self, lane: Lane) -> bool {
        let is_closed = if lane.is_protected() {
            self.is_overdue()
        } else {
            self.is_grace_over()
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
        if drain.done < Done::GraceEnded {
            return Some(drain.until);
        }
        let idlers = Lane::ALL.map(|lane| self.next_idler_at(lane));
        let patience = (drain.done < Done::AllEnded).then(|| drain.until.after(PATIENCE));
        idlers.into_iter().chain([patience]).flatten().min()
    }

    fn is_overdue(&self) -> bool {
        self.is_past(PATIENCE)
    }

    pub(crate) fn is_grace_over(&self) -> bool {
        self.is_past(Span::ZERO)
    }

    /// Whether so much time has passed since the end of a drain's grace.
    fn is_past(&self, span: Span) -> bool {
        self.state
            .drain
            .is_some_and(|drain| self.state.clock >= drain.until.after(span))
    }
}
