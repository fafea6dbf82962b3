//! Packages: what is packed is what was written, and what is too much is refused.

#![allow(dead_code, reason = "each test file uses its part of the support")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use capos_config::{CapSource, KernelCapSource, ManifestBootstrapPlan, SystemManifest};
use ingress_schema::listen::ListenBinding;
use mkmanifest::{Binaries, Images, LaneRules, Options, build, show};
use support::{Directory, VALID, program, shipped};

fn package(directory: &Directory, text: &str, options: Options) -> Result<Vec<u8>, String> {
    let file = directory.write("x.toml", text.as_bytes());
    directory.write("remote-session-web-ui", &program(0x90));
    let probe = directory.write("another-name", &program(0x91));
    let binaries = Binaries::in_directory(directory.path()).with("ingress-probe", probe);
    build(&file, &binaries, options).map_err(|error| error.to_string())
}

#[test]
fn a_package_reads_back_as_it_was_written() {
    let directory = Directory::new("roundtrip");
    let bytes = package(&directory, VALID, Options::default()).unwrap();
    let plan = ManifestBootstrapPlan::from_aligned_capnp_bytes_no_alloc(&bytes).unwrap();
    assert_eq!(plan.init.binary, "remote-session-web-ui");
    let names: Vec<&str> = plan.init.caps.iter().map(|cap| cap.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "console",
            "timer",
            "ui_listener",
            "ui_provider_health_listener",
            "ui_local_listener",
            "ingress_total_slots=40",
            "ingress_local_reserve=4",
            "ingress_local_rate=5",
            "ingress_local_burst=10",
        ]
    );
    let bindings: Vec<String> = plan
        .init
        .caps
        .iter()
        .filter(|cap| cap.source == KernelCapSource::TcpListenAuthority)
        .map(|cap| ListenBinding::from_badge(cap.badge).unwrap().to_string())
        .collect();
    assert_eq!(bindings, ["nic1:8080", "nic2:8081", "loopback:8082"]);
    let markers = &plan.init.caps[5..];
    assert!(
        markers
            .iter()
            .all(|cap| cap.source == KernelCapSource::Endpoint && cap.badge == 0)
    );
    let probe = &plan.services[0];
    assert_eq!(
        (probe.name.as_str(), probe.binary.as_str()),
        ("probe", "ingress-probe")
    );
    assert_eq!(probe.caps[1].name, "network");
    assert_eq!(
        probe.caps[1].source,
        CapSource::Kernel(KernelCapSource::NetworkManager)
    );
    assert_eq!(plan.exit_when_service_exits.as_deref(), Some("probe"));
    assert_eq!(plan.kernel_params.unwrap().hostname, "ingress");
}

/// A kernel validates a plan with the ports alone in its badges; nothing else may differ.
#[test]
fn a_package_passes_the_published_validators_by_its_ports() {
    let directory = Directory::new("validators");
    let bytes = package(&directory, VALID, Options::default()).unwrap();
    let mut plan = ManifestBootstrapPlan::from_capnp_bytes(&bytes).unwrap();
    assert!(
        plan.validate_bootstrap().is_err(),
        "the badges carry transports"
    );
    for cap in &mut plan.init.caps {
        if cap.source == KernelCapSource::TcpListenAuthority {
            cap.badge = ListenBinding::from_badge(cap.badge).unwrap().port_badge();
        }
    }
    plan.validate_bootstrap().unwrap();
}

#[test]
fn a_package_is_one_segment_and_the_same_every_time() {
    let directory = Directory::new("segment");
    let bytes = package(&directory, VALID, Options::default()).unwrap();
    assert_eq!(bytes[..4], [0; 4], "segments less one");
    assert_eq!(bytes.len() % 8, 0);
    let words = usize::try_from(u32::from_le_bytes(bytes[4..8].try_into().unwrap())).unwrap();
    assert_eq!(words * 8 + 8, bytes.len(), "the segment is the whole rest");
    assert_eq!(
        bytes,
        package(&directory, VALID, Options::default()).unwrap()
    );
}

