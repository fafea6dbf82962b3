//! The kernel around what the library decides: who runs, what the entries and
//! interrupts do, how processes end.

pub(crate) mod end;
#[expect(unsafe_code, reason = "the entry code calls these by their names")]
pub(crate) mod entry;
pub(crate) mod hardware;
pub(crate) mod schedule;
pub(crate) mod state;
