//! Holds the tree against itself. What is checked stands in `tests/`: `documented` (the
//! documents' tables and examples), `invariants` (the index of invariants, the life of a
//! connection), `ledger_alone` (the ledger outside of this workspace).

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

/// The root of the tree.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the tree; `path` is relative to its root.
///
/// # Panics
/// The file is not there: a document names what is not, and its test says which.
#[must_use]
pub fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
