//! What the benchmarks share: profiles, and the same jobs done with other crates.
#![allow(dead_code, reason = "each benchmark uses its own part of the modules")]

pub(crate) mod peers;
pub(crate) mod profiles;
