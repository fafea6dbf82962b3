//! Processes, as far as they need no hardware: what each one holds, and its
//! queues.

pub mod queues;
pub mod state;
