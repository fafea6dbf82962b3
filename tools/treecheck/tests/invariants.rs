//! The index of invariants says what the tree says: every id is in both, every file and every
//! test that it names is there. The life of a connection names what is there, too.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use treecheck::{read, root};

/// Folders whose comments are searched for ids.
const SOURCES: [&str; 6] = ["schema", "ledger", "service", "qemu", "tools", "manifests"];

/// How long ids begin.
const PREFIXES: [&str; 4] = ["INV-", "NET-", "KERNEL-", "VIRTIO-"];

/// Where short ids, a letter and a digit, are used, and with which letters.
const SHORT: [(&str, &str); 2] = [("ledger/src/", "LPC"), ("tools/l4/src/", "H")];

/// One row of an index.
struct Row {
    ids: Vec<String>,
    /// The section's folder.
    base: String,
    files: Vec<String>,
    shown_by: Vec<String>,
}

/// What stands between backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// The rows of an index: four columns, the first of ids, under a heading that names a folder.
fn rows(text: &str, mut base: String) -> Vec<Row> {
    let mut rows = Vec::new();
    for line in text.lines() {
        if line.starts_with("## ")
            && let Some(folder) = quoted(line).into_iter().next()
        {
            base = folder;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, ids, _, files, shown_by, _] = cells.as_slice() else {
            continue;
        };
        let ids: Vec<String> = ids.split(", ").map(str::to_owned).collect();
        if ids.iter().all(|id| is_long(id) || is_short(id, "LPCH")) {
            rows.push(Row {
                ids,
                base: base.clone(),
                files: quoted(files),
                shown_by: quoted(shown_by),
            });
        }
    }
    rows
}

fn index() -> Vec<Row> {
    let mut all = rows(&read("docs/invariants.md"), String::new());
    let network = read("qemu/net/README.md");
    all.extend(rows(&network, "qemu/net/".to_owned()));
    all
}

fn is_long(word: &str) -> bool {
    PREFIXES
        .iter()
        .any(|prefix| word.len() > prefix.len() && word.starts_with(prefix))
}

fn is_short(word: &str, letters: &str) -> bool {
    match word.as_bytes() {
        [letter, b'1'..=b'9'] => letters.as_bytes().contains(letter),
        _ => false,
    }
}

/// Every id that a comment of the tree holds, with the files that hold it.
fn written() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for folder in SOURCES {
        search(folder, &mut found);
    }
    found
}

fn search(folder: &str, found: &mut BTreeMap<String, Vec<String>>) {
    for entry in std::fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{folder}/{name}");
        if entry.file_type().unwrap().is_dir() {
            if name != "target" && !name.starts_with('.') {
                search(&path, found);
            }
        } else if [".rs", ".s", ".capnp"]
            .iter()
            .any(|end| name.ends_with(end))
            && !path.ends_with("treecheck/tests/invariants.rs")
        {
            note(&path, found);
        }
    }
}

fn note(path: &str, found: &mut BTreeMap<String, Vec<String>>) {
    let letters = SHORT
        .iter()
        .find(|(folder, _)| path.starts_with(folder))
        .map_or("", |(_, letters)| letters);
    for line in read(path).lines() {
        let line = line.trim_start();
        let is_head = line.starts_with("//!");
        if !is_head && !line.starts_with("//") && !line.starts_with('#') {
            continue;
        }
        let not_in_ids = |c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-');
        for word in line.split(not_in_ids) {
            let word = word.trim_end_matches('-');
            if is_long(word) || is_head && is_short(word, letters) {
                let files: &mut Vec<String> = found.entry(word.to_owned()).or_default();
                files.push(path.to_owned());
            }
        }
    }
}

/// The first of the places where `name` may be meant that is a file.
fn find(base: &str, name: &str) -> Option<PathBuf> {
    ["", "src/", "tests/"]
        .iter()
        .map(|folder| format!("{base}{folder}{name}"))
        .chain([name.to_owned()])
        .map(|path| root().join(path))
        .find(|path| path.is_file())
}

fn is_case(name: &str) -> bool {
    let line = format!("name: \"{name}\",");
    std::fs::read_dir(root().join("tools/l4/src/cases"))
        .unwrap()
        .any(|entry| {
            let text = read(entry.unwrap().path());
            text.split_once("pub(crate) const CASE")
                .and_then(|(_, case)| case.lines().find(|line| line.contains("name: \"")))
                .is_some_and(|found| found.trim() == line)
        })
}

