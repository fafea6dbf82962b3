//! Versions of everything that took part in a run.

use std::process::Command;

use crate::record::Versions;
use crate::session::Bench;

/// Asks each tool, and the files for their sizes.
pub(crate) fn collect(bench: &Bench) -> Versions {
    let mut versions = Versions::new();
    let qemu = bench.artefacts.qemu.to_string_lossy().into_owned();
    let asked: [(&str, &str, &[&str]); 7] = [
        ("qemu", &qemu, &["--version"]),
        ("rustc", "rustc", &["--version"]),
        ("curl", "curl", &["--version"]),
        ("haproxy", "haproxy", &["-v"]),
        ("wrk", "wrk", &["-v"]),
        ("slowhttptest", "slowhttptest", &["-h"]),
        ("host kernel", "uname", &["-sr"]),
    ];
    for (name, program, arguments) in asked {
        if let Some(line) = first_line(program, arguments) {
            versions.insert(name.to_owned(), line);
        }
    }
    if let Some(revision) = first_line("git", &["describe", "--always", "--dirty"]) {
        versions.insert("revision".into(), revision);
    }
    for (name, path) in [
        ("kernel size", &bench.artefacts.kernel),
        ("service size", &bench.artefacts.service),
    ] {
        if let Ok(file) = std::fs::metadata(path) {
            versions.insert(name.into(), format!("{} KiB", file.len() >> 10));
        }
    }
    versions
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(100).collect())
}
