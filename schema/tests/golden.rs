//! Golden bytes: fixed values, written once, that must encode and decode alike for ever.
//!
//! `cargo test -p ingress-schema --test golden -- --ignored` writes the files
//! anew, which is right for a new file and for an appended field, and wrong for
//! anything else. The numbers of the evidence come from its schema, so that an
//! appended one needs no edit here.

#![expect(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod values;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use capnp::message::ReaderOptions;
use capnp::serialize;
use ingress_schema::discriminator_capnp;

type Discriminator = discriminator_capnp::cap_discriminator::identify_results::Owned;
type Compare = discriminator_capnp::cap_discriminator::compare_results::Owned;

/// A golden file, its encoder, and its type's name for the `capnp` tool.
struct Golden {
    file: &'static str,
    schema: &'static str,
    root: &'static str,
    encode: fn() -> Vec<u8>,
}

/// Parameter and result structs of methods have no name that the tool accepts,
/// so they are witnessed by their bytes alone.
const UNNAMED: &str = "";

const GOLDEN: [Golden; 5] = [
    Golden {
        file: "evidence.bin",
        schema: "evidence.capnp",
        root: "Evidence",
        encode: values::evidence,
    },
    Golden {
        file: "identify-params.bin",
        schema: "discriminator.capnp",
        root: UNNAMED,
        encode: values::identify_params,
    },
    Golden {
        file: "identify-results.bin",
        schema: "discriminator.capnp",
        root: UNNAMED,
        encode: values::identify_results,
    },
    Golden {
        file: "compare-params.bin",
        schema: "discriminator.capnp",
        root: UNNAMED,
        encode: values::compare_params,
    },
    Golden {
        file: "compare-results.bin",
        schema: "discriminator.capnp",
        root: UNNAMED,
        encode: values::compare_results,
    },
];

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(file)
}

fn golden(file: &str) -> Vec<u8> {
    std::fs::read(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn values_encode_to_the_golden_bytes() {
    for case in &GOLDEN {
        assert!(
            (case.encode)() == golden(case.file),
            "{}: these values no longer encode to these bytes",
            case.file
        );
    }
}

/// Those of an older service, too, whose names go on: they are never written again.
#[test]
fn every_golden_evidence_decodes_to_its_values() {
    let mut read = 0;
    for entry in std::fs::read_dir(path("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("evidence") {
            let bytes = golden(&name);
            let message = serialize::read_message(bytes.as_slice(), ReaderOptions::new()).unwrap();
            values::assert_evidence(message.get_root().unwrap());
            read += 1;
        }
    }
    assert!(read >= 3, "{read}");
}

#[test]
fn golden_discriminator_messages_decode_to_their_values() {
    let bytes = golden("identify-results.bin");
    let message = serialize::read_message(bytes.as_slice(), ReaderOptions::new()).unwrap();
    let identity = message.into_typed::<Discriminator>();
    let identity = identity.get().unwrap();
    assert_eq!(identity.get_object_id(), 0x0102_0304_0506_0708);
    assert_eq!(identity.get_transport_id(), 2);
    assert_eq!(identity.get_port(), 8081);
    assert!(!identity.get_wildcard());

    let bytes = golden("compare-results.bin");
    let message = serialize::read_message(bytes.as_slice(), ReaderOptions::new()).unwrap();
    assert!(message.into_typed::<Compare>().get().unwrap().get_same());
}

/// The `capnp` tool as a witness from outside: it must read every named message.
#[test]
fn the_capnp_tool_decodes_the_golden_bytes() {
    for case in GOLDEN.iter().filter(|case| case.root != UNNAMED) {
        let decoded = decode(case);
        for expected in values::spoken(case.file) {
            assert!(
                decoded.contains(expected),
                "{}: no `{expected}` in\n{decoded}",
                case.file
            );
        }
    }
}

/// Bytes of another message must not pass, or the witness would witness nothing.
#[test]
fn the_capnp_tool_refuses_a_truncated_message() {
    let bytes = golden("evidence.bin");
    let output = run_decode(
        "evidence.capnp",
        "Evidence",
        bytes.get(..bytes.len() / 2).unwrap(),
    );
    assert!(!output.status.success(), "half a message was decoded");
}

fn decode(case: &Golden) -> String {
    let output = run_decode(case.schema, case.root, &golden(case.file));
    assert!(
        output.status.success(),
        "{}: {}",
        case.file,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn run_decode(schema: &str, root: &str, bytes: &[u8]) -> std::process::Output {
    use std::io::Write;
    let mut child = Command::new("capnp")
        .args(["decode", "--short", schema, root])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("`capnp` runs, as it did at build time");
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
#[ignore = "writes the golden files anew"]
fn write_golden_files() {
    for case in &GOLDEN {
        let bytes = (case.encode)();
        // What was written by an older service stays readable for ever.
        if case.file == "evidence.bin" && golden(case.file) != bytes {
            let older = golden(case.file);
            std::fs::write(
                path(&format!("evidence-of-{}-bytes.bin", older.len())),
                older,
            )
            .unwrap();
        }
        std::fs::write(path(case.file), bytes).unwrap();
    }
}
