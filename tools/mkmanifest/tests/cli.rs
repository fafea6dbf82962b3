//! The command line: what it prints, where, and with which exit code.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses its part of the support")]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use support::{Directory, VALID, program};

fn run(directory: &Directory, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mkmanifest"))
        .args(arguments)
        .current_dir(directory.path())
        .output()
        .unwrap()
}

fn succeeds(directory: &Directory, arguments: &[&str]) -> (String, String) {
    let output = run(directory, arguments);
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{arguments:?}: {err}");
    (out, err)
}

fn fails(directory: &Directory, arguments: &[&str]) -> String {
    let output = run(directory, arguments);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{arguments:?}: {}",
        text(output.stderr)
    );
    assert!(output.stdout.is_empty(), "a refusal is for standard error");
    text(output.stderr)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn directory(name: &str) -> Directory {
    let directory = Directory::new(name);
    directory.write("x.toml", VALID.as_bytes());
    directory.write("aliased.toml", VALID.replace("nic2", "nic1").as_bytes());
    directory.write("remote-session-web-ui", &program(0x90));
    directory.write("probe", &program(0x91));
    directory
}

#[test]
fn build_writes_a_package_that_show_reads() {
    let here = directory("cli-build");
    let build = [
        "build",
        "x.toml",
        "--out",
        "x.bin",
        "--bin-dir",
        ".",
        "--bin",
        "ingress-probe=probe",
    ];
    let (out, err) = succeeds(&here, &build);
    let bytes = std::fs::metadata(here.path().join("x.bin")).unwrap().len();
    assert_eq!(
        (out, err),
        (format!("x.bin: {bytes} bytes\n"), String::new())
    );
    let (out, _) = succeeds(&here, &["show", "x.bin"]);
    assert!(
        out.contains("ui_listener                      kernel:tcp_listen_authority on nic1:8080"),
        "{out}"
    );
}

#[test]
fn build_counts_the_kernel_in() {
    let here = directory("cli-kernel");
    here.write("kernel", &vec![0; mkmanifest::IMAGE_BYTES_MAX]);
    let build = [
        "build",
        "x.toml",
        "--out",
        "x.bin",
        "--bin-dir",
        ".",
        "--bin",
        "ingress-probe=probe",
        "--kernel",
        "kernel",
    ];
    let err = fails(&here, &build);
    assert!(err.contains("x.toml: the boot package has "), "{err}");
    assert!(
        !Path::new(&here.path().join("x.bin")).exists(),
        "nothing is written on a refusal"
    );
}

#[test]
fn no_path_without_an_end_is_read_on() {
    let here = directory("cli-endless");
    let program = "/dev/zero has more than 67108864 bytes; check that the path is the right one";
    let build = ["build", "x.toml", "--out", "x.bin", "--bin-dir", "."];
    let binary = [&build[..], &["--bin", "ingress-probe=/dev/zero"]].concat();
    let kernel = [&build[..], &["--kernel", "/dev/zero"]].concat();
    for (arguments, at) in [
        (&binary[..], "x.toml:28: service[0].binary: "),
        (&kernel[..], "/dev/zero: "),
        (&["show", "/dev/zero"], "/dev/zero: "),
    ] {
        assert_eq!(fails(&here, arguments), format!("{at}{program}\n"));
    }
    for command in ["check", "export"] {
        let err = fails(&here, &[command, "/dev/zero"]);
        assert!(
            err.contains("/dev/zero has more than 1048576 bytes"),
            "{err}"
        );
    }
}

#[test]
fn check_shows_the_policy_and_refuses_in_one_line() {
    let here = directory("cli-check");
    let (out, _) = succeeds(&here, &["check", "x.toml"]);
    assert!(
        out.starts_with("x.toml: ok\n  policy total_slots=40 "),
        "{out}"
    );
    let err = fails(&here, &["check", "aliased.toml"]);
    assert!(
        err.starts_with("aliased.toml:15: init.caps.ui_provider_health_listener.transport: "),
        "{err}"
    );
    assert_eq!(err.lines().count(), 1);
}

#[test]
fn unchecked_lanes_warn() {
    let here = directory("cli-unchecked");
    let (out, err) = succeeds(&here, &["check", "--unchecked-lanes", "aliased.toml"]);
    assert!(out.starts_with("aliased.toml: ok"), "{out}");
    assert!(
        err.starts_with("warning: aliased.toml: lane rules are not checked"),
        "{err}"
    );
}

#[test]
fn a_cut_quota_warns() {
    let here = directory("cli-clamp");
    here.write(
        "big.toml",
        VALID.replace("slots = 40", "slots = 100000").as_bytes(),
    );
    let (_, err) = succeeds(&here, &["check", "big.toml"]);
    assert_eq!(
        err,
        "warning: big.toml: slots of total is cut to what the service holds\n"
    );
}

#[test]
fn export_prints_json_alone() {
    let here = directory("cli-export");
    let (out, err) = succeeds(&here, &["export", "x.toml"]);
    assert!(err.is_empty());
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["schemaVersion"], 1);
    let with = [
        "export",
        "x.toml",
        "--with-binaries",
        "--bin-dir",
        ".",
        "--bin",
        "ingress-probe=probe",
    ];
    let (out, _) = succeeds(&here, &with);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(
        json["binaries"][0]["data"]
            .as_str()
            .unwrap()
            .starts_with("hex:7f454c46")
    );
}

