//! Whatever the input, the answer is a manifest, a package or a refusal: never a panic.

#![allow(dead_code, reason = "each test file uses its part of the support")]

mod support;

use std::path::Path;

use proptest::prelude::{any, proptest};
use proptest::sample::{Index, select};
use support::VALID;

/// What may be put in place of a piece of a valid manifest.
const PIECES: [&str; 14] = [
    "",
    "\"",
    "[",
    "]",
    "{",
    "=",
    ".",
    "-1",
    "0",
    "any",
    "nic1",
    "\u{e9}",
    "ingress_local_rate",
    "9223372036854775807",
];

proptest! {
    #[test]
    fn a_broken_manifest_is_read_or_refused(
        start in any::<Index>(),
        length in 0usize..24,
        piece in select(&PIECES[..]),
    ) {
        let start = floor(start.index(VALID.len()));
        let end = floor(start.saturating_add(length).min(VALID.len()));
        let mut text = VALID.to_owned();
        text.replace_range(start..end, piece);
        if let Err(refusal) = support::check(&text) {
            assert!(refusal.starts_with("x.toml:"), "{refusal}");
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        if let Err(refusal) = support::check(&text) {
            assert!(refusal.starts_with("x.toml:"), "{refusal}");
        }
    }

    #[test]
    fn any_bytes_are_shown_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(error) = mkmanifest::show(Path::new("x.bin"), &bytes) {
            assert!(error.to_string().starts_with("x.bin: "), "{error}");
        }
    }
}

fn floor(mut index: usize) -> usize {
    while !VALID.is_char_boundary(index) {
        index = index.saturating_sub(1);
    }
    index
}
