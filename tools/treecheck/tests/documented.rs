//! The documents say what the code says: examples are accepted, tables are the code's own.
//!
//! `cargo test -p treecheck --test documented -- --ignored` writes the tables anew.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod figures;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use ingress_ledger::{
    Lane, LanePhases, Limits, Occupancy, OverloadKind, PermitRefusal, RateBudget, RatePolicy, Span,
};
use mkmanifest::{LaneRules, Manifest, check_manifest, parse};
use remote_session_web_ui::policy::{DRAIN_MAX, Field, Scope, structural_maxima};
use treecheck::{read, root};

type Table = fn() -> String;

/// Where a table stands, its name there, and what it says.
const TABLES: [(&str, &str, Table); 6] = [
    ("docs/manifests.md", "policy-fields", policy_fields),
    ("docs/operators.md", "evidence", figures::evidence_keys),
    ("docs/operators.md", "overloads", overloads),
    ("docs/operators.md", "refusals", refusals),
    ("schema/evidence.capnp", "lane", figures::lane_fields),
    ("schema/evidence.capnp", "service", figures::service_fields),
];

/// Three lanes, and nothing asked for but them.
const PLAIN: &str = r#"
[init]
binary = "remote-session-web-ui"

[init.caps]
console = "console"
timer = "timer"
ui_listener = { source = "tcp_listen_authority", transport = "nic1", port = 8080 }
ui_provider_health_listener = { source = "tcp_listen_authority", transport = "nic2", port = 8081 }
ui_local_listener = { source = "tcp_listen_authority", transport = "loopback", port = 8082 }
"#;

fn check(text: &str) -> Result<Manifest, String> {
    let manifest = parse(Path::new("x.toml"), text).map_err(|error| error.to_string())?;
    check_manifest(&manifest, LaneRules::Checked).map_err(|error| error.to_string())?;
    Ok(manifest)
}

/// A file around one of its tables: before, the table, after. The marks are the file's comments.
fn split(path: &str, table: &str) -> (String, String, String) {
    let (begin, end) = if path.ends_with(".md") {
        (format!("<!-- generated: {table} -->\n"), "<!-- end -->")
    } else {
        (format!("    # generated: {table}\n"), "    # end\n")
    };
    let text = read(path);
    let (before, rest) = text
        .split_once(&begin)
        .unwrap_or_else(|| panic!("{path}: no table `{table}`"));
    let (inside, after) = rest.split_once(end).unwrap();
    (
        format!("{before}{begin}"),
        inside.to_owned(),
        format!("{end}{after}"),
    )
}

#[test]
fn every_table_is_the_codes_own() {
    for (path, table, make) in TABLES {
        let (_, inside, _) = split(path, table);
        assert_eq!(inside, make(), "{path}: table `{table}` is out of date");
    }
}

#[test]
#[ignore = "writes the tables anew"]
fn write_tables() {
    for (path, table, make) in TABLES {
        let (before, _, after) = split(path, table);
        let text = format!("{before}{}{after}", make());
        std::fs::write(root().join(path), text).unwrap();
    }
}

#[test]
fn every_example_is_accepted() {
    let text = read("docs/manifests.md");
    let examples: Vec<&str> = text
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!examples.is_empty());
    for example in examples {
        check(example).unwrap_or_else(|refusal| panic!("{refusal}\n{example}"));
    }
}

/// What a recipe names is there; what it has the reader make stands in its code alone.
#[test]
fn every_file_that_the_recipes_name_exists() {
    let text = read("CONTRIBUTING.md");
    let prose: String = text.split("```").step_by(2).collect();
    let mut names = 0;
    for name in prose.split('`').skip(1).step_by(2) {
        let is_path = name.contains('/') && !name.contains(' ');
        if is_path {
            assert!(root().join(name).exists(), "CONTRIBUTING.md names {name}");
            names += 1;
        }
    }
    assert!(names > 8, "only {names} names were looked at");
}

#[test]
fn every_shipped_manifest_is_described() {
    let text = read("docs/manifests.md");
    for entry in std::fs::read_dir(root().join("manifests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            text.contains(&format!("`{name}`")),
            "docs/manifests.md does not know {name}"
        );
    }
}

