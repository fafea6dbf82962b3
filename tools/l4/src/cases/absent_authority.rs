//! Case 5: a lane without its listener capability does not exist: its port refuses, its
//! counters stay 0, and what the public lane shows is what the anonymous-only service shows.

use std::path::Path;
use std::time::Duration;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, Tally, Wire};
use crate::lane::Lane;
use crate::session::{ClientCounts, Sabotage, Session};

pub(crate) const CASE: Case = Case {
    name: "absent-authority",
    title: "without its listener capability a lane does not exist, on the wire or the console",
    suite: Suite::Matrix,
    need: Need::Nothing,
    run,
    controls: &[
        Control {
            name: "provider-present",
            breaks: "the manifest that should lack the provider lane has it",
            sabotage: Sabotage::Manifest {
                of: "no-provider",
                instead: "three-lanes",
            },
            must_fail: "no-provider: the provider_health port refuses",
        },
        Control {
            name: "lanes-present",
            breaks: "the anonymous-only manifest has all three lanes",
            sabotage: Sabotage::Manifest {
                of: "anonymous-only",
                instead: "three-lanes",
            },
            must_fail: "the console is the anonymous-only golden",
        },
    ],
};

/// The exchanges whose answers are compared, byte for byte.
const SCRIPT: &[(&str, &str)] = &[
    ("GET", "/"),
    ("HEAD", "/"),
    ("GET", "/healthz"),
    ("HEAD", "/healthz"),
    ("POST", "/healthz"),
    ("GET", "/api/status"),
    ("GET", "/readyz"),
    ("GET", "/nothing-here"),
    ("BREW", "/"),
];

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    boot(
        session,
        "anonymous-only",
        &[Lane::LocalHealth, Lane::ProviderHealth],
    )?;
    boot(session, "no-local", &[Lane::LocalHealth])?;
    boot(session, "no-provider", &[Lane::ProviderHealth])
}

fn boot(session: &mut Session<'_>, manifest: &str, absent: &[Lane]) -> Result<(), Failure> {
    let mut guest = session.boot(manifest)?;
    let mut clients = ClientCounts::default();
    for lane in absent {
        refuses(session, &mut guest, manifest, *lane)?;
    }
    let wire = script(&guest, clients.lane(Lane::Anonymous));
    golden(session, manifest, "wire", "anonymous-only.wire", &wire)?;
    let console = console(&guest);
    if absent.len() == 2 {
        golden(
            session,
            manifest,
            "console",
            "anonymous-only.console",
            &console,
        )?;
    }
    for lane in absent {
        session.check(
            format!("{manifest}: the console does not speak of {}", lane.key()),
            !console.contains(lane.target()) && !console.contains(lane.key()),
            console.replace('\n', " / "),
        );
    }
    let evidence = session.settle(guest, &clients)?;
    for lane in absent {
        for counter in ["admitted", "conns_admitted", "conns_refused"] {
            // An absent lane's counters may be left out of the line altogether.
            session.check_equal(
                format!("{manifest}: {counter}_{} is 0", lane.key()),
                evidence.lane(counter, *lane).unwrap_or_default(),
                0,
            );
        }
    }
    Ok(())
}

/// A port refuses, seen from inside the guest and, where there is a way, from outside.
fn refuses(
    session: &mut Session<'_>,
    guest: &mut Guest,
    manifest: &str,
    lane: Lane,
) -> Result<(), Failure> {
    let path = if lane == Lane::LocalHealth {
        "/api/status"
    } else {
        "/healthz"
    };
    let reply = guest.ask(
        &mut Tally::default(),
        &format!("get {} {path}", lane.target()),
    )?;
    session.check(
        format!(
            "{manifest}: the {} port refuses a client inside",
            lane.key()
        ),
        reply.count("refused") == 1,
        &reply.line,
    );
    if lane == Lane::ProviderHealth {
        let get = http::once("GET", path);
        let answer = http::exchange(guest.provider(), &get, Duration::from_secs(5));
        session.check(
            format!(
                "{manifest}: the {} port refuses a client outside",
                lane.key()
            ),
            answer.as_ref().is_err_and(http::Ending::is_refusal),
            answer.map_or_else(
                |end| end.to_string(),
                |one| format!("status {}", one.status),
            ),
        );
    }
    Ok(())
}

/// Runs the script on the public lane; what varies by time is replaced.
fn script(guest: &Guest, tally: &mut Tally) -> String {
    let mut text = String::new();
    for (method, target) in SCRIPT {
        let bytes = http::once(method, target);
        let timeout = Duration::from_secs(10);
        let outcome = Wire::connect(guest.public(), timeout).and_then(|mut wire| {
            wire.send(&bytes)?;
            wire.response(&bytes)
        });
        tally.count(&outcome);
        text.push_str(&format!("> {method} {target}\n"));
        match outcome {
            Ok(response) => {
                text.push_str(&format!("< {}\n", response.status));
                for (name, value) in &response.headers {
                    let varies = matches!(name.as_str(), "date" | "retry-after");
                    let value = if varies { "(varies)" } else { value };
                    text.push_str(&format!("< {name}: {value}\n"));
                }
                text.push_str(&format!("{}\n", digest(&response.text())));
            }
            Err(ending) => text.push_str(&format!("< {ending}\n")),
        }
    }
    text
}

/// A long body by its length and a checksum, a short one as it is.
fn digest(body: &str) -> String {
    if body.len() <= 256 {
        return body.to_owned();
    }
    let sum = body.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("({} bytes, checksum {sum:016x})", body.len())
}

/// The service's lines up to readiness; counters come later and differ.
fn console(guest: &Guest) -> String {
    let mut text = String::new();
    for line in guest.machine().console().lines() {
        if !line.text.starts_with("[web-ui] ") || line.text.starts_with("[web-ui] evidence") {
            continue;
        }
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

/// Compares with a committed file; `L4_BLESS=1` writes it instead.
fn golden(
    session: &mut Session<'_>,
    manifest: &str,
    what: &str,
    file: &str,
    got: &str,
) -> Result<(), Failure> {
    let path = Path::new("tools/l4/golden").join(file);
    if std::env::var_os("L4_BLESS").is_some() && manifest == "anonymous-only" {
        std::fs::write(&path, got)
            .map_err(|error| Failure::host(path.display().to_string(), error))?;
    }
    let expected = std::fs::read_to_string(&path)
        .map_err(|error| Failure::host(path.display().to_string(), error))?;
    let difference = expected
        .lines()
        .zip(got.lines())
        .find(|(expected, got)| expected != got)
        .map(|(expected, got)| format!("expected `{expected}`, got `{got}`"))
        .unwrap_or_else(|| {
            format!(
                "{} and {} lines",
                expected.lines().count(),
                got.lines().count()
            )
        });
    session.check(
        format!("{manifest}: the {what} is the anonymous-only golden"),
        expected == got,
        difference,
    );
    Ok(())
}
