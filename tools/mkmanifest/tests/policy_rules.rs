//! Every policy rule refuses what it is there to refuse, at the field at fault.

#![allow(dead_code, reason = "each test file uses its part of the support")]

mod support;

use support::{VALID, assert_refused, check, with};

const POLICY: &str = "[init.policy.total]\nslots = 40";

fn with_policy(fields: &str) -> String {
    with(POLICY, fields)
}

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

#[test]
fn an_unknown_policy_field_is_refused() {
    assert_refused(
        &with_policy("[init.policy.public]\nslotz = 4"),
        &[
            "x.toml:19: init.policy.public.slotz: marker ingress_public_slotz=4",
            "use one of: slots, queue, conns,",
        ],
    );
}

#[test]
fn a_policy_field_of_another_scope_is_refused() {
    assert_refused(
        &with_policy("[init.policy.public]\nreserve = 4"),
        &[
            "init.policy.public.reserve: ",
            "a field that its scope does not have",
        ],
    );
}

#[test]
fn an_unknown_lane_is_refused() {
    assert_refused(
        &with_policy("[init.policy.anonymous]\nslots = 4"),
        &[
            "init.policy.anonymous.slots: ",
            "use one of: total, public, local, provider",
        ],
    );
}

#[test]
fn a_value_that_is_no_number_is_refused() {
    assert_refused(
        &with_policy("[init.policy.public]\nrate = \"exempt\""),
        &["init.policy.public.rate: ", "no plain decimal number"],
    );
    assert_refused(
        &with_policy("[init.policy.public]\nslots = -1"),
        &["init.policy.public.slots: the number is not in 0 to"],
    );
    assert_refused(
        &with_policy("[init.policy.public]\nslots = 4294967296"),
        &[
            "init.policy.public.slots: ",
            "no plain decimal number below 4294967296",
        ],
    );
    assert_refused(
        &with_policy("[init.policy.public]\nslots = 1.5"),
        &["init.policy.public.slots: expected a whole number, found float"],
    );
}

#[test]
fn a_marker_that_fits_no_capset_entry_is_refused() {
    assert_refused(
        &with_policy("[init.policy.provider]\naccept_burst = 100"),
        &["`ingress_provider_accept_burst=100` has 33 bytes and a CapSet entry holds 32"],
    );
}

#[test]
fn contradictory_fields_are_refused() {
    assert_refused(
        &with_policy("[init.policy.public]\ndeadline_ms = 4\ndeadline_s = 4"),
        &[
            "x.toml:20: init.policy.public.deadline_s: ",
            "contradicts the marker for deadline_ms",
        ],
    );
}

#[test]
fn a_burst_without_a_rate_is_refused() {
    assert_refused(
        &with_policy("[init.policy.public]\nburst = 4"),
        &[
            "x.toml:19: init.policy.public.burst: ",
            "set the rate beside it",
        ],
    );
}

#[test]
fn a_phase_of_no_time_is_refused() {
    assert_refused(
        &with_policy("[init.policy.public]\nidle_ms = 0"),
        &["x.toml:19: init.policy.public.idle_ms: this phase would be over at once"],
    );
}

#[test]
fn reserves_that_leave_no_general_pool_are_refused() {
    assert_refused(
        &with("slots = 40", "slots = 12"),
        &[
            "init.policy.",
            "reserve_leaves_no_anonymous_capacity",
            "lower them or raise the total",
        ],
    );
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
fn a_zero_total_is_refused() {
    assert_refused(
        &with("slots = 40", "slots = 0"),
        &["init.policy.total.slots: ", "zero_total"],
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
