//! The capOS process around the sans-IO server: the one place that names
//! `capos_rt`, and the one place of the service that is unsafe.
//!
//! ```text
//!  boot     CapSet → grants → policy → distinct → listen → lines
//!  serve    one turn after the other
//!    submit     clock + accepts + releases + actions ─▶ SQ, one entry
//!    complete   take the completions ◀─ CQ, tell the server
//!  calls    one call at a time, for the boot sequence; grants   the CapSet page
//!  jobs     what a request waits for outside: the calls' memory and tags
//!  ring     the shared page; sockets   the kernel's side of each connection
//!  console  lines that wait their turn; storage   memory of the whole process
//! ```
//!
//! Nothing allocates after the runtime's own start.

mod boot;
mod calls;
mod clock;
mod complete;
mod console;
mod fatal;
mod grants;
mod inbox;
mod jobs;
mod listeners;
mod outcome;
mod refusal;
mod ring;
mod serve;
mod sockets;
mod storage;
mod submit;

pub(crate) use boot::start;
