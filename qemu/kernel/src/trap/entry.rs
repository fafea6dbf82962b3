//! Where the entry code calls Rust, and the way back to ring 3.

unsafe extern "C" {
    fn resume_user() -> !;
}

/// Resumes the process whose state was taken up last.
pub(crate) fn resume() -> ! {
    // SAFETY: the boot loads the descriptors before anything else. The state is
    // of ring 3, so whatever is in it, the processor keeps it there; and the
    // stack that is left behind is never returned to.
    unsafe { resume_user() }
}

/// A system call of the running process.
#[unsafe(no_mangle)]
extern "C" fn handle_syscall() {
    crate::kernel::system_call();
}

/// An interrupt or exception while a process ran.
#[unsafe(no_mangle)]
extern "C" fn handle_trap(vector: u64, error: u64) {
    crate::kernel::trap(vector, error);
}
