//! What the ledger's tests share: profiles, a reference model, and a driver that runs both.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part of the modules"
)]

pub mod channels;
pub mod driver;
pub mod model;
pub mod profiles;
