//! Room for file descriptors: a thousand connections need as many in the harness and in
//! QEMU, which inherits the limit.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What the largest case needs, with room.
const DESCRIPTORS: u64 = 8192;

/// Raises the soft limit as far as the hard one allows; tells what is then allowed.
pub(crate) fn raise_descriptors() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let current = now.current.unwrap_or(u64::MAX);
    let wanted = DESCRIPTORS.min(now.maximum.unwrap_or(u64::MAX));
    if current >= wanted {
        return current;
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: now.maximum,
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => wanted,
        Err(_) => current,
    }
}
