//! The serve loop: one turn after the other, one entry into the kernel each.
//!
//! ```text
//!  clock, accepts ──┐                                  ┌─ protected: told at once
//!  protected's calls┼─▶ SQ ─▶ enter ─▶ CQ ─▶ inbox ────┤
//!  8 public calls ──┘        (waits only               └─ public: told unless a protected
//!                             when idle)                  lane has something to submit
//! ```
//!
//! Keeps INV-ORDER: what a protected lane waits for is told, and what it asks for is submitted,
//! before the public lane's; an entry carries a few public calls only, so that the next one is
//! never far; and one entry in [`HURRY_MAX`] + 1 carries public work whatever the others want.
//! Completions are told with the time of the turn. Nothing here branches on what is in a request.

use remote_session_web_ui::policy::STRUCTURAL_SLOTS;
use remote_session_web_ui::report::line::LINE_PREFIX;
use remote_session_web_ui::server::Server;

use super::clock::Clock;
use super::console::Console;
use super::fatal::Fatal;
use super::inbox::{Class, Inbox};
use super::jobs::Jobs;
use super::listeners::Listeners;
use super::ring::{Ring, Wait};
use super::sockets::{CONNS, Releases, Sockets};

/// Responses in memory at once.
pub(super) const SLOTS: usize = STRUCTURAL_SLOTS as usize;
/// Longest wait in the kernel, so that no lost wake-up lasts.
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
/// Wait while the clock cannot be read, or the console takes nothing.
const BLIND_WAIT_NS: u64 = 10_000_000;
/// Entries one after the other that carry the protected lanes' calls alone.
const HURRY_MAX: u8 = 4;

/// The running service.
pub(super) struct Service<'m> {
    pub(super) ring: &'m mut Ring,
    pub(super) clock: Clock,
    pub(super) console: &'m mut Console,
    pub(super) listeners: &'m mut Listeners,
    pub(super) sockets: &'m mut Sockets,
    pub(super) releases: &'m mut Releases,
    pub(super) jobs: &'m mut Jobs,
    pub(super) server: Server<'m, CONNS, SLOTS>,
    pub(super) inbox: Inbox,
    /// Entries since one carried public work.
    pub(super) hurry: u8,
}

impl Service<'_> {
    /// Serves until a drain has come to its end.
    ///
    /// # Errors
    /// The first [`Fatal`]; the process ends with it.
    pub(super) fn run(&mut self) -> Result<(), Fatal> {
        while !(self.server.finished() && self.console.is_idle()) {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> Result<(), Fatal> {
        self.submit()?;
        self.ring.enter(Wait::Not)?;
        self.collect()?;
        let busy = !self.inbox.is_empty();
        self.tell(Class::First)?;
        self.hurry = self.next_hurry();
        if self.hurry == 0 {
            self.tell(Class::Public)?;
        }
        self.server.tick(self.clock.now());
        self.report();
        if busy || self.has_work() {
            return Ok(());
        }
        self.ring.enter(self.patience())
    }

    /// The count of hurried entries when the next is one; 0 if it carries public work.
    fn next_hurry(&self) -> u8 {
        let hurries = self.server.has_protected_action() && !self.inbox.is_pressed();
        match self.hurry.saturating_add(1) {
            next if hurries && next <= HURRY_MAX => next,
            _ => 0,
        }
    }

    /// Whether there is something to submit or to tell at once.
    fn has_work(&self) -> bool {
        self.server.has_action()
            || !self.inbox.is_empty()
            || !self.releases.is_empty()
            || self.console.has_next()
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
            self.console.say(format_args!("{LINE_PREFIX}{evidence}"));
        }
    }
}
