//! What the ledger's tests share: profiles, a reference model, and a driver that runs both.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part of the modules"
)]

pub mod driver;
pub mod model;
pub mod profiles;
