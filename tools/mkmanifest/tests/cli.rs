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
    for command in ["check", "policy", "export"] {
        let err = fails(&here, &[command, "/dev/zero"]);
        assert!(
            err.contains("/dev/zero has more than 1048576 bytes"),
            "{err}"
        );
    }
}

#[test]
fn build_does_not_overwrite_its_manifest() {
    let here = directory("cli-overwrite");
    let err = fails(&here, &["build", "x.toml", "--out", "./x.toml"]);
    assert!(
        err.contains("the package would overwrite its manifest"),
        "{err}"
    );
    let left = std::fs::read_to_string(here.path().join("x.toml")).unwrap();
    assert_eq!(left, VALID);
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
fn the_policy_record_says_what_the_service_would_serve_under() {
    use ingress_schema::policy_capnp::{policy, rate};

    let here = directory("cli-policy");
    here.write(
        "big.toml",
        VALID
            .replace("slots = 40", "slots = 40\nconns = 100000")
            .as_bytes(),
    );
    let output = run(&here, &["policy", "big.toml"]);
    assert!(output.status.success(), "{}", text(output.stderr));
    let message =
        capnp::serialize::read_message(output.stdout.as_slice(), Default::default()).unwrap();
    let record: policy::Reader<'_> = message.get_root().unwrap();
    assert_eq!((record.get_slots(), record.get_general_slots()), (40, 28));
    assert_eq!(record.get_conns(), 1024);
    let clamped: Vec<_> = record
        .get_clamped()
        .unwrap()
        .iter()
        .map(|word| word.unwrap().to_string().unwrap())
        .collect();
    assert_eq!(clamped, ["total_conns"]);
    let local = record.get_local_health().unwrap();
    assert!(local.get_enabled());
    assert_eq!(local.get_slot_reserve(), 4);
    match local.get_request_rate().unwrap().which() {
        Ok(rate::Which::Budget(budget)) => {
            assert_eq!((budget.get_per_second(), budget.get_burst()), (5, 10));
        }
        _ => panic!("the local lane has a budget"),
    }
    let public = record.get_anonymous().unwrap();
    assert!(matches!(
        public.get_request_rate().unwrap().which(),
        Ok(rate::Which::Unmetered(()))
    ));
    // The readback line of the same policy has the same figures.
    let (line, _) = succeeds(&here, &["check", "big.toml"]);
    for part in [
        format!(" public_slots={} ", public.get_slots()),
        format!(" public_deadline_ms={} ", public.get_deadline_ms()),
        format!(" local_conns={} ", local.get_conns()),
        format!(" local_idle_ms={} ", local.get_idle_ms()),
        format!(" total_bytes={} ", record.get_bytes()),
        " clamped=total_conns".to_owned(),
    ] {
        assert!(line.contains(&part), "{part} in {line}");
    }
}
