//! What capabilities refer to: each file but the first three is one interface.
//!
//! A method is given the world, who calls, and itself as a value, and returns
//! what is to come of it; it completes nothing. A call that cannot be answered
//! yet leaves its ticket with its object, whose `proceed` gives it back.

pub mod dispatch;
pub mod reader;
pub mod world;

pub mod console;
pub mod discriminator;
pub mod endpoint;
pub mod entropy;
pub mod listen_authority;
pub mod listener;
pub mod log;
pub mod network_manager;
pub mod socket;
pub mod system_info;
pub mod terminal;
pub mod timer;
pub mod wall_clock;
