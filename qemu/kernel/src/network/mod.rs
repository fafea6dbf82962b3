//! The network's hardware side: its cards and their interrupts, and what it tells
//! of itself at the end.

pub(crate) mod card;
pub(crate) mod interrupts;
pub(crate) mod report;
