//! The format itself: unknown, missing and mistyped fields are refused where they stand.

#![allow(dead_code, reason = "each test file uses its part of the support")]

mod support;

use std::path::Path;

use support::{assert_refused, check, refusal, with};

#[test]
fn what_is_no_toml_is_refused() {
    assert_refused(&with("[init]", "[init"), &["x.toml:8: this is not TOML: "]);
}

#[test]
fn a_file_that_is_not_there_is_refused() {
    let error = mkmanifest::read(Path::new("no/such.toml")).unwrap_err();
    assert!(error.to_string().starts_with("no/such.toml: "), "{error}");
}

#[test]
fn a_file_without_an_end_is_refused() {
    let error = mkmanifest::read(Path::new("/dev/zero")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "/dev/zero: /dev/zero has more than 1048576 bytes; check that the path is the right one"
    );
}

#[test]
fn a_manifest_that_is_no_text_is_refused() {
    let here = support::Directory::new("format-text");
    let file = here.write("x.toml", b"[init]\nbinary = \"\xff\"\n");
    let error = mkmanifest::read(&file).unwrap_err().to_string();
    assert!(
        error.contains("this is not TOML: it is not text"),
        "{error}"
    );
}

#[test]
fn more_processes_than_the_kernel_starts_are_refused() {
    let with_services = |count: usize| {
        let more = (1..count).map(|n| format!("[[service]]\nname = \"s{n}\"\nbinary = \"b\"\n"));
        [support::VALID.to_owned()]
            .into_iter()
            .chain(more)
            .collect::<String>()
    };
    check(&with_services(ingress_schema::PROCESSES_MAX - 1)).unwrap();
    assert_refused(
        &with_services(ingress_schema::PROCESSES_MAX),
        &[
            "service[7].name: 9 processes, init counted, and the kernel starts 8",
            "; remove services",
        ],
    );
}

#[test]
fn an_unknown_field_is_refused_in_every_table() {
    for (part, field, known) in [
        ("[system]", "[system]\ncolour = 1", "hostname, motd"),
        ("[init]", "[init]\ncolour = 1", "binary, caps, policy"),
        (
            "[[service]]",
            "[[service]]\ncolour = 1",
            "name, binary, caps",
        ),
        ("[system]", "[colour]\n[system]", "system, init, service"),
        (
            "port = 8080",
            "port = 8080, colour = 1",
            "source, transport, port",
        ),
        (
            r#"timer = "timer""#,
            r#"timer = { source = "timer", colour = 1 }"#,
            "source",
        ),
    ] {
        assert_refused(
            &with(part, field),
            &["colour: there is no such field", known],
        );
    }
}

#[test]
fn a_missing_field_is_refused() {
    assert_refused(
        &with("binary = \"remote-session-web-ui\"\n", ""),
        &["x.toml:8: init.binary: this field is missing"],
    );
    assert_refused(
        &with("name = \"probe\"\n", ""),
        &["service[0].name: this field is missing"],
    );
    assert_refused(
        &with("transport = \"nic1\", ", ""),
        &["x.toml:14: init.caps.ui_listener.transport: this field is missing"],
    );
    assert_refused(
        &with(", port = 8080", ""),
        &["x.toml:14: init.caps.ui_listener.port: this field is missing"],
    );
}

#[test]
fn a_listener_without_a_binding_is_refused() {
    assert_refused(
        &with("timer = \"timer\"", "timer = \"tcp_listen_authority\""),
        &["x.toml:13: init.caps.timer.transport: this field is missing"],
    );
}

#[test]
fn a_port_that_is_none_is_told_the_range_of_ports() {
    for port in ["0", "-1", "65536", "99999999999999999999999"] {
        assert_refused(
            &with("port = 8080", &format!("port = {port}")),
            &["init.caps.ui_listener.port: the number is not in 1 to 65535;"],
        );
    }
}

#[test]
fn a_name_that_is_a_path_is_refused() {
    for name in ["../probe", "/etc/passwd", "a/b", ".", ".."] {
        assert_refused(
            &with("\"ingress-probe\"", &format!("\"{name}\"")),
            &[&format!("service[0].binary: the name `{name}` is a path; ")],
        );
        assert_refused(
            &with("name = \"probe\"", &format!("name = \"{name}\"")),
            &[&format!("service[0].name: the name `{name}` is a path; ")],
        );
    }
}

#[test]
fn what_a_refusal_repeats_cannot_steer_a_terminal() {
    assert_refused(
        &with("timer = \"timer\"", "timer = \"\\u001b[2J\\u0000\\r\\n\""),
        &["init.caps.timer: `\\u{1b}[2J\\0\\r\\n` is not known here"],
    );
}

#[test]
fn another_type_is_refused() {
    assert_refused(
        &with("\"ingress\"", "4"),
        &["system.hostname: expected text, found integer"],
    );
    assert_refused(
        &with("port = 8080", "port = \"8080\""),
        &["init.caps.ui_listener.port: expected a whole number, found string"],
    );
    assert_refused(
        &with("[\"nic3\"]", "\"nic3\""),
        &["system.admin_transports: expected a list"],
    );
    assert_refused(
        &with("timer = \"timer\"", "timer = 4"),
        &["init.caps.timer: expected a table"],
    );
}

