//! A process's memory: one piece that it may write, one that it may only read,
//! and its queues.

use std::cell::{Cell, RefCell};

use capos_config::ring::{CQ_ENTRIES, CapCqe, CapSqe, SQ_ENTRIES};
use harness_kernel::user_range::{UserRange, page_pieces};
use harness_kernel::user_space::{NotMapped, Purpose, Queues, UserSpace};

/// Where the memory is.
pub(crate) const BASE: u64 = 0x20_0000;
/// First address that may only be read.
pub(crate) const READ_ONLY: u64 = BASE + 0x4_0000;
/// End of it all.
pub(crate) const END: u64 = READ_ONLY + 0x1000;

/// The memory.
pub(crate) struct Memory {
    bytes: RefCell<Vec<u8>>,
    ring: Ring,
}

/// The queues, as both sides see them.
#[derive(Default)]
pub(crate) struct Ring {
    pub(crate) submissions: RefCell<Vec<Option<CapSqe>>>,
    pub(crate) submission_tail: Cell<u32>,
    pub(crate) submission_head: Cell<u32>,
    pub(crate) completions: RefCell<Vec<Option<CapCqe>>>,
    pub(crate) completion_head: Cell<u32>,
    pub(crate) completion_tail: Cell<u32>,
}

impl Memory {
    pub(crate) fn new() -> Self {
        let ring = Ring::default();
        ring.submissions
            .borrow_mut()
            .resize(SQ_ENTRIES as usize, None);
        ring.completions
            .borrow_mut()
            .resize(CQ_ENTRIES as usize, None);
        Self {
            bytes: RefCell::new(vec![0; (END - BASE) as usize]),
            ring,
        }
    }

    /// Where `range` lies in the bytes.
    fn place(range: UserRange, purpose: Purpose) -> Result<std::ops::Range<usize>, NotMapped> {
        let end = match purpose {
            Purpose::Read => END,
            Purpose::Write => READ_ONLY,
        };
        let last = range.start() + u64::from(range.length());
        if range.start() < BASE || last > end {
            return Err(NotMapped);
        }
        Ok((range.start() - BASE) as usize..(last - BASE) as usize)
    }

    /// Puts `bytes` at `address`, whatever the kernel may do there.
    pub(crate) fn put(&self, address: u64, bytes: &[u8]) {
        let start = (address - BASE) as usize;
        self.bytes.borrow_mut()[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// The `count` bytes at `address`.
    pub(crate) fn get(&self, address: u64, count: usize) -> Vec<u8> {
        let start = (address - BASE) as usize;
        self.bytes.borrow()[start..start + count].to_vec()
    }
}

impl UserSpace for Memory {
    type Queues = Ring;

    fn queues(&self) -> &Ring {
        &self.ring
    }

    fn check(&self, range: UserRange, purpose: Purpose) -> Result<(), NotMapped> {
        Self::place(range, purpose).map(|_| ())
    }

    fn read(&self, range: UserRange, target: &mut [u8]) -> Result<(), NotMapped> {
        let place = Self::place(range, Purpose::Read)?;
        target.copy_from_slice(&self.bytes.borrow()[place]);
        Ok(())
    }

    fn write(&self, range: UserRange, source: &[u8]) -> Result<(), NotMapped> {
        let place = Self::place(range, Purpose::Write)?;
        self.bytes.borrow_mut()[place].copy_from_slice(source);
        Ok(())
    }

    fn with_writable(
        &self,
        range: UserRange,
        mut body: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), NotMapped> {
        for piece in page_pieces(range) {
            let part = UserRange::new(piece.address, piece.length as u32).unwrap();
            let place = Self::place(part, Purpose::Write)?;
            if !body(&mut self.bytes.borrow_mut()[place]) {
                break;
            }
        }
        Ok(())
    }

    fn with_readable(
        &self,
        range: UserRange,
        mut body: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), NotMapped> {
        for piece in page_pieces(range) {
            let part = UserRange::new(piece.address, piece.length as u32).unwrap();
            let place = Self::place(part, Purpose::Read)?;
            if !body(&self.bytes.borrow()[place]) {
                break;
            }
        }
        Ok(())
    }
}

impl Queues for Ring {
    fn submission_tail(&self) -> u32 {
        self.submission_tail.get()
    }

    fn submission(&self, number: u32) -> CapSqe {
        self.submissions.borrow()[(number % SQ_ENTRIES) as usize].unwrap()
    }

    fn set_submission_head(&self, value: u32) {
        self.submission_head.set(value);
    }

    fn completion_head(&self) -> u32 {
        self.completion_head.get()
    }

    fn set_completion(&self, number: u32, completion: CapCqe) {
        self.completions.borrow_mut()[(number % CQ_ENTRIES) as usize] = Some(completion);
    }

    fn set_completion_tail(&self, value: u32) {
        self.completion_tail.set(value);
    }
}
