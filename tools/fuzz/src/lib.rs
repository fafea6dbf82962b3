//! Every parser of bytes from outside, and every table that strangers move, as a function of
//! bytes that panics when something is wrong.
//!
//! ```text
//!  corpus/NAME/* ──► tests/replay.rs      each input once, on the normal build (`cargo test`)
//!       │
//!       └─────────► bin/fuzz_targets.rs   libFuzzer mutates them, led by edges (`make fuzz`)
//!                        ▲
//!                     main.rs             one process a target, a line for each, crashes named
//! ```
//!
//! A new target is a file in `targets/`, a line in the table below, and a folder of seeds in
//! `corpus/`.
#![forbid(unsafe_code)]
#![allow(
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a fuzz target may panic, and that is how it reports"
)]

mod targets;

use std::path::{Path, PathBuf};

pub use targets::TARGETS;

/// Something that is fed with arbitrary bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder of inputs.
    pub name: &'static str,
    /// Bytes of its longest input: enough to meet every bound, few enough to be fast.
    pub input_bytes_max: usize,
    /// Takes one input; panics when something is wrong.
    pub run: fn(&[u8]),
}

impl Target {
    /// The target of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Where its kept inputs are.
    #[must_use]
    pub fn corpus(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(self.name)
    }
}
