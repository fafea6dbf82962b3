//! A process: what it holds, what it waits for, what it is told.

use alloc::collections::VecDeque;
use alloc::string::String;

use capos_abi::PROCESS_TIMER_SLEEP_WAITER_LIMIT;
use capos_config::ring::CapCqe;

use super::queues::{Corrupt, Next, Progress};
use crate::call::kinds::Object;
use crate::call::reply::Raised;
use crate::call::ticket::{ProcessIndex, Ticket};
use crate::cap_table::CapTable;
use crate::entry_budget::EntryBudget;
use crate::platform::Platform;
use crate::user_space::UserSpace;

/// Complaints about one process that are printed.
const COMPLAINTS_MAX: u32 = 16;

/// Ticks of computing without a system call after which a process is told of:
/// 1 s of the processor, a thousand times what an honest one takes.
const SILENT_TICKS: u32 = 100;

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing: it can run.
    Nothing,
    /// Completions, in `cap_enter`.
    Completions {
        /// So many must be in its queue.
        least: u32,
        /// Or this moment must have come.
        deadline: Option<u64>,
    },
}

/// A sleep under way.
#[derive(Clone, Copy, Debug)]
pub struct Sleep {
    /// When it ends.
    pub until: u64,
    /// Whose call it is.
    pub ticket: Ticket,
}

/// A process.
pub struct Process<S> {
    /// Its place among all.
    pub index: ProcessIndex,
    /// Its name on the console.
    pub name: String,
    /// Its number, from 1.
    pub pid: u32,
    /// Its memory.
    pub space: S,
    /// What it may use.
    pub caps: CapTable<Object>,
    progress: Progress,
    /// What it waits for.
    pub waiting: Waiting,
    /// Its sleeps.
    sleeps: [Option<Sleep>; PROCESS_TIMER_SLEEP_WAITER_LIMIT],
    /// Calls whose object is gone, to be completed so.
    cancelled: VecDeque<Ticket>,
    complaints: u32,
    /// Ticks that found it computing since its last system call.
    silent_ticks: u32,
}

impl<S> Process<S> {
    /// A process that has done nothing yet.
    pub fn new(index: ProcessIndex, name: String, space: S, caps: CapTable<Object>) -> Self {
        Self {
            index,
            name,
            pid: index.number(),
            space,
            caps,
            progress: Progress::default(),
            waiting: Waiting::Nothing,
            sleeps: [None; PROCESS_TIMER_SLEEP_WAITER_LIMIT],
            cancelled: VecDeque::new(),
            complaints: 0,
            silent_ticks: 0,
        }
    }

    /// It makes a system call.
    pub const fn calls(&mut self) {
        self.silent_ticks = 0;
    }

    /// A tick finds it computing at `rip`. Nobody else may ever hear of it, so
    /// one that does nothing else is told of, once.
    pub fn computes(&mut self, platform: &mut impl Platform, rip: u64) {
        self.silent_ticks = self.silent_ticks.saturating_add(1);
        if self.silent_ticks == SILENT_TICKS {
            self.complain(
                platform,
                format_args!(
                    "has computed for {SILENT_TICKS} ticks without a system call: rip={rip:#x}"
                ),
            );
        }
    }

    /// Says on the console what the process did wrong; after many times no more.
    pub fn complain(&mut self, platform: &mut impl Platform, what: core::fmt::Arguments<'_>) {
        self.complaints = self.complaints.saturating_add(1);
        let (name, pid) = (&self.name, self.pid);
        if self.complaints < COMPLAINTS_MAX {
            platform.print(format_args!("process {name} pid={pid} {what}"));
        } else if self.complaints == COMPLAINTS_MAX {
            platform.print(format_args!(
                "process {name} pid={pid} {what}; further complaints are not printed"
            ));
        }
    }

    /// Puts a sleep among the process's.
    ///
    /// # Errors
    /// When it has as many as it may.
    pub fn sleep(&mut self, sleep: Sleep) -> Result<(), Raised> {
        let free = self
            .sleeps
            .iter_mut()
            .find(|slot| slot.is_none())
            .ok_or(Raised::overloaded("too many sleeps at once"))?;
        *free = Some(sleep);
        Ok(())
    }

    /// Takes a sleep that is over.
    pub fn wakes(&mut self, now: u64) -> Option<Ticket> {
        self.sleeps
            .iter_mut()
            .find(|slot| slot.is_some_and(|sleep| sleep.until <= now))
            .and_then(Option::take)
            .map(|sleep| sleep.ticket)
    }

    /// Notes calls that waited for an object that is gone.
    pub fn cancel(&mut self, waiting: impl IntoIterator<Item = Ticket>) {
        self.cancelled.extend(waiting);
    }

    /// Takes the oldest call whose object is gone.
    pub fn next_cancelled(&mut self) -> Option<Ticket> {
        self.cancelled.pop_front()
    }

    /// Whether it waits, in a system call.
    pub fn is_waiting(&self) -> bool {
        self.waiting != Waiting::Nothing
    }

    /// The earliest moment at which it must be looked at again.
    pub fn next_deadline(&self) -> Option<u64> {
        let waits = match self.waiting {
            Waiting::Completions { deadline, .. } => deadline,
            Waiting::Nothing => None,
        };
        let sleeps = self.sleeps.iter().flatten().map(|sleep| sleep.until);
        sleeps.chain(waits).min()
    }
}

/// Its queues.
impl<S: UserSpace> Process<S> {
    /// The next submission, if there is one, there is room for its completion,
    /// and `budget` is left for it.
    ///
    /// # Errors
    /// When the indices are corrupt; what was submitted is dropped, as the
    /// published rule says.
    pub fn take_submission(&mut self, budget: &mut EntryBudget) -> Result<Next, Corrupt> {
        self.progress.take(self.space.queues(), budget)
    }

    /// Completions that the process has not taken yet.
    ///
    /// # Errors
    /// When the indices are corrupt.
    pub fn completions(&self) -> Result<u32, Corrupt> {
        self.progress.completions(self.space.queues())
    }

    /// Whether another completion can be posted; never into a corrupt queue.
    pub fn has_room(&self) -> bool {
        self.progress.has_room(self.space.queues())
    }

    /// Posts a completion; the caller has checked for room.
    pub fn post(&mut self, completion: CapCqe) {
        self.progress.post(self.space.queues(), completion);
    }

    /// Submissions that were taken and have no completion yet.
    pub const fn pending(&self) -> u32 {
        self.progress.pending()
    }
}
