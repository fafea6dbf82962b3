//! Boot packages: a plan whose parts lie in the package, or a refusal in one line.

use std::path::Path;

use harness_kernel::boot_package::{PROCESSES_MAX, read};

use super::words::aligned;

/// The bytes are the package.
pub(super) fn run(bytes: &[u8]) {
    aligned(bytes, |bytes| match read(bytes) {
        Ok(plan) => {
            assert!(plan.processes.len() <= PROCESSES_MAX);
            assert!(plan.decisive < plan.processes.len());
            let range = bytes.as_ptr_range();
            for process in &plan.processes {
                let file = process.file.as_ptr_range();
                let is_inside = range.start <= file.start && file.end <= range.end;
                assert!(process.file.is_empty() || is_inside);
            }
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    });
    if let Err(refusal) = mkmanifest::show(Path::new("x.bin"), bytes) {
        assert!(refusal.to_string().starts_with("x.bin: "), "{refusal}");
    }
}
