//! All targets in one program for libFuzzer; `FUZZ_TARGET` names the one that runs.
//!
//! `main` is libFuzzer's. The counters of the other targets stay untouched, and are not even
//! looked at with `-lazy_counters=1`.
#![no_main]

use std::sync::OnceLock;

use fuzz::Target;
use libfuzzer_sys::fuzz_target;

static CHOSEN: OnceLock<&Target> = OnceLock::new();

fn choose() -> &'static Target {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    Target::named(&name).unwrap_or_else(|| panic!("FUZZ_TARGET={name}: there is no such target"))
}

fuzz_target!(|bytes: &[u8]| (CHOSEN.get_or_init(choose).run)(bytes));
