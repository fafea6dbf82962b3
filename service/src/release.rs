//! How requests and connections end: one site each (INV-RELEASE).
//!
//! A buffer that the kernel may still read or write is not given to anybody else: a request whose
//! answer is being sent when its connection ends keeps reservation and slot until the caller says that
//! the socket is closed. What a body left in the input is wiped when its request is released, or when
//! the socket is closed if the input is lent until then (INV-WIPE).

use ingress_ledger::{ConnectionUse, IngressReservation, Lane, Owner};

use crate::connection::record::{After, Doing, Held, Operations, Reason, Stage};
use crate::connection::table::{Parts, Place};
use crate::http::head::Persistence;
use crate::server::Server;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Its answer was sent in full.
    Served,
    /// In any other way.
    Cancelled,
}

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Ends an admitted request: gives its slot and its reservation back.
    pub(crate) fn release_held(&mut self, at: Place, held: Held, ended: Ended) {
        let Held { reservation, slot } = held;
        self.memory.free_slot(slot);
        self.release_reservation(at, reservation, ended);
    }

    /// Ends an admitted request that has no slot, or none any more.
    pub(crate) fn release_reservation(
        &mut self,
        at: Place,
        reservation: IngressReservation<'static>,
        ended: Ended,
    ) {
        self.release_input(at);
        #[cfg(feature = "broken-leak-on-cancel")]
        let Some(reservation) = crate::connection::broken::forget_if_cancelled(reservation, ended)
        else {
            return;
        };
        let usage = &mut self.memory[at].usage;
        let ledger = &mut self.state.ledger;
        let released = match ended {
            Ended::Served => ledger.complete(reservation, usage),
            Ended::Cancelled => ledger.cancel(reservation, usage),
        };
        // Neither can be refused: the reservation is this ledger's and this connection's, and it
        // was served from a slot. If it is all the same, its token counts as leaked too.
        if released.is_err() {
            self.state
                .fault("the ledger refused a reservation of its own");
        }
        self.state.note_activity();
    }

    /// The input holds no request any more, nor what its body has left.
    pub(crate) fn release_input(&mut self, at: Place) {
        let Parts { record, input, .. } = self.memory.parts(at);
        record.input.release(input);
    }

    /// Ends a connection: takes its stage apart, gives its permit back, and has its socket closed.
    pub(crate) fn end(&mut self, at: Place, reason: Reason) {
        let record = &mut self.memory[at];
        if matches!(record.stage, Stage::Closing { .. }) {
            return;
        }
        let lane = record.lane();
        record.wanted = if reason.is_in_order() {
            Operations {
                close: true,
                ..Operations::NONE
            }
        } else {
            Operations {
                abort: true,
                ..Operations::NONE
            }
        };
        let is_being_read = record.outstanding.send;
        let left = None;
        let stage = core::mem::replace(&mut record.stage, Stage::Closing { reason, left });
        match stage {
            Stage::Refused { permit, output, .. } => {
                if !output.is_empty() {
                    let unsent = &mut self.state.service[lane].refusals_unsent;
                    *unsent = unsent.saturating_add(1);
                }
                if self.state.permits.release_refusal(permit).is_err() {
                    self.state
                        .fault("a refusal's permit was refused where it was issued");
                }
            }
            Stage::Open { permit, doing } => {
                if self.state.permits.release(permit).is_err() {
                    self.state.fault("a permit was refused where it was issued");
                }
                self.leave(at, doing, is_being_read, reason);
            }
            Stage::Free | Stage::Closing { .. } => {}
        }
        self.count_end(lane, reason);
        self.state.note_activity();
        self.note_stage(at);
        self.memory.deadlines.cancel(at.index());
        self.note_wish(at);
    }

    /// Gives back what a connection holds where it is interrupted.
    fn leave(&mut self, at: Place, doing: Doing, is_being_read: bool, reason: Reason) {
        match doing {
            Doing::Waiting { reservation } => {
                self.release_reservation(at, reservation, Ended::Cancelled);
            }
            Doing::Working { held, job } => {
                self.state.jobs.give_up(job);
                self.release_held(at, held, Ended::Cancelled);
            }
            Doing::Serving { held, .. } if is_being_read => {
                let lane = self.memory[at].lane();
                self.state.leaving[lane] = self.state.leaving[lane].saturating_add(1);
                let left = Some(held);
                self.memory[at].stage = Stage::Closing { reason, left };
            }
            Doing::Serving { held, .. } => self.release_held(at, held, Ended::Cancelled),
            Doing::Fresh
            | Doing::Idle
            | Doing::Head
            | Doing::Body { .. }
            | Doing::Telling { .. }
            | Doing::Lingering { .. }
            | Doing::Session { .. } => {}
        }
    }

    /// Counts the ends that evidence tells apart.
    fn count_end(&mut self, lane: Lane, reason: Reason) {
        let service = &mut self.state.service[lane];
        let count = match reason {
            Reason::IdleClosed => &mut service.idle_closed,
            Reason::GaveWay | Reason::Unread => &mut service.gave_way,
            Reason::TimedOut | Reason::Drained | Reason::DrainedUnread => &mut service.timed_out,
            Reason::TurnedAway => &mut service.conns_turned_away,
            Reason::Defect => return self.state.fault("a connection was ended by a defect"),
            Reason::Answered
            | Reason::Told
            | Reason::PeerDone
            | Reason::Silent
            | Reason::Failed
            | Reason::Untold => return,
        };
        *count = count.saturating_add(1);
    }

    /// Forgets a connection whose socket is closed.
    pub(crate) fn forget(&mut self, at: Place) {
        let lane = self.memory[at].lane();
        let stage = core::mem::replace(&mut self.memory[at].stage, Stage::Free);
        if let Stage::Closing {
            left: Some(held), ..
        } = stage
        {
            self.release_held(at, held, Ended::Cancelled);
            match self.state.leaving[lane].checked_sub(1) {
                Some(leaving) => self.state.leaving[lane] = leaving,
                None => self.state.fault("a slot left that was not leaving"),
            }
        }
        let Parts { record, input, .. } = self.memory.parts(at);
        record.input.discard_closed(input);
        self.state.release_record(lane);
        self.memory.ready.remove(at.index());
        self.note_stage(at);
        self.memory.free_record(at);
        match self.state.live.checked_sub(1) {
            Some(live) => self.state.live = live,
            None => self
                .state
                .fault("more connections were forgotten than were open"),
        }
    }

    /// The peer sends no more and is owed nothing.
    pub(crate) fn close_after_peer(&mut self, at: Place) {
        self.end(at, Reason::PeerDone);
    }

    /// Gives up a connection that came to a closed lane, without asking for a permit.
    pub(crate) fn turn_away(&mut self, at: Place, lane: Lane) {
        let usage = ConnectionUse::new(lane, Owner(self.memory.id_of(at).to_word()));
        self.reset_record(at, usage, Stage::Free);
        self.end(at, Reason::TurnedAway);
    }

    /// What follows the answer to a request that was read whole. Where the next newcomer would have to
    /// be refused, whoever has asked again already makes room for it.
    pub(crate) fn after_request(&self, at: Place) -> After {
        let record = &self.memory[at];
        let must_end = self.state.drain.is_some()
            || !record.input.is_empty() && self.is_crowded(record.lane());
        match record.asked.persistence {
            Persistence::Close if record.input.is_empty() => After::Close,
            Persistence::KeepAlive if !must_end => After::NextRequest,
            _ => After::Linger,
        }
    }
}
