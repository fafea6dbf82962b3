//! Admission: the checks in their order, then every charge at once (keeps L2, L3, L8: a
//! refusal changes nothing but its counter).

use super::table::{NewTicket, State};
use super::{Books, IngressLedger};
use crate::counters::{bump, raise};
use crate::issuer::Seal;
use crate::lane::Lane;
use crate::overload::IngressOverload;
use crate::partition::{Full, MISCOUNTED};
use crate::reservation::{ConnectionUse, IngressReservation};
use crate::units::{IngressFootprint, Instant, Occupancy};

/// A request as it is asked for, and when.
struct Asked {
    footprint: u64,
    deadline: Instant,
    now: Instant,
}

impl<'a, const TICKETS: usize> IngressLedger<'a, TICKETS> {
    /// Admits a request of `connection`, to a slot if one is free and nobody waits for it,
    /// else to its lane's queue.
    ///
    /// `deadline` is absolute; the lane's own deadline from `now` holds where it is earlier.
    /// ([`Instant::MAX`] asks for the lane's own.) It is never extended. A queue is served in
    /// order of arrival, so a ticket with an earlier deadline than those before it is found
    /// to have expired only when they are gone. `now` is `None` where the clock was lost.
    ///
    /// `footprint` is at most the lane's own, which [`IngressLedger::footprint`] hands out.
    ///
    /// # Errors
    /// The first check that fails, in this order: clock, deadline, rate, per-connection
    /// bound, lane, general pool, bytes. Nothing is charged then.
    pub fn request(
        &mut self,
        connection: &mut ConnectionUse,
        footprint: IngressFootprint,
        deadline: Instant,
        now: Option<Instant>,
    ) -> Result<IngressReservation<'a>, IngressOverload> {
        self.issuer.assert_unleaked();
        let lane = connection.lane();
        self.admit(connection, footprint, deadline, now)
            .inspect_err(|overload| bump(&mut self.books[lane].counters.overloads[overload.kind()]))
    }

    #[inline]
    fn admit(
        &mut self,
        connection: &mut ConnectionUse,
        footprint: IngressFootprint,
        deadline: Instant,
        now: Option<Instant>,
    ) -> Result<IngressReservation<'a>, IngressOverload> {
        let now = self.observe(now.ok_or(IngressOverload::ClockLost)?);
        let asked = Asked {
            footprint: footprint.bytes().count(),
            deadline,
            now,
        };
        let state = self.check(connection, &asked)?;
        self.charge(connection, &asked, state)
    }

    /// Every check in its order. Where the request goes if it passes them all.
    ///
    /// The cheapest come first, because a flood is refused far more often than it is served:
    /// the rate is one comparison with a time that was worked out when the last token was taken.
    /// And what only this lane or this connection can have caused comes before what others may
    /// have: a caller that is told 429 can do something about it, one that is told 503 cannot.
    #[inline]
    fn check(&self, connection: &ConnectionUse, asked: &Asked) -> Result<State, IngressOverload> {
        let lane = connection.lane();
        let Books { rules, rate, .. } = &self.books[lane];
        if asked.deadline <= asked.now {
            return Err(IngressOverload::DeadlineExceeded);
        }
        rate.check(asked.now)
            .map_err(|ready_in| IngressOverload::RateLimited { ready_in })?;
        if connection.outstanding >= rules.per_connection {
            return Err(IngressOverload::PerConnectionLimit(Occupancy {
                in_use: connection.outstanding.into(),
                limit: rules.per_connection.into(),
            }));
        }
        let state = self.place(lane)?;
        if asked.footprint > rules.footprint {
            return Err(IngressOverload::ByteBudgetExhausted(Occupancy {
                in_use: asked.footprint,
                limit: rules.footprint,
            }));
        }
        match self.bytes.check(lane, asked.footprint) {
            Ok(()) => Ok(state),
            Err(Full::Lane(full) | Full::Aggregate(full)) => {
                Err(IngressOverload::ByteBudgetExhausted(full))
            }
        }
    }

    /// Every charge at once, for a request that has just passed every check.
    fn charge(
        &mut self,
        connection: &mut ConnectionUse,
        asked: &Asked,
        state: State,
    ) -> Result<IngressReservation<'a>, IngressOverload> {
        let lane = connection.lane();
        let longest = self.books[lane].rules.deadline;
        let new = NewTicket {
            footprint: asked.footprint,
            deadline: asked.deadline.min(asked.now.after(longest)),
            owner: connection.owner(),
            lane,
        };
        let Some(ticket) = self.table.insert(new, state) else {
            self.fault("ticket table full below its bound");
            return Err(self.aggregate_full());
        };
        self.books[lane].rate.take(asked.now);
        connection.outstanding = connection.outstanding.wrapping_add(1);
        if !self.bytes.charge(lane, asked.footprint) {
            self.fault(MISCOUNTED);
        }
        raise(&mut self.bytes_high_water, self.bytes.total_used());
        bump(&mut self.books[lane].counters.admitted);
        if state == State::Serving {
            self.take_slot(lane);
        } else {
            let books = &mut self.books[lane];
            books.waiting = books.waiting.wrapping_add(1);
            raise(&mut books.counters.waiting_high_water, books.waiting.into());
        }
        Ok(IngressReservation {
            seal: Seal::new(self.issuer, self.name),
            ticket,
        })
    }

    /// Where a request of `lane` would go now: to a slot, or to the queue.
    #[inline]
    fn place(&self, lane: Lane) -> Result<State, IngressOverload> {
        let room = self.slots.check(lane, 1);
        if room.is_ok() && self.may_overtake_nobody(lane) {
            return Ok(State::Serving);
        }
        let Books { rules, waiting, .. } = &self.books[lane];
        if *waiting < rules.queue {
            return Ok(State::Waiting);
        }
        Err(match room {
            Err(Full::Lane(full)) => IngressOverload::LanePoolFull(full),
            // The slots that are free are promised to tickets that wait already. Where this lane's
            // own fill its queue, that is its own doing; where it has no queue, they are others'.
            Ok(()) if rules.queue > 0 => IngressOverload::LanePoolFull(Occupancy {
                in_use: self.slots.used(lane),
                limit: self.slots.share(lane).ceiling,
            }),
            Ok(()) | Err(Full::Aggregate(_)) => self.aggregate_full(),
        })
    }

    /// Whether a slot given to `lane` now is taken from no waiting ticket: its own lane's
    /// come first, and any lane's in the general pool.
    #[inline]
    fn may_overtake_nobody(&self, lane: Lane) -> bool {
        self.table.is_queue_empty(lane)
            && (self.slots.has_free_reserve(lane)
                || !Lane::ALL.into_iter().any(|other| self.competes(other)))
    }

    /// Whether a ticket of `lane` waits that only the general pool can serve.
    #[inline]
    pub(super) fn competes(&self, lane: Lane) -> bool {
        !self.table.is_queue_empty(lane)
            && !self.slots.has_free_reserve(lane)
            && self.slots.used(lane) < self.slots.share(lane).ceiling
    }

    /// Charges one slot to `lane`, and the choice to the arbiter if it is a general one.
    #[inline]
    pub(super) fn take_slot(&mut self, lane: Lane) {
        if !self.slots.has_free_reserve(lane) {
            self.arbiter.chosen(lane);
        }
        if !self.slots.charge(lane, 1) {
            self.fault(MISCOUNTED);
        }
        raise(
            &mut self.books[lane].counters.slots_high_water,
            self.slots.used(lane),
        );
        raise(&mut self.slots_high_water, self.slots.total_used());
    }

    fn aggregate_full(&self) -> IngressOverload {
        IngressOverload::AggregateFull(Occupancy {
            in_use: self.slots.general_used(),
            limit: self.slots.general(),
        })
    }
}
