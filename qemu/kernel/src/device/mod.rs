//! Devices of the emulated machine.

pub(crate) mod console;
pub(crate) mod exit;
pub(crate) mod output;
pub(crate) mod pic;
pub(crate) mod pit;
pub(crate) mod serial;
