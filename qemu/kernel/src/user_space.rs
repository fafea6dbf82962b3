//! What the kernel reaches of a process: its memory and the page of its queues.
//!
//! On the target both are the process's page tables (`memory/user.rs` of the
//! binary); in tests they are plain bytes. Whatever stands above this trait can
//! therefore be run, and lied to, on the host.

use capos_config::ring::{CapCqe, CapSqe};

use crate::user_range::UserRange;

/// A user range is not mapped, or not as needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotMapped;

/// What the kernel is to do with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Read it.
    Read,
    /// Write it.
    Write,
}

/// A process's memory. A process has one thread and does not run while the
/// kernel does, so a range that was checked stays good until the kernel returns
/// to it; a call that waits is checked anew when it goes on.
pub trait UserSpace {
    /// The page of the queues.
    type Queues: Queues;

    /// The page of the queues.
    fn queues(&self) -> &Self::Queues;

    /// Checks that all of `range` is mapped for `purpose`.
    ///
    /// # Errors
    /// When it is not.
    fn check(&self, range: UserRange, purpose: Purpose) -> Result<(), NotMapped>;

    /// Copies from user memory into all of `target`; the range is as long.
    ///
    /// # Errors
    /// When the range is not mapped, or of another length.
    fn read(&self, range: UserRange, target: &mut [u8]) -> Result<(), NotMapped>;

    /// Copies all of `source` to user memory; the range is as long.
    ///
    /// # Errors
    /// As [`UserSpace::read`].
    fn write(&self, range: UserRange, source: &[u8]) -> Result<(), NotMapped>;

    /// Lends the range to `body`, piece by piece, for writing; stops when it
    /// says no.
    ///
    /// # Errors
    /// When a piece is not mapped for writing.
    fn with_writable(
        &self,
        range: UserRange,
        body: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), NotMapped>;

    /// Lends the range to `body`, piece by piece, for reading; stops when it
    /// says no.
    ///
    /// # Errors
    /// When a piece is not mapped.
    fn with_readable(
        &self,
        range: UserRange,
        body: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), NotMapped>;
}

/// The page that a process and the kernel share. The process may write anything
/// to it at any time that it runs: each method is one access of a whole item, and
/// what it returns is a copy.
pub trait Queues {
    /// Where the process says its submissions end.
    fn submission_tail(&self) -> u32;

    /// A copy of submission `number`, which the process cannot change any more.
    fn submission(&self, number: u32) -> CapSqe;

    /// Tells the process how many submissions were taken.
    fn set_submission_head(&self, value: u32);

    /// How many completions the process says it has taken.
    fn completion_head(&self) -> u32;

    /// Writes completion `number`.
    fn set_completion(&self, number: u32, completion: CapCqe);

    /// Tells the process where its completions end.
    fn set_completion_tail(&self, value: u32);
}
