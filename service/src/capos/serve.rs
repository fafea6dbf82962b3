//! The serve loop: one turn after the other, one entry into the kernel each.
//!
//! ```text
//!  accepts ─┐                       ┌─ clock    ─▶ now
//!  releases ┼─▶ SQ ─▶ enter ─▶ CQ ──┼─ accepted ─▶ permit ─▶ record
//!  actions ─┘        (waits only    ├─ received, sent, failed ─▶ server
//!                     when idle)    └─ closed   ─▶ record free
//! ```
//!
//! A turn's completions are told to the server in the kernel's order, all with
//! the time of that turn. Nothing here branches on what is in a request.

use remote_session_web_ui::action::Action;
use remote_session_web_ui::policy::STRUCTURAL_SLOTS;
use remote_session_web_ui::server::Server;

use super::clock::Clock;
use super::console::Console;
use super::fault::Fault;
use super::listeners::Listeners;
use super::ring::{Ring, Wait};
use super::sockets::{CONNS, Releases, Sockets};

/// Responses in memory at once.
pub(super) const SLOTS: usize = STRUCTURAL_SLOTS as usize;
/// Longest wait in the kernel, so that no lost wake-up lasts.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Wait while the clock cannot be read, or the console takes nothing.
const BLIND_WAIT_NS: u64 = 10_000_000;
/// The running service.
pub(super) struct Service<'m> {
    pub(super) ring: &'m mut Ring,
    pub(super) clock: Clock,
    pub(super) console: &'m mut Console,
    pub(super) listeners: &'m mut Listeners,
    pub(super) sockets: &'m mut Sockets,
    pub(super) releases: &'m mut Releases,
    pub(super) server: Server<'m, CONNS, SLOTS>,
    /// An action that found no room in the ring.
    pub(super) next: Option<Action>,
}

impl Service<'_> {
    /// Serves until a drain has come to its end.
    ///
    /// # Errors
    /// The first [`Fault`]; the process ends with it.
    pub(super) fn run(&mut self) -> Result<(), Fault> {
        while !(self.server.finished() && self.console.is_idle()) {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), Fault> {
        self.submit()?;
        self.ring.enter(Wait::Not)?;
        let busy = self.complete()?;
        self.server.tick(self.clock.now());
        self.report();
        if busy || self.has_work() {
            return Ok(());
        }
        self.ring.enter(self.patience())
    }

    /// Whether there is something to submit at once.
    fn has_work(&mut self) -> bool {
        if self.next.is_none() {
            self.next = self.server.next_action();
        }
        self.next.is_some() || !self.releases.is_empty() || self.console.has_next()
    }

    /// How long nothing needs to be done unless something happens.
    fn patience(&self) -> Wait {
        let Some(now) = self.clock.now() else {
            return Wait::For(BLIND_WAIT_NS);
        };
        let until = self
            .server
            .next_deadline()
            .map_or(LONGEST_WAIT_NS, |deadline| deadline.since(now).as_nanos());
        // Evidence that finds no room on the console stays due; it must not spin.
        let least = if self.console.has_room() {
            0
        } else {
            BLIND_WAIT_NS
        };
        Wait::For(until.clamp(least, LONGEST_WAIT_NS))
    }

    fn report(&mut self) {
        if self.console.has_room() && self.server.evidence_due(self.clock.now()) {
            let evidence = self.server.evidence();
            self.console
                .say(format_args!("[web-ui] evidence {evidence}"));
        }
    }
}