/// What holds where nothing is asked for, in the words of the service's readback.
fn defaults() -> BTreeMap<String, String> {
    let manifest = check(PLAIN).unwrap();
    let readback = mkmanifest::policy(&manifest).unwrap().unwrap().to_string();
    readback
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn policy_fields() -> String {
    let defaults = defaults();
    let mut table = String::from(
        "| field | meaning | total | public | local | provider | at most |\n|---|---|---|---|---|---|---|\n",
    );
    for field in Field::ALL
        .into_iter()
        .filter(|field| *field != Field::DeadlineS)
    {
        write!(table, "| `{}` | {} |", field.word(), meaning(field)).unwrap();
        for scope in Scope::ALL {
            let key = format!("{}_{}", scope.word(), field.word());
            let value = match defaults.get(&key) {
                _ if !field.exists_in(scope) => "–",
                Some(value) => value,
                None => "unmetered",
            };
            write!(table, " {value} |").unwrap();
        }
        writeln!(table, " {} |", most(field)).unwrap();
    }
    table
}

fn meaning(field: Field) -> &'static str {
    match field {
        Field::Slots => "requests served at once",
        Field::Reserve => "slots that only this lane can hold",
        Field::Queue => "admitted requests that may wait for a slot",
        Field::Conns => "connections at once",
        Field::ConnReserve => "connections that only this lane can hold",
        Field::Refusals => "refused connections that are answered at once",
        Field::PerConn => "requests in flight on one connection",
        Field::Bytes => "bytes held by requests in flight",
        Field::Rate => "requests a second in the long run",
        Field::Burst => "requests at once",
        Field::AcceptRate => "connections a second in the long run",
        Field::AcceptBurst => "connections at once, by rate",
        Field::DeadlineMs | Field::DeadlineS => "admission to the end of a request",
        Field::HeadMs => "receiving a head",
        Field::BodyMs => "receiving a body",
        Field::WriteMs => "sending an answer",
        Field::IdleMs => "between two requests of a connection",
        Field::RefusalMs => "answering a refused connection",
        Field::DrainMs => "a drained service still takes public connections",
    }
}

/// The structural maximum, which no manifest can raise.
fn most(field: Field) -> String {
    let limits = structural_maxima().0;
    let lane = &limits.lanes[Lane::LocalHealth];
    match field {
        Field::Slots => limits.slots.to_string(),
        Field::Reserve => lane.slot_reserve.to_string(),
        Field::Queue => format!(
            "{}, public {}",
            lane.queue,
            limits.lanes[Lane::Anonymous].queue
        ),
        Field::Conns => limits.connections.to_string(),
        Field::ConnReserve => lane.connection_reserve.to_string(),
        Field::Refusals => lane.refusals.to_string(),
        Field::PerConn => lane.per_connection.to_string(),
        Field::Bytes => limits.bytes_in_flight.to_string(),
        Field::DeadlineMs | Field::DeadlineS => lane.deadline.as_millis().to_string(),
        Field::RefusalMs => limits.refusal_deadline.as_millis().to_string(),
        Field::Rate => format!("{}, public any", budget(lane.request_rate).per_second),
        Field::Burst => format!("{}, public any", budget(lane.request_rate).burst),
        Field::AcceptRate => format!("{}, public any", budget(lane.accept_rate).per_second),
        Field::AcceptBurst => format!("{}, public any", budget(lane.accept_rate).burst),
        Field::HeadMs => milliseconds(&limits, |phases| phases.head),
        Field::BodyMs => milliseconds(&limits, |phases| phases.body),
        Field::WriteMs => milliseconds(&limits, |phases| phases.write),
        Field::IdleMs => milliseconds(&limits, |phases| phases.idle),
        Field::DrainMs => DRAIN_MAX.as_millis().to_string(),
    }
}

fn budget(rate: RatePolicy) -> RateBudget {
    let RatePolicy::Budget(budget) = rate else {
        panic!("a protected lane's rate has a maximum");
    };
    budget
}

fn milliseconds(limits: &Limits, phase: impl Fn(&LanePhases) -> Span) -> String {
    let of = |lane: Lane| phase(&limits.lanes[lane].phases).as_millis();
    let (public, protected) = (of(Lane::Anonymous), of(Lane::LocalHealth));
    assert_eq!(protected, of(Lane::ProviderHealth));
    if public == protected {
        public.to_string()
    } else {
        format!("{protected}, public {public}")
    }
}

fn overloads() -> String {
    let mut table = String::from("| code | status | meaning; cure |\n|---|---|---|\n");
    for kind in OverloadKind::ALL {
        writeln!(
            table,
            "| `{}` | {} | {} |",
            kind.code(),
            kind.status().0,
            kind.explain()
        )
        .unwrap();
    }
    table
}

fn refusals() -> String {
    let some = Occupancy {
        in_use: 1,
        limit: 1,
    };
    let mut table = String::from("| code | status | meaning; cure |\n|---|---|---|\n");
    for refusal in [
        PermitRefusal::RateLimited {
            ready_in: Span::ZERO,
        },
        PermitRefusal::LaneFull(some),
        PermitRefusal::TotalFull(some),
        PermitRefusal::ClockLost,
    ] {
        let (code, status) = (refusal.code(), refusal.status().0);
        writeln!(table, "| `{code}` | {status} | {} |", refusal.explain()).unwrap();
    }
    table
}
