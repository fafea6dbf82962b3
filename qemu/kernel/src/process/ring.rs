//! A process's queues, kernel side.
//!
//! The page is shared with a process that may write anything to it. The kernel
//! keeps its own two indices, reads the other two, and copies each entry once
//! before it looks at it.

use capos_config::ring::{
    self, CQ_ENTRIES, CapCqe, CapRingHeader, CapSqe, SQ_ENTRIES, cq_pending_or_recovery_head,
    sq_pending_or_recovery_head,
};

/// The process wrote indices that no use of the queues leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Corrupt;

/// The queues of one process, through the kernel's map of the page.
pub(crate) struct Ring {
    page: *mut u8,
    submissions_taken: u32,
    completions_posted: u32,
}

impl Ring {
    /// Makes a ring in `page`.
    ///
    /// # Safety
    /// `page` is a frame of zeros that stays mapped in the kernel as long as
    /// the ring is used, and no Rust reference to it exists.
    pub(crate) unsafe fn new(page: *mut u8) -> Self {
        // SAFETY: the caller gives a zeroed page that is the ring's own.
        unsafe { ring::init_ring_header(page.cast()) };
        Self {
            page,
            submissions_taken: 0,
            completions_posted: 0,
        }
    }

    /// The next submission, if there is one. Corrupt indices drop what was
    /// submitted, as the published rule says.
    pub(crate) fn take(&mut self) -> Result<Option<CapSqe>, Corrupt> {
        // SAFETY: the page is mapped and holds a header.
        let tail = unsafe { ring::sq_tail(self.header()) };
        match sq_pending_or_recovery_head(self.submissions_taken, tail) {
            Ok(0) => Ok(None),
            Ok(_) => {
                let slot = self.submissions_taken & (SQ_ENTRIES - 1);
                // SAFETY: the slot index is masked.
                let entry = unsafe { ring::sqe_at(self.page, slot) };
                // SAFETY: every bit pattern is a submission; one volatile read
                // takes a copy that the process cannot change any more.
                let submission = unsafe { entry.read_volatile() };
                self.set_submissions_taken(self.submissions_taken.wrapping_add(1));
                Ok(Some(submission))
            }
            Err(recovery) => {
                self.set_submissions_taken(recovery);
                Err(Corrupt)
            }
        }
    }

    /// Completions that the process has not taken yet.
    pub(crate) fn available(&self) -> Result<u32, Corrupt> {
        // SAFETY: the page is mapped and holds a header.
        let head = unsafe { ring::cq_head(self.header()) };
        cq_pending_or_recovery_head(head, self.completions_posted).map_err(|_| Corrupt)
    }

    /// Whether another completion can be posted; never into a corrupt queue.
    pub(crate) fn has_room(&self) -> bool {
        self.available()
            .is_ok_and(|available| available < CQ_ENTRIES)
    }

    /// Posts a completion; the caller has checked for room.
    pub(crate) fn post(&mut self, completion: CapCqe) {
        let slot = self.completions_posted & (CQ_ENTRIES - 1);
        // SAFETY: the slot index is masked.
        let entry = unsafe { ring::cqe_at_mut(self.page, slot) };
        // SAFETY: the entry lies in the page.
        unsafe { entry.write_volatile(completion) };
        self.completions_posted = self.completions_posted.wrapping_add(1);
        // SAFETY: the page is mapped and holds a header.
        unsafe { ring::set_cq_tail(self.header(), self.completions_posted) };
    }

    fn set_submissions_taken(&mut self, value: u32) {
        self.submissions_taken = value;
        // SAFETY: the page is mapped and holds a header.
        unsafe { ring::set_sq_head(self.header(), value) };
    }

    const fn header(&self) -> *mut CapRingHeader {
        self.page.cast()
    }
}
