//! `cap_enter`, but for what the machine has to do with it: submissions in, and
//! after the devices had their turn, completions out and how the call returns.

use capos_config::ring::CQ_ENTRIES;

use super::complete::complete;
use super::deliver::deliver;
use super::submit::carry_out;
use crate::call::scratch::Scratch;
use crate::entry_budget::EntryBudget;
use crate::object::world::World;
use crate::platform::Platform;
use crate::process::queues::{Corrupt, Next};
use crate::process::state::{Process, Waiting};

const WAIT_FOR_EVER: u64 = u64::MAX;
/// Why a process ends that has broken its completion queue.
const BROKEN_COMPLETIONS: &str = "completion queue indices are corrupt";

/// What is left of a process's submissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing that could be taken now.
    Nothing,
    /// More than one entry does.
    Some,
}

/// What a process asks of `cap_enter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    least: u32,
    timeout: u64,
}

impl Asked {
    /// As it stands in the registers.
    #[must_use]
    pub fn new(least: u64, timeout: u64) -> Self {
        let least = u32::try_from(least).unwrap_or(u32::MAX).min(CQ_ENTRIES);
        Self { least, timeout }
    }
}

/// How an entry goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// It returns so many completions.
    Returns(u32),
    /// It returns that it is rejected.
    Rejected,
    /// It is made anew, for what is left of the submissions, when the process
    /// has the processor again. Until then it wants it like any other, and pays
    /// for it.
    CallsAgain,
    /// The process waits.
    Waits,
    /// The process has broken this rule, and ends.
    Broke(&'static str),
}

/// A process in the kernel: what its entries work on.
pub struct Entry<'k, P: Platform> {
    /// Everything but processes.
    pub world: &'k mut World<P>,
    /// The process.
    pub process: &'k mut Process<P::Space>,
    /// Memory for its calls.
    pub scratch: &'k mut Scratch,
}

impl<P: Platform> Entry<'_, P> {
    /// Takes submissions while their completions have room and the entry's budget
    /// lasts.
    ///
    /// # Errors
    /// When the indices are corrupt; the queue is empty then.
    pub fn take_submissions(&mut self) -> Result<Left, Corrupt> {
        let mut budget = EntryBudget::new();
        loop {
            match self.process.take_submission(&mut budget)? {
                Next::Nothing => return Ok(Left::Nothing),
                Next::Later => return Ok(Left::Some),
                Next::Submission(submission) => {
                    let over = carry_out(self.world, self.process, self.scratch, &submission);
                    if let Some(over) = over {
                        complete(self.process, over);
                    }
                }
            }
        }
    }

    /// Completes what can be completed for the process, which waits for `least`
    /// completions.
    pub fn deliver(&mut self, least: u32) {
        deliver(self.world, self.process, &mut self.scratch.answer, least);
    }

    /// Ends an entry whose submissions were `taken`.
    pub fn conclude(&mut self, asked: Asked, taken: Result<Left, Corrupt>) -> Entered {
        let Asked { least, timeout } = asked;
        self.deliver(least);
        let Ok(available) = self.process.completions() else {
            return Entered::Broke(BROKEN_COMPLETIONS);
        };
        let Ok(left) = taken else {
            self.complain(format_args!(
                "submission queue indices are corrupt; it was emptied"
            ));
            return Entered::Rejected;
        };
        if available >= least || timeout == 0 {
            return Entered::Returns(available);
        }
        if left == Left::Some {
            return Entered::CallsAgain;
        }
        let pending = self.process.pending();
        if timeout == WAIT_FOR_EVER && available.saturating_add(pending) < least {
            self.complain(format_args!(
                "waits for ever: for {least} completions, of which {available} are there and {pending} may come"
            ));
        }
        let now = self.world.platform.now();
        let deadline = (timeout != WAIT_FOR_EVER).then(|| now.saturating_add(timeout));
        self.process.waiting = Waiting::Completions { least, deadline };
        Entered::Waits
    }

    /// Looks after a process that waits: delivers what is ready for it. How its
    /// entry ends, if that ends the wait.
    pub fn look_after(&mut self, now: u64) -> Option<Entered> {
        let Waiting::Completions { least, deadline } = self.process.waiting else {
            return None;
        };
        self.deliver(least);
        match self.process.completions() {
            Ok(available) if available >= least || deadline.is_some_and(|at| at <= now) => {
                self.process.waiting = Waiting::Nothing;
                Some(Entered::Returns(available))
            }
            Ok(_) => None,
            Err(_) => Some(Entered::Broke(BROKEN_COMPLETIONS)),
        }
    }

    fn complain(&mut self, what: core::fmt::Arguments<'_>) {
        self.process.complain(&mut self.world.platform, what);
    }
}
