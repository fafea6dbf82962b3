//! How much work one entry into the kernel may ask for.
//!
//! Keeps KERNEL-ENTRY: an entry takes submissions for about a millisecond of
//! work and no more, whatever they are; the rest is taken at the next entry.
//!
//! The work is reckoned from the submission itself, before any of it is done,
//! and not by the clock: a machine that stands still for a moment must not
//! change how many submissions are taken, since a program may rely on a handful
//! of small ones being taken together. The figures are nanoseconds on an
//! emulated processor, the slowest there is, rounded up.

use capos_config::ring::CapSqe;

/// Work of one entry.
const ENTRY_NANOSECONDS: u64 = 1_000_000;
/// Work of any call, with its answer.
const CALL_NANOSECONDS: u64 = 10_000;
/// Work of one byte of parameters: checked, copied, looked at, written on.
const PARAMETER_NANOSECONDS: u64 = 4;
/// Work of one page of a result buffer: its tables are walked, and it is filled
/// with zeros if it was never touched.
const RESULT_PAGE_NANOSECONDS: u64 = 4_000;
const PAGE_BYTES: u32 = 4096;

/// What is left of an entry.
#[derive(Debug)]
pub struct EntryBudget {
    left: u64,
    fresh: bool,
}

impl EntryBudget {
    /// All of it.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            left: ENTRY_NANOSECONDS,
            fresh: true,
        }
    }

    /// Takes the work of `submission` out of the budget; false, and nothing is
    /// taken, if it is more than what is left. The first is always taken: it is
    /// bounded by itself, and an entry gets on.
    pub fn take(&mut self, submission: &CapSqe) -> bool {
        let left = self.left.checked_sub(work(submission));
        // The control of the proofs breaks this, and nothing else does.
        let is_bounded = cfg!(not(feature = "broken-endless-entry"));
        if is_bounded && left.is_none() && !self.fresh {
            return false;
        }
        self.left = left.unwrap_or(0);
        self.fresh = false;
        true
    }
}

impl Default for EntryBudget {
    fn default() -> Self {
        Self::new()
    }
}

fn work(submission: &CapSqe) -> u64 {
    let parameters = u64::from(submission.len).saturating_mul(PARAMETER_NANOSECONDS);
    let pages = u64::from(submission.result_len.div_ceil(PAGE_BYTES));
    CALL_NANOSECONDS
        .saturating_add(parameters)
        .saturating_add(pages.saturating_mul(RESULT_PAGE_NANOSECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use capos_config::ring::{CAP_OP_CALL, SQ_ENTRIES};

    fn call(len: u32, result_len: u32) -> CapSqe {
        CapSqe {
            opcode: CAP_OP_CALL,
            flags: 0,
            method_id: 0,
            cap_id: 0,
            user_data: 0,
            addr: 0,
            len,
            result_len,
            result_addr: 0,
            pipeline_dep: 0,
            pipeline_field: 0,
            xfer_cap_count: 0,
            call_id: 0,
            session_disclosure: 0,
        }
    }

    /// How many of a full queue of `submission` one entry takes.
    fn taken(submission: &CapSqe) -> u32 {
        let mut budget = EntryBudget::new();
        let refused = (0..SQ_ENTRIES).find(|_| !budget.take(submission));
        refused.unwrap_or(SQ_ENTRIES)
    }

    #[test]
    fn a_queue_of_what_a_server_asks_for_is_taken_whole() {
        assert_eq!(taken(&call(0, 512)), SQ_ENTRIES);
        // Sends of a whole response area, and receives into a whole input area.
        assert_eq!(taken(&call(6_144 + 24, 64)), SQ_ENTRIES);
        assert_eq!(taken(&call(32, 8_192 + 48)), SQ_ENTRIES);
    }

    #[test]
    fn a_queue_of_the_largest_calls_is_taken_a_few_at_a_time() {
        assert_eq!(taken(&call(64 * 1024, 0)), 3);
        assert_eq!(taken(&call(64 * 1024, 1024 * 1024)), 1);
        assert_eq!(taken(&call(0, 128 * 1024)), 7);
    }

    #[test]
    fn an_entry_always_gets_on_whatever_is_claimed() {
        assert_eq!(taken(&call(u32::MAX, u32::MAX)), 1);
        let mut budget = EntryBudget::new();
        assert!(budget.take(&call(u32::MAX, 0)));
        assert!(!budget.take(&call(0, 0)));
    }
}
