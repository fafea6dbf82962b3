//! The network cards' driver against a card that lies: about lengths, about which
//! buffers it returns, how many, in which order, how often; about its features, its
//! configuration and where its registers are. Whatever it says, nothing panics, no
//! byte outside of a buffer is touched, no buffer is handed out that the card has, and
//! each lie is counted by its name. The memory that card and driver share checks the
//! lending by itself (`ram.rs`).
#![deny(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test: a panic is a failure"
)]

mod bus;
mod device;
mod manners;
mod noise;
#[expect(unsafe_code, reason = "memory that a card touches by its address")]
mod ram;
mod returns;
