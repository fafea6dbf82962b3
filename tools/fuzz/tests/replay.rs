//! Every kept input through its target once, on the normal build: what a fuzzer found before is
//! found again without one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fuzz::TARGETS;

/// Names the input if its target panics.
struct Input(PathBuf);

impl Drop for Input {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input is {}", self.0.display());
        }
    }
}

#[test]
fn every_kept_input_is_taken() {
    for target in TARGETS {
        let mut inputs = 0;
        for file in fs::read_dir(target.corpus()).expect("it has a corpus") {
            let input = Input(file.unwrap().path());
            let bytes = fs::read(&input.0).unwrap();
            assert!(bytes.len() <= target.input_bytes_max);
            (target.run)(&bytes);
            inputs += 1;
        }
        assert!(inputs > 0, "{} has no inputs", target.name);
    }
}

#[test]
fn every_corpus_has_its_target() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folders = fs::read_dir(corpora).unwrap();
    let folders = folders.map(|folder| folder.unwrap().file_name().into_string().unwrap());
    let targets = TARGETS.iter().map(|target| target.name.to_owned());
    assert_eq!(folders.collect::<BTreeSet<_>>(), targets.collect());
}
