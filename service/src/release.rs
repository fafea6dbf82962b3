//! How requests and connections end: one site each (INV-RELEASE).
//!
//! A buffer that the kernel may still read or write is not given to anybody else: a request whose
//! answer is being sent when its connection ends keeps reservation and slot until the caller says that
//! the socket is closed.

use ingress_ledger::{ConnectionUse, Lane, Owner};

use crate::connection::record::{After, Operations, Phase};
use crate::connection::table::list_of;
use crate::flow::Outcome;
use crate::ids::ConnId;
use crate::server::{Ending, Server};

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Ends a request: gives its reservation and its slot back.
    pub(crate) fn release_request(&mut self, conn: ConnId, outcome: Outcome) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        record.body = None;
        let slot = record.slot.take();
        let has_left = record.phase == Phase::Closing && slot.is_some();
        if let Some(reservation) = record.reservation.take() {
            #[cfg(feature = "broken-leak-on-cancel")]
            let Some(reservation) =
                crate::connection::broken::forget_if_cancelled(reservation, outcome)
            else {
                return;
            };
            let ledger = &mut self.state.ledger;
            let released = match outcome {
                Outcome::Served => ledger.complete(reservation, &mut record.usage),
                Outcome::Cancelled => ledger.cancel(reservation, &mut record.usage),
            };
            // Neither can be refused: the reservation is this ledger's and this connection's, and it
            // was served from a slot. If it is all the same, its token counts as leaked too.
            if released.is_err() {
                self.state
                    .fault("the ledger refused a reservation of its own");
            }
            self.state.note_activity();
        }
        if let Some(slot) = slot {
            self.memory.free_slot(slot);
        }
        if has_left {
            let lane = self.lane(conn);
            match self.state.leaving[lane].checked_sub(1) {
                Some(leaving) => self.state.leaving[lane] = leaving,
                None => self.state.fault("a slot left that was not leaving"),
            }
        }
    }

    /// Ends a connection: gives its permit back and has its socket closed.
    pub(crate) fn end(&mut self, conn: ConnId, ending: Ending) {
        let Some(record) = self.memory.record(conn) else {
            return;
        };
        if record.phase == Phase::Closing {
            return;
        }
        let is_being_read = record.outstanding.send;
        if let Some(permit) = record.permit.take()
            && self.state.permits.release(permit).is_err()
        {
            self.state.fault("a permit was refused where it was issued");
        }
        if let Some((permit, _)) = record.refusal.take() {
            if !record.output.is_empty() {
                let unsent = &mut self.state.service[permit.lane()].refusals_unsent;
                *unsent = unsent.saturating_add(1);
            }
            if self.state.permits.release_refusal(permit).is_err() {
                self.state
                    .fault("a refusal's permit was refused where it was issued");
            }
        }
        record.wanted = match ending {
            Ending::Close => Operations {
                close: true,
                ..Operations::NONE
            },
            Ending::Abort => Operations {
                abort: true,
                ..Operations::NONE
            },
        };
        let lane = record.lane();
        if !is_being_read {
            self.release_request(conn, Outcome::Cancelled);
        } else if record.slot.is_some() {
            self.state.leaving[lane] = self.state.leaving[lane].saturating_add(1);
        }
        self.state.note_activity();
        self.enter(conn, Phase::Closing);
        self.memory.deadlines.cancel(conn.index());
        self.memory.ready.push(list_of(lane), conn.index());
    }

    /// Forgets a connection whose socket is closed.
    pub(crate) fn forget(&mut self, conn: ConnId) {
        let lane = self.lane(conn);
        self.release_request(conn, Outcome::Cancelled);
        self.state.release_record(lane);
        self.memory.ready.remove(conn.index());
        self.enter(conn, Phase::Free);
        self.memory.free_record(conn);
        match self.state.live.checked_sub(1) {
            Some(live) => self.state.live = live,
            None => self
                .state
                .fault("more connections were forgotten than were open"),
        }
    }

    /// The peer sends no more and is owed nothing.
    pub(crate) fn close_after_peer(&mut self, conn: ConnId) {
        self.end(conn, Ending::Close);
    }

    /// Gives up a connection that came to a closed lane, without asking for a permit.
    pub(crate) fn turn_away(&mut self, conn: ConnId, lane: Lane) {
        self.reset_record(conn, ConnectionUse::new(lane, Owner(conn.to_word())), None);
        let count = &mut self.state.service[lane].turned_away;
        *count = count.saturating_add(1);
        self.end(conn, Ending::Abort);
    }

    /// What follows the answer to a request that was read whole. Where the next newcomer would have to
    /// be refused, whoever has asked again already makes room for it.
    pub(crate) fn after_request(&self, conn: ConnId) -> After {
        let Some(record) = self.memory.peek(conn) else {
            return After::Close;
        };
        let must_end = self.state.drain.is_some()
            || !record.input.is_empty() && self.is_crowded(record.lane());
        match record.request.persistence {
            crate::http::head::Persistence::Close if record.input.is_empty() => After::Close,
            crate::http::head::Persistence::KeepAlive if !must_end => After::NextRequest,
            _ => After::Linger,
        }
    }
}
