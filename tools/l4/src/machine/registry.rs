//! The emulators that run, so that none outlives the harness whatever ends it: a panic
//! aborts without dropping anything, and a signal likewise (invariant H4).

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn note(child: &Child) {
    running().push(Pid::from_child(child));
}

/// Forgets one that has been waited for: its id may be another process's now.
pub(crate) fn forget(child: &Child) {
    let gone = Pid::from_child(child);
    running().retain(|pid| *pid != gone);
}

pub(crate) fn end_all() {
    for pid in running().drain(..) {
        // One that has just ended by itself cannot be ended again.
        kill_process(pid, Signal::KILL).ok();
    }
}

pub(crate) fn end_all_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        end_all();
        usual(panic);
    }));
}
