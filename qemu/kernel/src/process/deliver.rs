//! What is ready for a process, into its completion queue.
//!
//! Order: calls whose object is gone, sleeps that are over, the terminal's
//! line, then a piece of the network's objects, transports in turn (KERNEL-FAIR-COMPLETION). What
//! finds no room stays where it is.

use super::{ProcessIndex, Sleep};
use crate::kernel::Kernel;
use crate::network::ReadyObject;
use crate::object::{Object, answer, listen, network_manager, socket, terminal};
use crate::syscall::complete::{Raised, Reply};
use crate::time;

/// Objects of the network that one delivery takes, or as many as a process needs that waits. The
/// completion queue is first in, first out: what is not in it yet can still be passed.
const PIECE: u32 = 8;

const GONE: Raised = Raised::disconnected("the object was closed");

impl Kernel {
    /// Completes what can be completed for process `index`, which waits for `least`
    /// completions: of the network's objects a piece.
    pub(crate) fn deliver(&mut self, index: ProcessIndex, least: u32) {
        self.deliver_cancelled(index);
        self.deliver_sleeps(index);
        if self.has_room(index) && self.terminal.is_ready_for(index) {
            terminal::finish(self, index);
        }
        let mut taken = 0_u32;
        while self.has_room(index) && (taken < PIECE || self.available(index) < least) {
            taken = taken.saturating_add(1);
            match self.network.next_ready(index) {
                Some(ReadyObject::Connection(id)) => self.continue_connection(index, id),
                Some(ReadyObject::Listener(id)) => listen::continue_accept(self, index, id),
                None => return,
            }
        }
    }

    /// Gives back what a capability referred to, and cancels the calls that
    /// wait for it. Objects that nobody owns alone stay as they are.
    pub(crate) fn release_object(&mut self, index: ProcessIndex, object: Object) {
        match object {
            Object::Listener(id) => self.close_listener(index, id),
            Object::Socket(id) => {
                let waiting = self.network.close_connection(id);
                if let Some(process) = self.process_mut(index) {
                    process.cancelled.extend(waiting.into_iter().flatten());
                }
            }
            _ => {}
        }
    }

    /// Closes a listener and cancels the accepts that wait for it.
    pub(crate) fn close_listener(&mut self, index: ProcessIndex, id: harness_net::ListenerId) {
        let waiting = self.network.close_listener(id);
        if let Some(process) = self.process_mut(index) {
            process.cancelled.extend(waiting);
        }
    }

    fn available(&mut self, index: ProcessIndex) -> u32 {
        self.process_mut(index)
            .and_then(|process| process.completions().ok())
            .unwrap_or(u32::MAX)
    }

    fn has_room(&mut self, index: ProcessIndex) -> bool {
        self.process_mut(index)
            .is_some_and(|process| process.has_room())
    }

    fn deliver_cancelled(&mut self, index: ProcessIndex) {
        while self.has_room(index) {
            let Some(ticket) = self
                .process_mut(index)
                .and_then(|p| p.cancelled.pop_front())
            else {
                return;
            };
            answer(self, index, ticket, Reply::Raised(GONE));
        }
    }

    fn deliver_sleeps(&mut self, index: ProcessIndex) {
        let now = time::now();
        while self.has_room(index) {
            let Some(over) = self.process_mut(index).and_then(|process| {
                process
                    .sleeps
                    .iter_mut()
                    .find(|slot| slot.is_some_and(|sleep| sleep.until <= now))
                    .and_then(Option::take)
            }) else {
                return;
            };
            let Sleep { ticket, .. } = over;
            answer(self, index, ticket, Reply::Void);
        }
    }

    /// Each call that waits at a connection gets its chance; one without room
    /// for its completion keeps the connection among the ready.
    fn continue_connection(&mut self, index: ProcessIndex, id: harness_net::SocketId) {
        for continue_call in [
            network_manager::continue_connect,
            socket::continue_receive,
            socket::continue_send,
        ] {
            if !self.has_room(index) {
                self.network.connection_is_ready(id);
                return;
            }
            continue_call(self, index, id);
        }
    }
}