#[test]
fn binaries_are_cut_down_to_what_is_loaded() {
    let directory = Directory::new("image");
    let bytes = package(&directory, VALID, Options::default()).unwrap();
    let manifest = SystemManifest::from_capnp_bytes(&bytes).unwrap();
    for (blob, fill) in manifest.binaries.iter().zip([0x90, 0x91]) {
        assert_eq!(blob.data.len(), 0x1010);
        assert_eq!(blob.data[0x1000..], [fill; 16]);
        assert_eq!(blob.data[40..48], [0; 8], "no section table is named");
        let (cut, whole) = (
            capos_lib::elf::parse(&blob.data),
            capos_lib::elf::parse(&program(fill)),
        );
        assert_eq!(cut.unwrap(), whole.unwrap());
    }
}

#[test]
fn a_binary_that_is_missing_is_refused() {
    let error = build(
        &shipped("smoke.toml"),
        &Binaries::in_directory("no/such/folder"),
        Options::default(),
    )
    .unwrap_err()
    .to_string();
    assert!(
        error.contains("init.binary: binary `capos-rt-smoke` is not at no/such/folder/capos-rt-smoke; build it, or"),
        "{error}"
    );
}

#[test]
fn a_binary_that_cannot_be_read_is_told_from_one_that_is_missing() {
    let directory = Directory::new("unreadable");
    let file = directory.write("x.toml", b"[init]\nbinary = \"folder\"\n");
    std::fs::create_dir(directory.path().join("folder")).unwrap();
    let binaries = Binaries::in_directory(directory.path());
    let error = build(&file, &binaries, Options::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("init.binary: binary `folder` cannot be read at ")
            && error.contains("--bin folder=PATH"),
        "{error}"
    );
}

#[test]
fn a_binary_that_is_no_program_is_refused_unless_asked_for() {
    let directory = Directory::new("loadable");
    let text = "[init]\nbinary = \"junk\"\n";
    let file = directory.write("x.toml", text.as_bytes());
    directory.write("junk", b"no program at all");
    let binaries = Binaries::in_directory(directory.path());
    let error = build(&file, &binaries, Options::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("init.binary: binary `junk` cannot be loaded"),
        "{error}"
    );
    let options = Options {
        images: Images::AsGiven,
        ..Options::default()
    };
    let bytes = build(&file, &binaries, options).unwrap();
    let manifest = SystemManifest::from_capnp_bytes(&bytes).unwrap();
    assert_eq!(manifest.binaries[0].data, b"no program at all");
}

#[test]
fn a_package_that_is_too_large_beside_its_kernel_is_refused() {
    let directory = Directory::new("size");
    let bytes = package(&directory, VALID, Options::default())
        .unwrap()
        .len();
    let beside = |kernel_bytes| Options {
        kernel_bytes,
        ..Options::default()
    };
    package(
        &directory,
        VALID,
        beside(mkmanifest::IMAGE_BYTES_MAX - bytes),
    )
    .unwrap();
    let error = package(
        &directory,
        VALID,
        beside(mkmanifest::IMAGE_BYTES_MAX - bytes + 1),
    )
    .unwrap_err();
    assert!(
        error.contains(&format!("has {bytes} bytes and may have {}", bytes - 1)),
        "{error}"
    );
}

#[test]
fn a_kernel_counts_for_what_is_loaded_of_it() {
    assert_eq!(mkmanifest::loaded_bytes(&program(0x90)), 64 + 56 + 16);
    assert_eq!(mkmanifest::loaded_bytes(b"no ELF file"), 11);
    // Headers that lie about their sizes count whole.
    let mut lying = program(0x90);
    lying[64 + 32..64 + 40].fill(0xff);
    assert_eq!(mkmanifest::loaded_bytes(&lying), lying.len());
}

