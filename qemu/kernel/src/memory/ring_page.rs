//! The page that a process and the kernel share for its queues, as the kernel
//! reaches it: each access is one read or write of a whole item, since the
//! process may write anything to it.

use capos_config::ring::{self, CQ_ENTRIES, CapCqe, CapRingHeader, CapSqe, SQ_ENTRIES};

use harness_kernel::user_space::Queues;

use super::frames::Frame;

/// The page, through the kernel's map of all memory. Its address space holds it
/// and never gives up its frame, so it is good as long as it can be reached.
pub(crate) struct RingPage {
    base: *mut u8,
}

impl RingPage {
    /// Makes empty queues in `frame`, a frame of zeros, which the address space
    /// that holds the page keeps.
    pub(super) fn of(frame: &Frame) -> Self {
        let base = frame.pointer();
        // SAFETY: the frame is owned, mapped, and as large as the queues.
        unsafe { ring::init_ring_header(base.cast()) };
        Self { base }
    }

    const fn header(&self) -> *mut CapRingHeader {
        self.base.cast()
    }
}

impl Queues for RingPage {
    fn submission_tail(&self) -> u32 {
        // SAFETY: the page is mapped and holds a header.
        unsafe { ring::sq_tail(self.header()) }
    }

    fn submission(&self, number: u32) -> CapSqe {
        // SAFETY: the index is masked, so the entry lies in the page.
        let entry = unsafe { ring::sqe_at(self.base, number & (SQ_ENTRIES - 1)) };
        // SAFETY: as above, and every bit pattern is a submission.
        unsafe { entry.read_volatile() }
    }

    fn set_submission_head(&self, value: u32) {
        // SAFETY: the page is mapped and holds a header.
        unsafe { ring::set_sq_head(self.header(), value) };
    }

    fn completion_head(&self) -> u32 {
        // SAFETY: the page is mapped and holds a header.
        unsafe { ring::cq_head(self.header()) }
    }

    fn set_completion(&self, number: u32, completion: CapCqe) {
        // SAFETY: the index is masked, so the entry lies in the page.
        let entry = unsafe { ring::cqe_at_mut(self.base, number & (CQ_ENTRIES - 1)) };
        // SAFETY: as above.
        unsafe { entry.write_volatile(completion) };
    }

    fn set_completion_tail(&self, value: u32) {
        // SAFETY: the page is mapped and holds a header.
        unsafe { ring::set_cq_tail(self.header(), value) };
    }
}
