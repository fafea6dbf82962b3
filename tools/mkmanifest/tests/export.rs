//! The export is JSON that a capOS tree takes: the published reader reads it as it is.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses its part of the support")]

mod support;

use capos_config::manifest::FromCueValue;
use capos_config::{CueField, CueValue, ManifestBootstrapPlan, SystemManifest};
use mkmanifest::{Binaries, LaneRules, check, export};
use serde_json::Value;
use support::{Directory, program, shipped};

fn exported(name: &str, binaries: Option<&Binaries>) -> String {
    let manifest = check(&shipped(name), LaneRules::Checked).unwrap();
    export(&manifest, binaries).unwrap()
}

fn cue(value: &Value) -> CueValue {
    match value {
        Value::Null => CueValue::Null,
        Value::Bool(value) => CueValue::Bool(*value),
        Value::Number(number) => CueValue::UInt(number.as_u64().unwrap()),
        Value::String(text) => CueValue::text(text.as_str()),
        Value::Array(values) => CueValue::list(values.iter().map(cue).collect::<Vec<_>>()),
        Value::Object(fields) => CueValue::struct_(
            fields
                .iter()
                .map(|(name, value)| CueField::new(name.as_str(), cue(value)))
                .collect::<Vec<_>>(),
        ),
    }
}

#[test]
fn the_export_of_the_smoke_manifest_is_this() {
    let expected = r#"{
  "schemaVersion": 1,
  "binaries": [
    {
      "name": "capos-rt-smoke"
    }
  ],
  "initConfig": {
    "init": {
      "binary": "capos-rt-smoke",
      "caps": [
        {
          "name": "console",
          "source": {
            "kernel": "console"
          }
        }
      ]
    },
    "services": []
  },
  "kernelParams": {
    "logLevel": "info",
    "hostname": "smoke",
    "motd": ""
  }
}
"#;
    assert_eq!(exported("smoke.toml", None), expected);
}

#[test]
fn a_listener_is_exported_with_its_port_as_badge_and_its_transport_beside_it() {
    let json: Value = serde_json::from_str(&exported("three-lanes.toml", None)).unwrap();
    let caps = json["initConfig"]["init"]["caps"].as_array().unwrap();
    let listeners: Vec<_> = caps
        .iter()
        .filter(|cap| cap["source"]["kernel"] == "tcp_listen_authority")
        .map(|cap| {
            (
                cap["name"].as_str().unwrap(),
                cap["badge"].as_u64().unwrap(),
                cap["transport"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        listeners,
        [
            ("ui_listener", 8080, "nic1"),
            ("ui_provider_health_listener", 8081, "nic2"),
            ("ui_local_listener", 8082, "loopback"),
        ]
    );
}

#[test]
fn the_published_reader_and_validators_accept_the_export() {
    let directory = Directory::new("export");
    directory.write("remote-session-web-ui", &program(0x90));
    directory.write("ingress-probe", &program(0x91));
    let binaries = Binaries::in_directory(directory.path());
    for name in [
        "three-lanes.toml",
        "three-lanes-tight.toml",
        "anonymous-only.toml",
    ] {
        let text = exported(name, Some(&binaries));
        let tree = cue(&serde_json::from_str(&text).unwrap());
        let manifest = SystemManifest::from_cue_value(&tree).unwrap();
        manifest.validate_bootstrap().unwrap();
        let plan = ManifestBootstrapPlan::from_manifest(&manifest).unwrap();
        plan.validate_bootstrap().unwrap();
        assert_eq!(plan.binaries.len(), 2);
        assert!(plan.binaries.iter().all(|binary| binary.data_len == 0x1010));
    }
}
