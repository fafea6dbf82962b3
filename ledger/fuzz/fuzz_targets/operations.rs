//! Arbitrary bytes as operations: the first eight choose a profile, each eight after them are
//! one operation. Ledger and reference model must agree after each.
//!
//! ```sh
//! cargo +nightly fuzz run operations          # or, with a stable compiler:
//! RUSTC_BOOTSTRAP=1 cargo fuzz run operations
//! ```
#![no_main]

#[path = "../../tests/support/mod.rs"]
mod support;

use ingress_ledger::Issuer;
use libfuzzer_sys::fuzz_target;
use support::driver::Driver;
use support::profiles;

fuzz_target!(|bytes: &[u8]| {
    let mut words = bytes.chunks_exact(8).map(|word| {
        let mut eight = [0; 8];
        eight.copy_from_slice(word);
        u64::from_le_bytes(eight)
    });
    let Some(seed) = words.next() else { return };
    let issuer = Issuer::new();
    let mut driver = Driver::new(&profiles::random(seed), &issuer);
    words.for_each(|word| driver.step(word));
    driver.finish();
});
