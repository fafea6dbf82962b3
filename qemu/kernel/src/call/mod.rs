//! A call and what comes of it, as values: this layer knows neither processes nor
//! what any object does.
//!
//! ```text
//! call ◄── process ◄── object ◄── syscall ◄── kernel (the binary)
//! ```
//! Imports run in this direction alone (`tests/imports.rs`). An object returns
//! an [`reply::Outcome`]; one function, `syscall::complete::complete`, turns it
//! into a completion.

pub mod kinds;
pub mod method;
pub mod reply;
pub mod scratch;
pub mod ticket;