#[test]
fn lane_rules_are_kept_unless_asked_not_to() {
    let directory = Directory::new("lanes");
    let aliased = VALID.replace("\"nic2\"", "\"nic1\"");
    package(&directory, &aliased, Options::default()).unwrap_err();
    let options = Options {
        lane_rules: LaneRules::Unchecked,
        ..Options::default()
    };
    let bytes = package(&directory, &aliased, options).unwrap();
    let text = show(Path::new("x.bin"), &bytes).unwrap();
    assert!(
        text.contains("ui_provider_health_listener      kernel:tcp_listen_authority on nic1:8081"),
        "{text}"
    );
}

#[test]
fn a_package_is_shown_in_words() {
    let directory = Directory::new("show");
    let bytes = package(&directory, VALID, Options::default()).unwrap();
    let text = show(Path::new("x.bin"), &bytes).unwrap();
    for line in [
        "init runs remote-session-web-ui",
        "  ui_local_listener                kernel:tcp_listen_authority on loopback:8082",
        "  ingress_local_burst=10           kernel:endpoint",
        "service probe runs ingress-probe",
        "ends when service probe or init exits",
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "no `{line}` in\n{text}"
        );
    }
}

#[test]
fn a_changed_bit_of_a_binary_is_shown() {
    let directory = Directory::new("check");
    let bytes = package(&directory, VALID, Options::default()).unwrap();
    let binaries = |bytes: &[u8]| -> Vec<String> {
        let text = show(Path::new("x.bin"), bytes).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("binary "));
        lines.map(String::from).collect()
    };
    let good = binaries(&bytes);
    assert!(good[0].starts_with("binary remote-session-web-ui: 4112 bytes, check "));
    let image = bytes.windows(4).position(|at| at == b"\x7fELF").unwrap();
    let mut changed = bytes;
    changed[image + 0x1000] ^= 1;
    let damaged = binaries(&changed);
    let differ = good.iter().zip(&damaged).filter(|(a, b)| a != b).count();
    assert_eq!((good.len(), differ), (2, 1), "{good:?} {damaged:?}");
}

#[test]
fn what_is_no_package_is_not_shown() {
    for bytes in [
        &b""[..],
        b"no package at all, but some text",
        &[0; 64],
        &[0xff; 64],
    ] {
        let error = show(Path::new("x.bin"), bytes).unwrap_err().to_string();
        assert!(
            error.starts_with("x.bin: this is not a boot package"),
            "{error}"
        );
    }
}

#[test]
fn a_package_that_claims_more_than_it_holds_is_not_shown() {
    // Eleven words: a manifest whose configuration is a list of 2^24 values without a size.
    let words: [u64; 11] = [
        10 << 32,
        4 << 48 | 1 << 32,
        1,
        0,
        2 << 2 | 2 << 32 | 1 << 48,
        0,
        0,
        6,
        0,
        1 | 7 << 32,
        (1 << 24) << 2,
    ];
    let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
    let error = show(Path::new("x.bin"), &bytes).unwrap_err().to_string();
    assert!(error.contains("limit exceeded"), "{error}");
}

/// The `capnp` tool and the published schema as witnesses from outside.
#[test]
fn the_capnp_tool_reads_a_package_by_the_published_schema() {
    let directory = Directory::new("witness");
    let bytes = package(&directory, VALID, Options::default()).unwrap();
    let file = directory.write("x.bin", &bytes);
    let output = Command::new("capnp")
        .args(["decode", "--short"])
        .arg(published_schema())
        .arg("SystemManifest")
        .stdin(std::fs::File::open(file).unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for part in [
        "(schemaVersion = 1, binaries = [(name = \"remote-session-web-ui\", data = ",
        "(text = \"ui_provider_health_listener\")",
        "(name = \"badge\", value = (uintValue = 139153))",
        "(text = \"ingress_total_slots=40\")",
        "hostname = \"ingress\"",
    ] {
        assert!(text.contains(part), "no `{part}`");
    }
}

/// The schema file of the `capos-config` that this workspace is locked to.
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
fn published_schema() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let config = packages
        .iter()
        .find(|package| package["name"] == "capos-config")
        .unwrap();
    let manifest = Path::new(config["manifest_path"].as_str().unwrap());
    manifest.with_file_name("schema").join("capos.capnp")
}
