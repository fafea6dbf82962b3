//! What a process asks for through its queues, and how it is answered.

pub mod complete;
pub mod deliver;
pub mod enter;
pub mod submit;
