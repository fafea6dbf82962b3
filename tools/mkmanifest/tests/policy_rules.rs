//! Every policy rule refuses what it is there to refuse, at the field at fault.

#![allow(dead_code, reason = "each test file uses its part of the support")]

mod support;

use support::{VALID, assert_refused, check, with};

const POLICY: &str = "[init.policy.total]\nslots = 40";

#[test]
fn the_policy_is_the_services_own() {
    let manifest = check(VALID).unwrap();
    let policy = mkmanifest::policy(&manifest).unwrap().unwrap().to_string();
    for part in [
        "total_slots=40",
        "local_reserve=4",
        "local_rate=5",
        "local_burst=10",
    ] {
        assert!(policy.contains(part), "no {part} in {policy}");
    }
}

#[test]
fn a_quota_above_the_maximum_is_cut_and_told() {
    let manifest = check(&with("slots = 40", "slots = 100000")).unwrap();
    let policy = mkmanifest::policy(&manifest).unwrap().unwrap();
    assert_eq!(mkmanifest::clamps(&policy), ["slots of total"]);
}

/// What is written instead of `[init.policy.total]`, where the refusal points, and its words. The
/// rules are the service's and the ledger's, and are tested there, one by one; here is a vector for
/// each way that a refusal of theirs finds its field.
const REFUSED: &[(&str, &str, &[&str])] = &[
    (
        "[init.policy.public]\nslotz = 4",
        "x.toml:19: init.policy.public.slotz: marker ingress_public_slotz=4",
        &["use one of: slots, queue, conns,"],
    ),
    (
        "[init.policy.public]\nreserve = 4",
        "x.toml:19: init.policy.public.reserve: ",
        &["a field that its scope does not have"],
    ),
    (
        "[init.policy.anonymous]\nslots = 4",
        "x.toml:19: init.policy.anonymous.slots: ",
        &["use one of: total, public, local, provider"],
    ),
    (
        "[init.policy.public]\nrate = \"exempt\"",
        "x.toml:19: init.policy.public.rate: ",
        &["no plain decimal number"],
    ),
    (
        "[init.policy.public]\nslots = -1",
        "x.toml:19: init.policy.public.slots: the number is not in 0 to",
        &[],
    ),
    (
        "[init.policy.public]\nslots = 4294967296",
        "x.toml:19: init.policy.public.slots: ",
        &["no plain decimal number below 4294967296"],
    ),
    (
        "[init.policy.public]\nslots = 1.5",
        "x.toml:19: init.policy.public.slots: expected a whole number, found float",
        &[],
    ),
    (
        "[init.policy.provider]\naccept_burst = 100",
        "x.toml:19: init.policy.provider.accept_burst: ",
        &["`ingress_provider_accept_burst=100` has 33 bytes and a CapSet entry holds 32"],
    ),
    (
        "[init.policy.public]\ndeadline_ms = 4\ndeadline_s = 4",
        "x.toml:20: init.policy.public.deadline_s: ",
        &["contradicts the marker for deadline_ms"],
    ),
    (
        "[init.policy.public]\nburst = 4",
        "x.toml:19: init.policy.public.burst: ",
        &["set the rate beside it"],
    ),
    (
        "[init.policy.public]\nidle_ms = 0",
        "x.toml:19: init.policy.public.idle_ms: this phase would be over at once",
        &[],
    ),
    (
        "[init.policy.total]\nslots = 12",
        "x.toml:22: init.policy.local.reserve: ",
        &[
            "reserve_leaves_no_anonymous_capacity",
            "lower them or raise the total",
        ],
    ),
    (
        "[init.policy.total]\nslots = 0",
        "x.toml:19: init.policy.total.slots: ",
        &["zero_total"],
    ),
];

#[test]
fn what_the_service_would_refuse_is_refused_at_its_field() {
    for (fields, place, words) in REFUSED {
        let text = with(POLICY, fields);
        assert_refused(&text, &[place]);
        assert_refused(&text, words);
    }
}

#[test]
fn an_enabled_protected_lane_without_reserve_is_refused() {
    assert_refused(
        &with("reserve = 4", "reserve = 0"),
        &["x.toml:22: init.policy.local.reserve: the policy is refused: zero_reserve"],
    );
}

#[test]
fn a_reserve_for_a_lane_without_listener_is_refused() {
    let listener = "ui_local_listener = { source = \"tcp_listen_authority\", transport = \"loopback\", port = 8082 }\n";
    assert_refused(
        &with(listener, ""),
        &[
            "init.policy.local.reserve: policy for a lane that does not exist: `ui_local_listener` is not granted",
            "remove the field, or grant `ui_local_listener`",
        ],
    );
}

#[test]
fn a_rate_exemption_on_the_loopback_is_accepted() {
    let text = with("rate = 5\nburst = 10", "rate = \"exempt\"");
    let policy = mkmanifest::policy(&check(&text).unwrap()).unwrap().unwrap();
    assert!(policy.to_string().contains("local_rate=exempt"));
}

#[test]
fn a_rate_exemption_on_an_admin_nic_is_refused() {
    let text = with("rate = 5\nburst = 10", "rate = \"exempt\"")
        .replace("transport = \"loopback\"", "transport = \"nic3\"");
    assert_refused(
        &text,
        &[
            "x.toml:23: init.policy.local.rate: the local lane is reachable over `nic3` and may not be rate exempt",
        ],
    );
}

#[test]
fn a_marker_written_as_a_grant_is_refused() {
    assert_refused(
        &with(
            "timer = \"timer\"",
            "\"ingress_public_slots=4\" = \"endpoint\"",
        ),
        &["a policy marker is written as a grant; write it under `init.policy`"],
    );
}

#[test]
fn policy_without_any_lane_is_refused() {
    let text = "[init]\nbinary = \"capos-rt-smoke\"\n[init.policy.total]\nslots = 4\n";
    assert_refused(
        text,
        &["x.toml:4: init.policy.total.slots: no lane has a listener"],
    );
}
