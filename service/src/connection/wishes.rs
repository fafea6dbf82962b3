//! What the caller is asked to do, in which order (INV-ORDER): connections with a wish queue by lane.

use ingress_ledger::{LANES, Lane};

use crate::action::Action;
use crate::connection::record::{Doing, Record, Stage};
use crate::connection::table::Place;
use crate::server::Server;

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// The next thing to do: for the protected lanes first (INV-ORDER).
    pub fn next_action(&mut self) -> Option<Action> {
        self.next_protected_action()
            .or_else(|| self.next_public_action())
    }

    /// The next thing to do for a lane that owns a reserve; these lanes take turns.
    pub fn next_protected_action(&mut self) -> Option<Action> {
        let after_last = self.state.served_last.index().saturating_add(1);
        let turns = Lane::ALL.into_iter().cycle().skip(after_last).take(LANES);
        for lane in turns.filter(|lane| lane.is_protected()) {
            if let Some(action) = self.next_action_of(lane) {
                self.state.served_last = lane;
                return Some(action);
            }
        }
        None
    }

    /// The next thing to do for the public lane.
    pub fn next_public_action(&mut self) -> Option<Action> {
        self.next_action_of(Lane::Anonymous)
    }

    /// Whether there may be something to do for a lane that owns a reserve.
    #[must_use]
    pub fn has_protected_action(&self) -> bool {
        let mut protected = Lane::ALL.into_iter().filter(|lane| lane.is_protected());
        protected.any(|lane| self.has_action_of(lane))
    }

    /// Whether there may be something to do at all; taking actions tells.
    #[must_use]
    pub fn has_action(&self) -> bool {
        self.has_protected_action() || self.has_action_of(Lane::Anonymous)
    }

    fn has_action_of(&self, lane: Lane) -> bool {
        self.memory.ready.first(lane as u16).is_some()
    }

    fn next_action_of(&mut self, lane: Lane) -> Option<Action> {
        let list = lane as u16;
        while let Some(index) = self.memory.ready.first(list) {
            self.memory.ready.remove(index);
            let at = self.memory.place(index)?;
            let action = self.take_action(at);
            if !self.memory[at].wanted.is_empty() {
                self.memory.ready.push(list, index);
            }
            if action.is_some() {
                return action;
            }
        }
        None
    }

    /// Moves the most urgent wanted operation over to the outstanding ones.
    fn take_action(&mut self, at: Place) -> Option<Action> {
        let conn = self.memory.id_of(at);
        let Record {
            wanted,
            outstanding,
            stage,
            ..
        } = &mut self.memory[at];
        if core::mem::take(&mut wanted.abort) {
            outstanding.abort = true;
            return Some(Action::Abort(conn));
        }
        if core::mem::take(&mut wanted.close) {
            outstanding.close = true;
            return Some(Action::Close(conn));
        }
        if core::mem::take(&mut wanted.send) {
            outstanding.send = true;
            return Some(Action::Send(conn));
        }
        if core::mem::take(&mut wanted.receive) {
            outstanding.receive = true;
            return Some(Action::Receive(conn));
        }
        if core::mem::take(&mut wanted.start)
            && let Stage::Open {
                doing: Doing::Working { job, .. },
                ..
            } = stage
        {
            let job = *job;
            return Some(Action::Start(job, self.state.jobs.start(job)?));
        }
        None
    }
}
