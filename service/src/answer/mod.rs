//! From a route, or a reason against it, to the bytes that go.
//!
//! `respond` enters a handler and sends what it says in a `reply`; `tell` says no, with one of the
//! answers of `problem`. `head` writes the head of either.

pub(crate) mod head;
pub(crate) mod problem;
pub mod reply;
mod respond;
mod tell;
