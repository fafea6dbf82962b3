//! Objects, processes and system calls on the host: a process that is a few
//! pages of bytes asks the real ones, over a stack that has the loopback alone.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test: a panic is a failure"
)]

mod machine;
mod memory;
mod objects;
mod queues;
mod rig;
mod sockets;
