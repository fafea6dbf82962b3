//! ingress-probe: what the in-guest client does, apart from how it does it.
//!
//! Commands in, requests out, answers counted and timed. Nothing here knows
//! capabilities or sockets; the binary beside it does. `README.md` is the
//! grammar of the commands and of the result line.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod answer;
pub mod command;
pub mod latency;
pub mod parse;
pub mod percent;
pub mod request;
pub mod tally;
pub mod target;
