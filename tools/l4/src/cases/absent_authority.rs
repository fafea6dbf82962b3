//! Case 5: a lane without its listener capability does not exist: its port refuses, its
//! counters stay 0, and what the public lane shows is what the anonymous-only service shows.

use std::path::Path;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::guest::Guest;
use crate::http::{self, Response};
use crate::lane::Lane;
use crate::session::{Sabotage, Session};
use crate::trial::Trial;
use crate::wire;

pub(crate) const CASE: Case = Case {
    name: "absent-authority",
    title: "without its listener capability a lane does not exist, on the wire or the console",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: wire::ANY,
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
    let only = boot(
        session,
        "anonymous-only",
        &[Lane::LocalHealth, Lane::ProviderHealth],
    )?;
    golden(session, "wire", "anonymous-only.wire", &only.stable)?;
    golden(session, "console", "anonymous-only.console", &only.console)?;
    for (manifest, absent) in [
        ("no-local", Lane::LocalHealth),
        ("no-provider", Lane::ProviderHealth),
    ] {
        let shown = boot(session, manifest, &[absent])?;
        session.check(
            format!("{manifest}: the public lane answers what the anonymous-only service does"),
            shown.whole == only.whole,
            difference(&only.whole, &shown.whole),
        );
    }
    Ok(())
}

/// What a service showed.
#[derive(Default)]
struct Shown {
    /// Its answers, byte for byte but for what varies by time.
    whole: String,
    /// The same without what changes when a page is edited.
    stable: String,
    /// Its console up to readiness.
    console: String,
}

fn boot(session: &mut Session<'_>, manifest: &str, absent: &[Lane]) -> Result<Shown, Failure> {
    let mut trial = session.boot(manifest)?;
    for lane in absent {
        refuses(&mut trial, manifest, *lane)?;
    }
    let mut shown = script(&mut trial)?;
    shown.console = console(&trial.guest);
    for lane in absent {
        trial.session.check(
            format!("{manifest}: the console does not speak of {}", lane.key()),
            !shown.console.contains(lane.target()) && !shown.console.contains(lane.key()),
            shown.console.replace('\n', " / "),
        );
    }
    let evidence = trial.settle()?;
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
    Ok(shown)
}

/// A port refuses, seen from inside the guest and, where there is a way, from outside.
fn refuses(trial: &mut Trial<'_, '_>, manifest: &str, lane: Lane) -> Result<(), Failure> {
    let path = if lane == Lane::LocalHealth {
        "/api/status"
    } else {
        "/healthz"
    };
    // Nobody listens, so nothing of it is in the service's counts.
    let command = format!("get {} {path}", lane.target());
    let reply = trial.guest.tell(&command)?;
    trial.session.check(
        format!(
            "{manifest}: the {} port refuses a client inside",
            lane.key()
        ),
        reply.count("refused") == 1,
        &reply.line,
    );
    if let Some(address) = trial.guest.address(lane) {
        let answer = http::exchange(address, &http::once("GET", path));
        trial.session.check(
            format!(
                "{manifest}: the {} port refuses a client outside",
                lane.key()
            ),
            answer.as_ref().is_err_and(http::Ending::is_refusal),
            http::told(&answer),
        );
    }
    Ok(())
}

/// The longest body that is told as it is.
const BODY_SHOWN_MAX: usize = 256;

/// Runs the script on the public lane; what varies by time is replaced.
fn script(trial: &mut Trial<'_, '_>) -> Result<Shown, Failure> {
    let mut shown = Shown::default();
    let (address, tally) = (trial.guest.public()?, trial.clients.lane(Lane::Anonymous));
    for (method, target) in SCRIPT {
        let bytes = http::once(method, target);
        let outcome = http::counted(tally, address, &bytes);
        shown.both(&format!("> {method} {target}"));
        match outcome {
            Ok(response) => shown.response(&response),
            Err(ending) => shown.both(&format!("< {ending}")),
        }
    }
    Ok(shown)
}

impl Shown {
    fn both(&mut self, line: &str) {
        for text in [&mut self.whole, &mut self.stable] {
            text.push_str(line);
            text.push('\n');
        }
    }

    fn either(&mut self, whole: &str, stable: &str) {
        self.whole.push_str(whole);
        self.whole.push('\n');
        self.stable.push_str(stable);
        self.stable.push('\n');
    }

    fn response(&mut self, response: &Response) {
        self.both(&format!("< {}", response.status));
        // A page has an entity tag; its length and tag change with every edit.
        let is_page = response.header("etag").is_some();
        for (name, value) in &response.headers {
            match name.as_str() {
                "date" | "retry-after" => self.both(&format!("< {name}: (varies)")),
                "etag" | "content-length" if is_page => self.either(
                    &format!("< {name}: {value}"),
                    &format!("< {name}: (the page's)"),
                ),
                _ => self.both(&format!("< {name}: {value}")),
            }
        }
        let body = response.text();
        if body.len() <= BODY_SHOWN_MAX {
            self.both(&body);
        } else {
            self.either(&body, "(a page)");
        }
    }
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
fn golden(session: &mut Session<'_>, what: &str, file: &str, got: &str) -> Result<(), Failure> {
    let path = Path::new("tools/l4/golden").join(file);
    let failed = |error| Failure::host(path.display().to_string(), error);
    if std::env::var_os("L4_BLESS").is_some() {
        std::fs::write(&path, got).map_err(failed)?;
    }
    let expected = std::fs::read_to_string(&path).map_err(failed)?;
    session.check(
        format!("anonymous-only: the {what} is the anonymous-only golden"),
        expected == got,
        difference(&expected, got),
    );
    Ok(())
}

/// The first line that differs.
fn difference(expected: &str, got: &str) -> String {
    let lines = || expected.lines().zip(got.lines());
    match lines().find(|(expected, got)| expected != got) {
        Some((expected, got)) => format!("expected `{expected}`, got `{got}`"),
        None => format!(
            "{} and {} lines",
            expected.lines().count(),
            got.lines().count()
        ),
    }
}