/// Whether `proof` is there: a case, a test, or a whole file of tests.
fn is_there(base: &str, proof: &str) -> bool {
    if let Some(case) = proof.strip_prefix("l4 ") {
        return is_case(case);
    }
    let (file, test) = match proof.split_once("::") {
        Some((file, test)) => (file, Some(test)),
        None => (proof, None),
    };
    let holds = |path: PathBuf| {
        let text = read(path);
        test.map_or(text.contains("#[test]"), |test| {
            text.contains(&format!("fn {test}("))
                || text.contains("const ALL: &[(&str, fn())]")
                    && text.contains(&format!("\"{test}\","))
        })
    };
    [
        format!("{base}tests/{file}.rs"),
        format!("{base}src/{file}.rs"),
        format!("{file}.rs"),
    ]
    .iter()
    .map(|path| root().join(path))
    .filter(|path| path.is_file())
    .any(holds)
}

#[test]
fn every_id_of_the_code_is_in_the_index_once() {
    let rows = index();
    for (id, files) in written() {
        let count = rows.iter().filter(|row| row.ids.contains(&id)).count();
        assert_eq!(
            count, 1,
            "{id}, named in {files:?}, is in the index so often"
        );
    }
}

#[test]
fn every_id_of_the_index_is_named_by_a_file_that_enforces_or_shows_it() {
    let written = written();
    for row in index() {
        for id in &row.ids {
            let named = written
                .get(id)
                .unwrap_or_else(|| panic!("no file names {id}"));
            let proofs = row.shown_by.iter().filter_map(|proof| {
                let (file, _) = proof.split_once("::")?;
                find(&row.base, &format!("{file}.rs"))
            });
            let files = row.files.iter().filter_map(|file| find(&row.base, file));
            let stands = files.chain(proofs).any(|path| {
                let path = path.canonicalize().unwrap();
                named.iter().any(|file| path.ends_with(file))
            });
            assert!(
                stands,
                "{id} is named in {named:?}, but in no file of its row"
            );
        }
    }
}

#[test]
fn every_file_of_the_index_exists() {
    for row in index() {
        assert!(!row.files.is_empty(), "{:?} is enforced nowhere", row.ids);
        for file in &row.files {
            let found = find(&row.base, file);
            assert!(found.is_some(), "{:?}: no file {file}", row.ids);
        }
    }
}

#[test]
fn every_test_of_the_index_exists() {
    for row in index() {
        assert!(
            !row.shown_by.is_empty(),
            "{:?} is shown by nothing",
            row.ids
        );
        for proof in &row.shown_by {
            assert!(is_there(&row.base, proof), "{:?}: no test {proof}", row.ids);
        }
    }
}

/// All files under a folder, one after the other.
fn text_of(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            text_of(&entry.path(), all);
        } else {
            all.push_str(&read(entry.path()));
        }
    }
}

#[test]
fn every_name_in_the_life_of_a_connection_exists() {
    let mut all = String::new();
    for folder in [
        "ledger/src",
        "service/src",
        "qemu/kernel/src",
        "qemu/net/src",
    ] {
        text_of(&root().join(folder), &mut all);
    }
    let text = read("docs/flow.md");
    let (_, text) = text.split_once("\n## In\n").unwrap();
    let mut names = 0;
    for name in quoted(text) {
        let is_file = name.contains('/') && name.ends_with(".rs");
        let last = name.rsplit("::").next().unwrap();
        let exists = if is_file {
            root().join(&name).is_file()
        } else if name.ends_with(".rs") {
            text.contains(&format!("/{name}`"))
        } else if name.contains('/') || name == "cap_enter" {
            continue;
        } else {
            ["fn ", "const ", "static ", "struct "]
                .iter()
                .any(|kind| all.contains(&format!("{kind}{last}")))
        };
        assert!(exists, "docs/flow.md names {name}");
        names += 1;
    }
    assert!(names > 60, "only {names} names were looked at");
}

#[test]
fn what_is_not_there_is_noticed() {
    assert!(is_there("ledger/", "profile::zero_reserve"));
    assert!(!is_there("ledger/", "profile::zero_reserves"));
    assert!(!is_there("ledger/", "profiles::zero_reserve"));
    assert!(is_there("", "l4 forgery"));
    assert!(!is_there("", "l4 lane-from-header"), "a control is no case");
    assert!(find("service/", "src/flow.rs").is_some());
    assert!(find("service/", "src/flows.rs").is_none());
}
