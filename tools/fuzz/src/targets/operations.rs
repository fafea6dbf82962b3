//! Operations on the ledger, beside the reference model: both must agree after each.

use ingress_ledger::Issuer;

use super::ledger::driver::Driver;
use super::ledger::profiles;

/// Eight bytes choose a profile, each eight after them are one operation.
pub(super) fn run(bytes: &[u8]) {
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
}
