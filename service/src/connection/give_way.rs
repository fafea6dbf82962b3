//! Who gives way when a lane is full (INV-GIVE-WAY).
//!
//! A newcomer that lacks a permit alone takes that of a connection of its own lane, and a request
//! that waits for a slot that of an answer which is not being read. Whoever has had the time of its
//! standing goes, the first of this order, and of several the oldest:
//!
//! | standing | from | ends |
//! |---|---|---|
//! | silent since its accept; answered and idle; lingering after a last answer | [`SILENCE_GRACE`] | in order |
//! | in a head | [`HEAD_GRACE`] | in order |
//! | in a body | [`BODY_GRACE`] | in order |
//! | being answered, and the part under way not taken | [`ANSWER_GRACE`] | at once |
//! | lingering | now | in order |
//! | answered and idle | now | in order |
//!
//! Age counts from when the standing began, and for an answer from when its present part did, never
//! from the last byte: who drips gains nothing. What waits for a slot itself does not give way. So a
//! client is through that is done with each step within its grace, however many are not, and while
//! its lane has room nobody is hurried by anything but the deadlines. Where the lane is full and
//! nobody gives way, an answer with another request behind it ends its connection.
//!
//! Each standing of each lane has a list in order of age, so that finding the oldest costs the same
//! however many there are.

use ingress_ledger::{IngressOverload, Instant, LANES, Lane, PermitRefusal, Span};

use crate::connection::record::{Doing, Reason, Record};
use crate::connection::table::Place;
use crate::server::{Now, Server};

/// How long a connection may ask for nothing.
///
/// The first bytes of a request follow the handshake without waiting for an answer, so that a client
/// is through within a fraction of this, whatever its distance.
pub(crate) const SILENCE_GRACE: Span = Span::from_millis(250);

/// How long a head may take: a few round trips, should it be longer than the window that it fills.
pub(crate) const HEAD_GRACE: Span = Span::from_millis(500);

/// How long a body may take.
pub(crate) const BODY_GRACE: Span = Span::from_secs(1);

/// How long a part of an answer may take: two round trips of a distant client.
pub(crate) const ANSWER_GRACE: Span = Span::from_millis(500);

/// From when on an answer counts as one that is not being read: a busy service has its answers taken
/// in a fraction of this.
const UNREAD: Span = Span::from_millis(100);

/// As many as [`Standing`] has variants.
const STANDINGS: usize = Standing::Told as usize + 1;

/// Lists of connections by age: one for each standing on each lane.
pub(crate) const AGE_LISTS: usize = STANDINGS * LANES;

/// What a connection that holds a permit does, as far as giving way goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Silent,
    Idle,
    Lingering,
    Head,
    Body,
    /// Answered from a slot.
    Served,
    /// Answered from its own note area.
    Told,
}

impl Standing {
    /// Who gives way in which order, once its grace is over.
    const ORDER: [&'static [Self]; 4] = [
        &[Self::Silent, Self::Lingering, Self::Idle],
        &[Self::Head],
        &[Self::Body],
        &[Self::Served, Self::Told],
    ];

    /// The standing of a connection. `None`: it has nothing to give, or waits for its own turn.
    pub(crate) const fn of(record: &Record) -> Option<Self> {
        let Some(doing) = record.doing() else {
            return None;
        };
        match doing {
            Doing::Fresh => Some(Self::Silent),
            Doing::Idle => Some(Self::Idle),
            Doing::Lingering { .. } => Some(Self::Lingering),
            Doing::Head => Some(Self::Head),
            Doing::Body { .. } => Some(Self::Body),
            Doing::Serving { .. } => Some(Self::Served),
            Doing::Telling { .. } => Some(Self::Told),
            Doing::Waiting { .. } | Doing::Working { .. } | Doing::Session { .. } => None,
        }
    }

    /// The list of those of that standing on a lane.
    pub(crate) const fn list(self, lane: Lane) -> u16 {
        const OF_A_LANE: u16 = Standing::Told as u16 + 1;
        (lane as u16)
            .saturating_mul(OF_A_LANE)
            .saturating_add(self as u16)
    }

    const fn grace(self) -> Span {
        match self {
            Self::Silent | Self::Idle | Self::Lingering => SILENCE_GRACE,
            Self::Head => HEAD_GRACE,
            Self::Body => BODY_GRACE,
            Self::Served | Self::Told => ANSWER_GRACE,
        }
    }

    /// Why the connection ends that gives way.
    const fn reason(self) -> Reason {
        match self {
            Self::Silent | Self::Idle | Self::Lingering => Reason::IdleClosed,
            Self::Head | Self::Body => Reason::GaveWay,
            Self::Served | Self::Told => Reason::Unread,
        }
    }
}

