//! The way back to ring 3.

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