#[test]
fn a_port_out_of_range_is_refused() {
    for port in ["0", "65536", "-1"] {
        let text = with("port = 8080", &format!("port = {port}"));
        assert!(refusal(&text).contains("init.caps.ui_listener.port: the number is not in"));
    }
}

#[test]
fn an_unknown_source_is_refused() {
    assert_refused(
        &with("\"timer\"", "\"tymer\""),
        &["init.caps.timer: `tymer` is not known here"],
    );
}

#[test]
fn an_unknown_transport_is_refused() {
    for word in ["nic0", "eth0", "lo", ""] {
        let text = with("\"nic1\"", &format!("\"{word}\""));
        assert_refused(
            &text,
            &["init.caps.ui_listener.transport: ", "loopback, nic1"],
        );
    }
    assert_refused(
        &with("[\"nic3\"]", "[\"nic\"]"),
        &["system.admin_transports[0]: "],
    );
}

#[test]
fn an_unknown_log_level_is_refused() {
    assert_refused(
        &with("\"info\"", "\"loud\""),
        &["system.log_level: `loud`", "debug, info"],
    );
}

/// A badge tells listen authorities apart, is made of their binding, and means nothing elsewhere.
#[test]
fn a_badge_is_refused_on_every_source() {
    for (part, badged) in [
        (
            r#"timer = "timer""#,
            r#"timer = { source = "timer", badge = 7 }"#,
        ),
        (
            r#"timer = "timer""#,
            r#"timer = { source = "endpoint", badge = 0 }"#,
        ),
        ("port = 8080", "port = 8080, badge = 73616"),
    ] {
        assert_refused(&with(part, badged), &["badge: there is no such field"]);
    }
}

#[test]
fn a_binding_on_another_source_is_refused() {
    assert_refused(
        &with(
            r#"timer = "timer""#,
            r#"timer = { source = "timer", port = 80 }"#,
        ),
        &["init.caps.timer.port: a `timer` grant has no transport and no port"],
    );
}

#[test]
fn a_long_name_is_refused() {
    let long = "a".repeat(33);
    assert_refused(
        &with("timer = ", &format!("{long} = ")),
        &["has 33 bytes and a CapSet entry holds 32"],
    );
    let longest = format!("{} = \"timer\"\ntimer = ", "a".repeat(32));
    check(&with("timer = ", &longest)).unwrap();
}

#[test]
fn a_name_that_is_not_printable_is_refused() {
    for name in ["\"\"", "\"a b\"", "\"\\u00e9\"", "\"a\\n\""] {
        assert_refused(
            &with("timer = ", &format!("{name} = ")),
            &["is not printable ASCII"],
        );
    }
}

#[test]
fn names_that_could_forge_a_line_of_the_console_are_refused() {
    for (part, field) in [
        ("name = \"probe\"", "name"),
        ("binary = \"ingress-probe\"", "binary"),
        ("binary = \"remote-session-web-ui\"", "binary"),
    ] {
        for name in [
            "",
            "a b",
            "a\\r[kernel] exit success",
            "\\u001b[2J",
            "\\u0000",
        ] {
            assert_refused(
                &with(part, &format!("{field} = \"{name}\"")),
                &[&format!("{field}: the name "), "is not printable ASCII"],
            );
        }
    }
}

#[test]
fn a_refusal_stays_on_its_line() {
    assert_eq!(
        refusal(&with("timer = ", "\"a\\nb\" = ")).lines().count(),
        1
    );
}

#[test]
fn the_injected_name_is_refused() {
    assert_refused(
        &with("timer = ", "discrim = "),
        &["init.caps.discrim: the kernel injects the grant of this name itself"],
    );
}

#[test]
fn two_grants_of_one_name_are_refused() {
    assert_refused(
        &with("timer = \"timer\"", "console = \"timer\""),
        &["x.toml:13: ", "duplicate key"],
    );
}

#[test]
fn more_grants_than_a_capset_holds_are_refused() {
    use std::fmt::Write;
    let grants = |count: usize| {
        let mut text = String::from("timer = \"timer\"\n");
        for number in 0..count {
            writeln!(text, "spare{number} = \"endpoint\"").unwrap();
        }
        with("timer = \"timer\"\n", &text)
    };
    // console, timer, three listeners, four markers and the discriminator stand beside them.
    check(&grants(85 - 10)).unwrap();
    assert_refused(
        &grants(85 - 9),
        &["86 grants in one process, and a CapSet page holds 85"],
    );
}

#[test]
fn the_published_validators_are_asked() {
    assert_refused(
        &with("\"ingress\"", "\"two words\""),
        &["x.toml: the published validator says: ", "hostname"],
    );
    assert_refused(
        &with(
            "exit_when_service_exits = \"probe\"",
            "exit_when_service_exits = \"nobody\"",
        ),
        &["exitWhenServiceExits references unknown service `nobody`"],
    );
    let twice = "[[service]]\nname = \"probe\"\nbinary = \"ingress-probe\"\n\n[[service]]";
    assert_refused(
        &with("[[service]]", twice),
        &["service name `probe` is already declared"],
    );
    assert_refused(
        &with("binary = \"ingress-probe\"", "binary = \"init\""),
        &["binary name `init` is reserved"],
    );
}
