//! Case 6: nothing that a public request says, in header, target, path or port, moves it to
//! a protected lane.

use crate::cases::{Case, Control, Need, Suite};
use crate::failure::Failure;
use crate::http;
use crate::lane::Lane;
use crate::session::{Sabotage, Session};
use crate::wire::Wires;

pub(crate) const CASE: Case = Case {
    name: "forgery",
    title: "no header, target, path or port moves a public request to a protected lane",
    suite: Suite::Matrix,
    need: Need::Nothing,
    wires: Wires::TapElseUser,
    run,
    controls: &[Control {
        name: "lane-from-header",
        breaks: "the service lets a request header choose the lane",
        sabotage: Sabotage::Service("broken-lane-from-header"),
        must_fail: "nothing is charged to provider_health",
    }],
};

/// Hosts that a request may claim to be for.
const HOSTS: &[&str] = &[
    "Host: localhost:8082",
    "Host: 127.0.0.1:8082",
    "Host: 10.0.3.15:8081",
];

/// Header lines beside an honest host that claim to come from somewhere protected.
const CLAIMS: &[&str] = &[
    "Origin: http://127.0.0.1:8082",
    "Origin: http://10.0.3.15:8081",
    "Referer: http://127.0.0.1:8082/api/status",
    "Forwarded: for=127.0.0.1;host=127.0.0.1:8082;proto=http;by=127.0.0.1",
    "Forwarded: for=10.0.3.2;by=\"10.0.3.15:8081\"",
    "X-Forwarded-For: 127.0.0.1",
    "X-Forwarded-Host: 10.0.3.15:8081",
    "X-Forwarded-Port: 8081",
    "X-Forwarded-Proto: http",
    "X-Real-IP: 127.0.0.1",
    "X-Original-URL: /api/status",
    "X-Rewrite-URL: /readyz",
    "X-Http-Method-Override: POST",
    "Via: 1.1 provider-health",
    "X-Ingress-Lane: provider_health",
    "X-Lane: local_health",
    "Ingress-Lane: provider",
    "User-Agent: GoogleHC/1.0",
    "User-Agent: ELB-HealthChecker/2.0",
    "User-Agent: kube-probe/1.33",
    "Authorization: Bearer provider-health",
    "Cookie: lane=provider_health",
];

/// Targets that name a protected lane or its port, and are the public lane's own health.
const OWN: &[&str] = &[
    "/healthz",
    "/healthz?lane=provider",
    "/healthz?lane=local_health",
    "/healthz;lane=provider",
    "/%68ealthz",
    "http://10.0.3.15:8081/healthz",
    "http://capos.test:8081/healthz",
    "HTTP://10.0.3.15:8081/healthz",
];

/// Targets that name a protected lane's route, which the public lane has not.
const PROTECTED: &[&str] = &[
    "/readyz",
    "/api/status",
    "/drain",
    "//127.0.0.1:8082/api/status",
    "/..%2fapi/status",
    "http://127.0.0.1:8082/api/status",
    "http://localhost:8082/drain",
];

fn run(session: &mut Session<'_>) -> Result<(), Failure> {
    let mut trial = session.boot("three-lanes")?;
    let mut sent = 0_u64;
    trial.session.step("crafted headers on /healthz");
    let hosts = HOSTS.iter().map(|host| (host, ""));
    let claims = CLAIMS.iter().map(|claim| (claim, "Host: capos.test\r\n"));
    for (claim, host) in hosts.chain(claims) {
        let bytes = format!("GET /healthz HTTP/1.1\r\n{host}{claim}\r\nConnection: close\r\n\r\n");
        let public = trial.clients.lane(Lane::Anonymous);
        let answer = http::counted(public, trial.guest.public()?, bytes.as_bytes());
        sent += 1;
        trial.session.check(
            format!("`{claim}` is answered on the public lane"),
            answer.is_ok(),
            http::told(&answer),
        );
    }
    trial.session.step("crafted targets and methods");
    let own = OWN.iter().map(|target| (target, true));
    let protected = PROTECTED.iter().map(|target| (target, false));
    for (target, may_serve) in own.chain(protected) {
        for method in ["GET", "HEAD", "POST"] {
            let length = if method == "POST" {
                "Content-Length: 0"
            } else {
                "Accept: */*"
            };
            let bytes = http::request(method, target, &[length, "Connection: close"]);
            let public = trial.clients.lane(Lane::Anonymous);
            let answer = http::counted(public, trial.guest.public()?, &bytes);
            sent += 1;
            let served = answer.as_ref().is_ok_and(|one| one.status == 200);
            trial.session.check(
                format!("`{method} {target}` opens no protected route"),
                may_serve || !served,
                http::told(&answer),
            );
        }
    }
    let evidence = trial.settle()?;
    let connections = evidence.lane("conns_admitted", Lane::Anonymous)?
        + evidence.lane("conns_refused", Lane::Anonymous)?;
    session.check_equal(
        "every connection is charged to anonymous",
        connections,
        sent,
    );
    for lane in [Lane::LocalHealth, Lane::ProviderHealth] {
        for counter in [
            "conns_admitted",
            "conns_refused",
            "admitted",
            "route_denied",
        ] {
            session.check_equal(
                format!("nothing is charged to {}: {counter}", lane.key()),
                evidence.lane(counter, lane)?,
                0,
            );
        }
    }
    Ok(())
}
