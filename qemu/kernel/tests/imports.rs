//! Imports run one way: no file of the kernel, library or binary, imports one
//! that imports it, through however many others (KERNEL-ONE-WAY).
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: a panic is a failure"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module, by its names from the root.
type Module = Vec<String>;

/// The layers of a call, lowest first: none names a later one.
const LAYERS: [&str; 5] = ["call", "process", "object", "syscall", "kernel"];

#[test]
fn no_imports_run_in_a_circle() {
    let mut imports = graph();
    // What imports nothing that is left, or is imported by nothing, stands in no circle.
    loop {
        let named: BTreeSet<Module> = imports.values().flatten().cloned().collect();
        let gone: BTreeSet<Module> = imports
            .iter()
            .filter(|(module, its)| {
                !named.contains(*module) || !its.iter().any(|other| imports.contains_key(other))
            })
            .map(|(module, _)| module.clone())
            .collect();
        if gone.is_empty() {
            break;
        }
        imports.retain(|module, _| !gone.contains(module));
    }
    let names: Vec<String> = imports.keys().map(|module| module.join("::")).collect();
    assert!(names.is_empty(), "in circles, or between two: {names:?}");
}

#[test]
fn layers_name_lower_layers_alone() {
    let rank = |module: &Module| LAYERS.iter().position(|layer| *layer == module[0]);
    for (module, named) in graph() {
        for other in named {
            if let (Some(own), Some(its)) = (rank(&module), rank(&other)) {
                assert!(its <= own, "{module:?} names {other:?}");
            }
        }
    }
}

/// Every file, and the files that it names.
fn graph() -> BTreeMap<Module, BTreeSet<Module>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let modules: BTreeMap<Module, PathBuf> = files
        .into_iter()
        .map(|file| (module_of(file.strip_prefix(&root).unwrap()), file))
        .filter(|(module, _)| !module.is_empty())
        .collect();
    assert!(modules.len() > 60, "the sources are found");
    let known = |mut path: Module| {
        while !path.is_empty() && !modules.contains_key(&path) {
            path.pop();
        }
        path
    };
    let names = |(module, file): (&Module, &PathBuf)| {
        let text = std::fs::read_to_string(file).unwrap();
        let own_code = text.split("#[cfg(test)]").next().unwrap();
        let named = paths(own_code)
            .into_iter()
            .filter_map(|path| resolve(module, &path))
            .map(known)
            .filter(|other| !other.is_empty() && other != module)
            .collect();
        (module.clone(), named)
    };
    modules.iter().map(names).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn module_of(file: &Path) -> Module {
    let mut module: Module = file
        .with_extension("")
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect();
    if module
        .last()
        .is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str()))
    {
        module.pop();
    }
    module
}

/// Where `path`, which stands in `module`, leads in this package.
fn resolve(module: &Module, path: &[String]) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" | "harness_kernel" => Some(rest.to_vec()),
        "super" => {
            let up = path.iter().take_while(|name| *name == "super").count();
            let kept = module.len().checked_sub(up)?;
            Some([&module[..kept], &path[up..]].concat())
        }
        _ => None,
    }
}

/// The paths that a source names from the crate's root or its own parent.
fn paths(source: &str) -> Vec<Module> {
    let code: String = source
        .lines()
        .map(|line| line.split("//").next().unwrap())
        .collect::<Vec<_>>()
        .join(" ");
    let mut found = Vec::new();
    for start in ["crate::", "super::", "harness_kernel::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            if !before.is_alphanumeric() && before != '_' && before != ':' {
                expand(&[], &code[at..], &mut found);
            }
        }
    }
    found
}

/// Reads one path, or the paths of a list in braces; what follows it.
fn expand<'s>(prefix: &[String], text: &'s str, found: &mut Vec<Module>) -> &'s str {
    let mut path = prefix.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(list) = rest.strip_prefix('{') {
            rest = list;
            while !rest.trim_start().starts_with('}') {
                rest = expand(&path, rest, found).trim_start();
                rest = rest.strip_prefix(',').unwrap_or(rest);
            }
            return &rest.trim_start()[1..];
        }
        let end = rest
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if !name.is_empty() {
            path.push(name.to_owned());
        }
        match after.strip_prefix("::") {
            Some(next) => rest = next,
            None => {
                found.push(path);
                // A name that is renamed ends at the next comma.
                return after.find([',', '}', ';']).map_or("", |at| &after[at..]);
            }
        }
    }
}

#[test]
fn paths_are_read_as_the_language_has_them() {
    let read: Vec<String> = paths("use crate::{a::{b, C as D}, e}; // crate::no\nsuper::f::g();")
        .into_iter()
        .map(|path| path.join("."))
        .collect();
    assert_eq!(
        read,
        ["crate.a.b", "crate.a.C", "crate.e", "super.f.g"].map(str::to_owned)
    );
}
