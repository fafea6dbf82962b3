//! The two system calls, and what a process asks for through its queues.

pub(crate) mod complete;
pub(crate) mod enter;
pub(crate) mod submit;
