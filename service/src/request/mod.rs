//! From the bytes that came to what a handler is asked, and what it may wait for.
//!
//! `parse` takes head and body off the input, `route` finds who answers, `asked` is what that one
//! gets to see; `job` says what a request can wait for, and `jobs` keeps those under way.

pub mod asked;
pub mod job;
pub mod jobs;
pub(crate) mod parse;
pub mod route;
