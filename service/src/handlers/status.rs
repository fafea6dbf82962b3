//! `GET /api/status`: state, uptime, and every bounded resource with its use and limit.
//!
//! Where there is a wall clock it is read again first, so that an operator sees the machine's time
//! and dates do not drift from it; without it, or without an answer from it in time, the status is
//! told all the same.

use ingress_ledger::Lane;

use crate::answer::reply::{Effect, Reply};
use crate::handlers::Verdict;
use crate::handlers::json::{self, JSON};
use crate::http::status::Status;
use crate::http::write::Text;
use crate::report::evidence::Evidence;
use crate::request::asked::Request;
use crate::request::job::{Job, Outcome};

/// Reads the wall clock, then tells the status.
pub fn serve(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    if request.outcome.is_none() && request.facts.has_wall_clock() {
        return Verdict::Later(Job::ReadWallClock);
    }
    let evidence = &request.facts.evidence();
    let body = reply.write(Status::Ok, JSON);
    json::head(evidence, body);
    if let Some(Outcome::WallClock(wall)) = request.outcome {
        body.text(",\"utc_seconds\":").number(wall.unix_seconds);
    }
    write_rows(evidence, body);
    if let Some(Outcome::WallClock(wall)) = request.outcome {
        reply.change(Effect::SetWallClock(wall));
    }
    Verdict::Done
}

fn write_rows(evidence: &Evidence, body: &mut Text<'_>) {
    body.text(",\"release_balanced\":")
        .text(if evidence.release_balanced() {
            "true"
        } else {
            "false"
        });
    body.text(",\"outstanding\":")
        .number(evidence.ledger.outstanding());
    body.text(",\"rows\":[");
    row(
        body,
        ("connections", "all"),
        evidence.permits.in_use,
        evidence.permits.limit,
    );
    body.text(",");
    row(
        body,
        ("general_slots", "all"),
        evidence.ledger.general_used,
        evidence.ledger.general_pool,
    );
    for lane in Lane::ALL.into_iter().filter(|lane| evidence.enabled[*lane]) {
        let requests = &evidence.ledger.lanes[lane];
        let conns = &evidence.permits.lanes[lane];
        body.text(",");
        row(
            body,
            ("connections", lane.name()),
            conns.in_use,
            conns.limit,
        );
        body.text(",");
        row(
            body,
            ("slots", lane.name()),
            requests.serving,
            requests.slot_limit,
        );
    }
    body.text("]}\n");
}

fn row(body: &mut Text<'_>, (resource, lane): (&str, &str), in_use: u64, limit: u64) {
    body.text("{\"resource\":\"")
        .text(resource)
        .text("\",\"lane\":\"")
        .text(lane);
    body.text("\",\"in_use\":")
        .number(in_use)
        .text(",\"limit\":")
        .number(limit)
        .text("}");
}
