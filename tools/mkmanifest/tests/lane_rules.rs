//! Every lane rule refuses what it is there to refuse, naming both grants.

#![allow(dead_code, reason = "each test file uses its part of the support")]

mod support;

use mkmanifest::{LaneRules, check};
use support::{VALID, assert_refused, shipped, with};

const PROVIDER: &str = r#"transport = "nic2", port = 8081"#;
const LOCAL: &str = r#"transport = "loopback", port = 8082"#;

#[test]
fn the_valid_manifest_is_accepted() {
    support::check(VALID).unwrap();
}

/// The ways in which two lanes' listeners are one: the manifest that is shipped with it, to be
/// booted past these rules, the same in the provider's binding here, where that is refused, and
/// the words. The service proves the same at boot, from objects (`service/tests/distinct.rs`).
const ALIASED: [(&str, &str, &str, &str); 4] = [
    (
        "aliased-object.toml",
        r#"transport = "nic1", port = 8080"#,
        "ui_provider_health_listener",
        "one listener object is granted under two names",
    ),
    (
        "aliased-port.toml",
        r#"transport = "nic2", port = 8080"#,
        "ui_provider_health_listener.port",
        "two lanes listen on port 8080",
    ),
    (
        "aliased-transport.toml",
        r#"transport = "nic1", port = 8081"#,
        "ui_provider_health_listener.transport",
        "two lanes listen on transport `nic1`",
    ),
    (
        "aliased-wildcard.toml",
        r#"transport = "any", port = 8081"#,
        "ui_provider_health_listener.transport",
        "a lane that listens on every transport overlaps another lane",
    ),
];

#[test]
fn the_aliased_manifests_are_refused_and_can_be_built_on_purpose() {
    let both = [
        "`init.caps.ui_listener`",
        "`init.caps.ui_provider_health_listener`",
    ];
    for (shipped_as, binding, place, problem) in ALIASED {
        let at = format!("x.toml:15: init.caps.{place}: {problem}");
        assert_refused(&with(PROVIDER, binding), &[&at, both[0], both[1]]);
        let file = shipped(shipped_as);
        let refusal = check(&file, LaneRules::Checked).unwrap_err().to_string();
        for part in [shipped_as, problem, both[0], both[1]] {
            assert!(refusal.contains(part), "no `{part}` in {refusal}");
        }
        check(&file, LaneRules::Unchecked).unwrap();
    }
}

#[test]
fn a_wildcard_that_overlaps_is_refused() {
    let public = r#"transport = "nic1", port = 8080"#;
    for (part, wild) in [
        (PROVIDER, r#"transport = "any", port = 8081"#),
        (LOCAL, r#"transport = "any", port = 8082"#),
        (public, r#"transport = "any", port = 8080"#),
        // Not even where the port is another lane's as well.
        (PROVIDER, r#"transport = "any", port = 8080"#),
    ] {
        assert_refused(
            &with(part, wild),
            &[
                "a lane that listens on every transport overlaps another lane",
                "and `init.caps.ui_",
            ],
        );
    }
}

#[test]
fn a_wildcard_that_is_alone_is_refused() {
    let text = r#"
        [init]
        binary = "remote-session-web-ui"
        [init.caps]
        ui_listener = { source = "tcp_listen_authority", transport = "any", port = 8080 }
    "#;
    assert_refused(
        text,
        &["init.caps.ui_listener.transport: a lane listens on every transport"],
    );
}

#[test]
fn the_local_lane_on_a_nic_is_refused() {
    assert_refused(
        &with(LOCAL, r#"transport = "nic4", port = 8082"#),
        &[
            "x.toml:16: init.caps.ui_local_listener.transport: the local lane would be reachable over `nic4`",
            "add \"nic4\" to system.admin_transports",
        ],
    );
}

#[test]
fn the_local_lane_on_a_declared_admin_nic_is_accepted() {
    support::check(&with(LOCAL, r#"transport = "nic3", port = 8082"#)).unwrap();
}

#[test]
fn a_lane_of_another_source_is_refused() {
    let part = r#"{ source = "tcp_listen_authority", transport = "nic1", port = 8080 }"#;
    assert_refused(
        &with(part, r#""endpoint""#),
        &["init.caps.ui_listener: a lane's listener is a `tcp_listen_authority`, not a `endpoint`"],
    );
}

#[test]
fn a_service_without_any_lane_is_refused() {
    let text = "[init]\nbinary = \"remote-session-web-ui\"\n";
    assert_refused(
        text,
        &[
            "x.toml:2: init.binary: no lane has a listener",
            "ui_listener",
        ],
    );
}

#[test]
fn a_listener_under_a_name_that_is_no_lanes_is_refused() {
    for name in ["ui_listner", "ui_public_listener", "UI_LISTENER", "spare"] {
        assert_refused(
            &with("ui_listener =", &format!("{name} =")),
            &[
                &format!("x.toml:14: init.caps.{name}: no lane has a listener of this name"),
                "name it ui_listener, ui_local_listener or ui_provider_health_listener",
            ],
        );
    }
}

#[test]
fn a_known_name_on_another_object_is_refused() {
    for (part, slip, expected) in [
        ("timer = \"timer\"", "timer = \"wall_clock\"", "timer"),
        ("console = \"console\"", "console = \"log_sink\"", "console"),
        ("timer = \"timer\"", "wall_clock = \"timer\"", "wall_clock"),
        ("timer = \"timer\"", "entropy = \"timer\"", "entropy_source"),
    ] {
        assert_refused(
            &with(part, slip),
            &[&format!("a grant of this name is a `{expected}`, not a `")],
        );
    }
}

#[test]
fn the_service_is_not_packed_without_what_it_needs() {
    for name in ["console", "timer"] {
        let grant = format!("{name} = \"{name}\"");
        assert_refused(
            &with(&grant, ""),
            &[
                "x.toml:9: init.binary: ",
                &format!("cannot do without the grant `{name}`; add {grant}"),
            ],
        );
    }
    // What another program needs is its own affair.
    let other = VALID
        .replace("remote-session-web-ui", "another")
        .replace("timer = \"timer\"", "");
    assert!(!support::check(&other).is_err_and(|refusal| refusal.contains("cannot do without")));
}

#[test]
fn another_grant_on_a_lanes_binding_is_refused() {
    let part = r#"timer = "timer""#;
    let other = r#"spare = { source = "tcp_listen_authority", transport = "nic1", port = 8080 }"#;
    assert_refused(
        &with(part, other),
        &[
            "another process could take a lane's connections",
            "`init.caps.ui_listener`",
            "`init.caps.spare`",
        ],
    );
}

#[test]
fn another_process_on_a_lanes_binding_is_refused() {
    let part = r#"network = "network_manager""#;
    let other =
        r#"ui_listener = { source = "tcp_listen_authority", transport = "any", port = 8080 }"#;
    assert_refused(
        &with(part, other),
        &[
            "`init.caps.ui_listener` (line 14)",
            "`service[0].caps.ui_listener` (line 32)",
        ],
    );
}

#[test]
fn every_other_shipped_manifest_is_accepted() {
    let mut seen = 0;
    for entry in std::fs::read_dir(shipped("")).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".toml") && !name.starts_with("aliased-") {
            check(&file, LaneRules::Checked).unwrap_or_else(|error| panic!("{error}"));
            seen += 1;
        }
    }
    assert!(seen >= 7, "only {seen} manifests were found");
}
