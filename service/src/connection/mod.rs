//! What a connection is: its record, its memory, its time, and how it gives way.
//!
//! `record` is one connection and `table` all of them, with the memory they share (`buffers`);
//! `input` and `output` say what of that memory is filled. `steps` moves a connection from one thing
//! that it does to the next; `wishes` says what the caller is to do for it; `deadlines` keeps its time
//! and `timeouts` says what happens when it has passed; `give_way` makes room on a full lane, `linger`
//! sees a last answer off, `session` is what comes after an upgrade, `drain` ends them all.

#[cfg(any(feature = "broken-lane-from-header", feature = "broken-leak-on-cancel"))]
pub(crate) mod broken;
pub mod buffers;
pub(crate) mod chain;
pub(crate) mod deadlines;
pub(crate) mod drain;
pub(crate) mod give_way;
pub(crate) mod input;
mod linger;
pub(crate) mod output;
pub mod record;
pub mod session;
mod steps;
pub(crate) mod table;
mod timeouts;
mod wishes;