/// The oldest of a standing.
#[derive(Clone, Copy)]
struct Oldest {
    at: Place,
    standing: Standing,
    since: Instant,
}

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Has a connection of the lane give way, if a permit is all that a newcomer lacks.
    pub(crate) fn make_room(&mut self, lane: Lane, now: Now) {
        if let Err(PermitRefusal::LaneFull(_) | PermitRefusal::TotalFull(_)) =
            self.state.permits.would_admit(lane, now)
            && let Some(oldest) = self.next_to_give_way(lane)
        {
            self.turn_out(oldest);
        }
    }

    /// Whether a newcomer to the lane would find neither a permit nor anybody to give way.
    pub(crate) fn is_crowded(&self, lane: Lane) -> bool {
        !self.state.permits.can_admit(lane) && self.next_to_give_way(lane).is_none()
    }

    /// Whether permits of a full lane come back by themselves: requests wait for the slots of answers
    /// that are not being read, and each of these gives its permit up with its slot. Newcomers wait
    /// in the backlog until then, since a refusal would tell them to go for a moment's sake.
    pub(crate) fn is_turning_over(&self, lane: Lane, now: Instant) -> bool {
        let is_unread = |oldest: Oldest| oldest.since.after(UNREAD) <= now;
        // They often go at once, and those that follow them into the slots are young for a while.
        let was_unread = |at: Instant| now <= at.after(ANSWER_GRACE);
        self.next_slot_at(lane).is_some()
            && (self.first_of(Standing::Served, lane).is_some_and(is_unread)
                || self.state.turned_over[lane].is_some_and(was_unread))
            && self.next_to_give_way(lane).is_none()
    }

    /// Has answers of the lane that are not being read give way until as many slots are on their way
    /// back as are `wanted`.
    pub(crate) fn make_slots(&mut self, lane: Lane, wanted: u32) {
        while self.state.leaving[lane] < wanted
            && let Some(oldest) = self.overdue(Standing::Served, lane)
        {
            self.turn_out(oldest);
        }
    }

    /// A request was refused for want of a slot: for whoever comes next one is freed, since the queue
    /// is full, or there is none.
    pub(crate) fn make_slot_for_next(&mut self, lane: Lane, overload: IngressOverload) {
        if let IngressOverload::LanePoolFull(_) | IngressOverload::AggregateFull(_) = overload {
            let waiting = self.state.ledger.waiting(lane).count();
            self.make_slots(lane, waiting.saturating_add(1));
        }
    }

    /// When an answer of the lane has had its time, if a slot is waited for.
    pub(crate) fn next_slot_at(&self, lane: Lane) -> Option<Instant> {
        if self.state.ledger.waiting(lane).count() <= self.state.leaving[lane] {
            return None;
        }
        let oldest = self.first_of(Standing::Served, lane)?;
        Some(oldest.since.after(ANSWER_GRACE))
    }

    /// Closes the oldest idler of a lane, as a drain does; whether there was one.
    pub(crate) fn close_oldest_idler(&mut self, lane: Lane) -> bool {
        let oldest = self
            .overdue(Standing::Silent, lane)
            .or_else(|| self.first_of(Standing::Idle, lane));
        oldest.is_some_and(|oldest| {
            self.turn_out(oldest);
            true
        })
    }

    /// When a silent connection of the lane has had its time next.
    pub(crate) fn next_idler_at(&self, lane: Lane) -> Option<Instant> {
        let oldest = self.first_of(Standing::Silent, lane)?;
        Some(oldest.since.after(SILENCE_GRACE))
    }

    fn turn_out(&mut self, oldest: Oldest) {
        if oldest.standing == Standing::Served {
            let lane = self.memory[oldest.at].lane();
            self.state.turned_over[lane] = Some(self.state.clock);
        }
        self.end(oldest.at, oldest.standing.reason());
    }

    fn next_to_give_way(&self, lane: Lane) -> Option<Oldest> {
        let oldest_of = |standings: &[Standing]| {
            let overdue = standings
                .iter()
                .filter_map(|standing| self.overdue(*standing, lane));
            overdue.min_by_key(|oldest| oldest.since)
        };
        Standing::ORDER
            .into_iter()
            .find_map(oldest_of)
            .or_else(|| self.first_of(Standing::Lingering, lane))
            .or_else(|| self.first_of(Standing::Idle, lane))
    }

    /// The oldest of the standing, if it has had its time.
    fn overdue(&self, standing: Standing, lane: Lane) -> Option<Oldest> {
        self.first_of(standing, lane)
            .filter(|oldest| oldest.since.after(standing.grace()) <= self.state.clock)
    }

    fn first_of(&self, standing: Standing, lane: Lane) -> Option<Oldest> {
        let index = self.memory.ages.first(standing.list(lane))?;
        let at = self.memory.place(index)?;
        let since = self.memory[at].since;
        Some(Oldest {
            at,
            standing,
            since,
        })
    }
}