#[test]
fn a_wrong_option_is_refused() {
    let here = directory("cli-option");
    let output = run(
        &here,
        &[
            "build",
            "x.toml",
            "--out",
            "x.bin",
            "--bin",
            "ingress-probe",
        ],
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(text(output.stderr).contains("expected NAME=PATH"));
}

#[test]
fn a_file_that_is_no_package_is_refused() {
    let here = directory("cli-show");
    assert!(fails(&here, &["show", "x.toml"]).starts_with("x.toml: this is not a boot package: "));
    assert!(fails(&here, &["show", "nothing"]).starts_with("nothing: "));
}

#[test]
fn no_input_is_written_over_under_whatever_name() {
    let here = directory("cli-inputs");
    let at = |name: &str| here.path().join(name);
    here.write("kernel", &program(0x92));
    std::fs::create_dir(at("folder")).unwrap();
    std::os::unix::fs::symlink(at("probe"), at("link")).unwrap();
    std::os::unix::fs::symlink(here.path(), at("folder/up")).unwrap();
    std::fs::hard_link(at("probe"), at("hard")).unwrap();
    for (out, input) in [
        ("x.toml", "./x.toml"),
        ("./remote-session-web-ui", "./remote-session-web-ui"),
        ("probe", "probe"),
        ("link", "probe"),
        ("hard", "probe"),
        ("folder/up/probe", "probe"),
        ("kernel", "kernel"),
    ] {
        let before = std::fs::read(at(out)).unwrap();
        let build = ["build", "./x.toml", "--out", out, "--bin-dir", "."];
        let inputs = ["--bin", "ingress-probe=probe", "--kernel", "kernel"];
        assert_eq!(
            fails(&here, &[&build[..], &inputs].concat()),
            format!(
                "{out}: this is the input {input}, and would be lost; \
                 name another file for the output\n"
            )
        );
        assert_eq!(
            std::fs::read(at(out)).unwrap(),
            before,
            "{out} is as it was"
        );
    }
}

#[test]
fn an_output_is_replaced_whole_and_a_link_to_it_stays() {
    let here = directory("cli-replace");
    let at = |name: &str| here.path().join(name);
    here.write("old.bin", b"old");
    std::os::unix::fs::symlink(at("old.bin"), at("link.bin")).unwrap();
    let build = [
        "build",
        "x.toml",
        "--bin-dir",
        ".",
        "--bin",
        "ingress-probe=probe",
    ];
    let to = |out| [&build[..], &["--out", out]].concat();
    succeeds(&here, &to("link.bin"));
    assert!(at("link.bin").is_symlink());
    assert!(std::fs::metadata(at("old.bin")).unwrap().len() > 3);
    succeeds(&here, &to("/dev/null"));
    let left: Vec<_> = std::fs::read_dir(here.path()).unwrap().collect();
    assert!(
        left.iter()
            .all(|file| !file.as_ref().unwrap().path().ends_with(".new")),
        "{left:?}"
    );
}

/// Runs a command with its standard output led to `to`.
fn into(here: &Directory, arguments: &[&str], to: &str) -> (Option<i32>, String) {
    let words = [&[env!("CARGO_BIN_EXE_mkmanifest")], arguments]
        .concat()
        .join(" ");
    let output = Command::new("sh")
        .args(["-c", &format!("({words}; echo code $? >&2) {to}")])
        .current_dir(here.path())
        .output()
        .unwrap();
    let err = text(output.stderr);
    let (err, code) = err.rsplit_once("code ").unwrap();
    (code.trim().parse().ok(), err.to_owned())
}

#[test]
fn a_full_output_is_a_failure_and_a_closed_one_an_end() {
    let here = directory("cli-output");
    let build = "build x.toml --out x.bin --bin-dir . --bin ingress-probe=probe";
    let commands: [&[&str]; 6] = [
        &[build],
        &["check", "x.toml"],
        &["export", "x.toml"],
        &["show", "x.bin"],
        &["--help"],
        &["--version"],
    ];
    for command in commands {
        let (code, err) = into(&here, command, "> /dev/full");
        assert_eq!(code, Some(1), "{command:?}");
        assert_eq!(
            err, "standard output: No space left on device (os error 28)\n",
            "{command:?}"
        );
        // The reader ends before anything is written.
        let (code, err) = into(&here, command, "| { exec <&-; sleep 0.2; }");
        assert_eq!((code, err.as_str()), (Some(0), ""), "{command:?}");
    }
    // What is wrong is told by the exit code, read or not.
    let (code, _) = into(&here, &["check", "x.toml", "aliased.toml"], "| true");
    assert_eq!(code, Some(1));
}

#[test]
fn time_is_linear_in_the_manifest_and_repeated_words_are_refused() {
    let here = directory("cli-long");
    let many = |list: String| VALID.replacen("[\"nic3\"]", &format!("[\n{list}]"), 1);
    let distinct: String = (1..=60_000).map(|nic| format!("\"nic{nic}\",\n")).collect();
    here.write("long.toml", many(distinct).as_bytes());
    let repeated = "\"nic7\",\n\"nic7\",\n".to_owned();
    here.write("repeated.toml", many(repeated).as_bytes());
    let begun = std::time::Instant::now();
    succeeds(&here, &["check", "long.toml"]);
    let long = begun.elapsed();
    assert!(
        long.as_secs() < 5,
        "{long:?}; read line by line it takes a minute"
    );
    assert!(fails(&here, &["check", "repeated.toml"]).contains("stands in this list already"));
}
