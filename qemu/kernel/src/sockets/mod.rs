//! Listeners and connections, and the calls that wait for them; no card and no
//! other hardware.

pub mod network;
pub mod stack;
