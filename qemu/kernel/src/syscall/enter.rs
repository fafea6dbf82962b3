//! System calls, by number.

use capos_config::ring::CQ_ENTRIES;
use harness_kernel::entry_budget::EntryBudget;

use super::submit;
use crate::kernel::Kernel;
use crate::process::end::EndReason;
use crate::process::ring::{Corrupt, Next};
use crate::process::{ProcessIndex, Waiting};
use crate::time;
use crate::trap::user_context::{self, set_result};

const EXIT: u64 = 1;
const CAP_ENTER: u64 = 2;
const WAIT_FOR_EVER: u64 = u64::MAX;
/// What every other number, and a rejected call, returns.
const REJECTED: u64 = u64::MAX;

/// Handles the system call of the running process, and leaves the state of
/// whatever process runs next to be resumed.
pub(crate) fn handle(kernel: &mut Kernel, index: ProcessIndex) {
    let (number, first, second) = user_context::system_call();
    if let Some(process) = kernel.process_mut(index) {
        process.calls();
    }
    match number {
        EXIT => {
            kernel.end_process(index, EndReason::Exited(first.cast_signed()));
            kernel.run_next();
        }
        CAP_ENTER => cap_enter(kernel, index, first, second),
        _ => set_result(REJECTED),
    }
}

fn cap_enter(kernel: &mut Kernel, index: ProcessIndex, least: u64, timeout: u64) {
    let consumed = consume(kernel, index);
    kernel.poll_devices();
    let least = u32::try_from(least).unwrap_or(u32::MAX).min(CQ_ENTRIES);
    kernel.deliver(index, least);
    let Some(process) = kernel.process_mut(index) else {
        kernel.run_next();
        return;
    };
    let Ok(available) = process.completions() else {
        kernel.end_process(
            index,
            EndReason::Broke("completion queue indices are corrupt"),
        );
        kernel.run_next();
        return;
    };
    let Ok(left) = consumed else {
        process.complain(format_args!(
            "submission queue indices are corrupt; it was emptied"
        ));
        set_result(REJECTED);
        return;
    };
    if available >= least || timeout == 0 {
        set_result(u64::from(available));
        kernel.maybe_yield();
        return;
    }
    if left == Left::Some {
        // It cannot wait yet: it calls again, for the rest, when its turn comes.
        // Until then it wants the processor like any other, and pays for it.
        user_context::call_again();
        kernel.maybe_yield();
        return;
    }
    let pending = process.pending();
    if timeout == WAIT_FOR_EVER && available.saturating_add(pending) < least {
        process.complain(format_args!(
            "waits for ever: for {least} completions, of which {available} are there and {pending} may come"
        ));
    }
    let deadline = (timeout != WAIT_FOR_EVER).then(|| time::now().saturating_add(timeout));
    process.waiting = Waiting::Completions { least, deadline };
    kernel.run_next();
}

/// What is left of a process's submissions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Nothing that could be taken now.
    Nothing,
    /// More than one entry does.
    Some,
}

/// Takes submissions while their completions have room and the entry's budget
/// lasts.
fn consume(kernel: &mut Kernel, index: ProcessIndex) -> Result<Left, Corrupt> {
    let mut budget = EntryBudget::new();
    loop {
        let Some(process) = kernel.process_mut(index) else {
            return Ok(Left::Nothing);
        };
        match process.take_submission(&mut budget)? {
            Next::Submission(submission) => submit::handle(kernel, index, &submission),
            Next::Nothing => return Ok(Left::Nothing),
            Next::Later => return Ok(Left::Some),
        }
    }
}
