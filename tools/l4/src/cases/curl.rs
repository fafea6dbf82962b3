//! Case `curl`: a client that is not ours agrees with what the lanes say, from the head of
//! a response to the reuse of a connection; and browsers' own header sets are taken.

use std::net::SocketAddr;

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::http;
use crate::lane::Lane;
use crate::session::{SLOW_HOST, Sabotage, Session};
use crate::tool::{self, Finished};
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "curl",
    title: "curl and browsers' requests are answered as the standards say",
    suite: Suite::Matrix,
    need: Need::Programs(&["curl"]),
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "swapped-listeners",
        breaks: "the public port leads to the provider lane",
        sabotage: Sabotage::Manifest {
            of: "three-lanes",
            instead: "swapped-listeners",
        },
        must_fail: "curl -s /: status 200",
    }],
};

/// curl's arguments, the target, and the status that it must report.
const REQUESTS: &[(&[&str], &str, &str)] = &[
    (&["-s"], "/", "200"),
    (&["-s"], "/healthz", "200"),
    (&["-sI"], "/", "200"),
    (&["-sI"], "/healthz", "200"),
    (&["-s", "--http1.0"], "/healthz", "200"),
    (
        &["-s", "--http1.0", "-H", "Connection: keep-alive"],
        "/healthz",
        "200",
    ),
    (&["-s", "--compressed"], "/app.js", "200"),
    (&["-s"], "/style.css", "200"),
    (&["-s"], "/api/ingress", "200"),
    (&["-s"], "/healthz?probe=1", "200"),
    (&["-s", "-d", "x=1"], "/healthz", "405"),
    (&["-s", "-X", "DELETE"], "/", "405"),
    (&["-s", "-X", "BREW"], "/", "501"),
    (&["-s"], "/nothing", "404"),
    (&["-s", "--path-as-is"], "/../../etc/passwd", "400"),
    (&["-s", "-H", "Host:"], "/", "400"),
    (
        &["-s", "-X", "OPTIONS", "--request-target", "*"],
        "/",
        "204",
    ),
];

const CHROME: &[&str] = &[
    "Connection: keep-alive",
    "Cache-Control: max-age=0",
    "sec-ch-ua: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"",
    "sec-ch-ua-mobile: ?0",
    "sec-ch-ua-platform: \"Linux\"",
    "Upgrade-Insecure-Requests: 1",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
     Chrome/142.0.0.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Sec-Fetch-Site: none",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-User: ?1",
    "Sec-Fetch-Dest: document",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Accept-Language: en-US,en;q=0.9,de;q=0.8",
    "Cookie: a=1; theme=\"dark\"",
];

const FIREFOX: &[&str] = &[
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language: en-US,en;q=0.5",
    "Accept-Encoding: gzip, deflate",
    "DNT: 1",
    "Connection: keep-alive",
    "Upgrade-Insecure-Requests: 1",
    "Priority: u=0, i",
];

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    // curl may see more responses than its report tells (interim ones, retries).
    let mut trial = session.boot("three-lanes")?.at_most();
    let public = trial.guest.public()?;
    trial.session.step("one request of each kind");
    for (arguments, target, expected) in REQUESTS {
        let finished = curl(public, arguments, &[target])?;
        let told = finished.stdout.trim().to_owned();
        trial.session.check(
            format!("curl {} {target}: status {expected}", arguments.join(" ")),
            told.lines()
                .last()
                .is_some_and(|line| line.starts_with(expected)),
            &told,
        );
    }
    trial.session.step("reuse, revalidation, a wrong protocol");
    reuse(trial.session, public)?;
    revalidation(trial.session, public)?;
    let h2 = curl(public, &["-s", "--http2-prior-knowledge"], &["/"])?;
    trial.session.check(
        "HTTP/2 by prior knowledge is refused and not served",
        !h2.stdout.trim().starts_with('2'),
        format_args!("exit {:?}, {}", h2.code, h2.stdout.trim()),
    );
    trial.session.step("browsers' header sets");
    for (name, headers) in [("Chrome", CHROME), ("Firefox", FIREFOX)] {
        for target in ["/", "/style.css", "/app.js", "/favicon.ico", "/api/ingress"] {
            let bytes = http::request("GET", target, headers);
            let tally = trial.clients.lane(Lane::Anonymous);
            let answer = http::counted(tally, public, &bytes);
            trial.session.check(
                format!("{name} gets {target}"),
                answer.as_ref().is_ok_and(|one| one.status == 200),
                http::told(&answer),
            );
        }
    }
    trial.settle().map(drop)
}

/// Runs curl; it prints the status and the number of new connections, a line a target.
fn curl(address: SocketAddr, arguments: &[&str], targets: &[&str]) -> Result<Finished, Failure> {
    let mut all = vec!["-m", "60", "-w", "%{http_code} %{num_connects}\n"];
    all.extend(arguments);
    let urls: Vec<String> = targets
        .iter()
        .map(|target| format!("http://{address}{target}"))
        .collect();
    for url in &urls {
        all.extend(["-o", "/dev/null", url]);
    }
    tool::run("curl", &all, SLOW_HOST)
}

fn reuse(session: &mut Session<'_>, address: SocketAddr) -> Result<(), Failure> {
    let targets = ["/healthz", "/", "/app.js", "/healthz"];
    let finished = curl(address, &["-s"], &targets)?;
    let lines: Vec<&str> = finished.stdout.lines().map(str::trim).collect();
    session.check(
        "curl reuses one connection for four requests",
        lines == ["200 1", "200 0", "200 0", "200 0"],
        lines.join(", "),
    );
    Ok(())
}

fn revalidation(session: &mut Session<'_>, address: SocketAddr) -> Result<(), Failure> {
    let first = http::exchange(address, &http::once("GET", "/app.js"));
    let tag = first
        .ok()
        .and_then(|one| one.header("etag").map(str::to_owned));
    let header = format!("If-None-Match: {}", tag.as_deref().unwrap_or("(none)"));
    let finished = curl(address, &["-s", "-H", &header], &["/app.js"])?;
    session.check(
        "an unchanged asset is answered 304",
        finished.stdout.starts_with("304"),
        format_args!("{header}: {}", finished.stdout.trim()),
    );
    Ok(())
}
