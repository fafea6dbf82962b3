//! `GET /api/ingress`: the lanes as the landing page shows them.

use ingress_ledger::{Lane, OverloadKind};

use crate::answer::reply::Reply;
use crate::handlers::Verdict;
use crate::handlers::json::{self, JSON};
use crate::http::status::Status;
use crate::http::write::Text;
use crate::report::evidence::{Evidence, rate_word};
use crate::report::row::{LaneFigures, LaneRead};
use crate::report::table::LANE;
use crate::request::asked::Request;

/// Every lane that there is.
pub fn serve(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    let evidence = &request.facts.evidence();
    let body = reply.write(Status::Ok, JSON);
    json::head(evidence, body);
    body.text(",\"general\":{\"in_use\":")
        .number(evidence.ledger.general_used);
    body.text(",\"limit\":")
        .number(evidence.ledger.general_pool);
    body.text("},\"bytes\":{\"in_flight\":")
        .number(evidence.ledger.bytes_in_flight);
    body.text(",\"high_water\":")
        .number(evidence.ledger.bytes_high_water);
    body.text("},\"lanes\":[");
    let mut separator = "";
    for lane in Lane::ALL.into_iter().filter(|lane| evidence.enabled[*lane]) {
        body.text(separator);
        separator = ",";
        lane_object(evidence, lane, body);
    }
    body.text("]}\n");
    Verdict::Done
}

fn lane_object(evidence: &Evidence, lane: Lane, body: &mut Text<'_>) {
    let figures = LaneFigures::of(evidence, lane);
    let requests = figures.requests;
    body.text("{\"lane\":\"").text(lane.name());
    body.text("\",\"rate\":\"")
        .text(rate_word(requests.rate))
        .text("\"");
    for row in LANE {
        if let (Some(key), LaneRead::Number(read)) = (row.json, row.read) {
            body.text(",\"")
                .text(key)
                .text("\":")
                .number(read(&figures));
        }
    }
    body.text(",\"overloads\":{");
    let mut separator = "\"";
    for kind in OverloadKind::ALL {
        body.text(separator)
            .text(kind.code())
            .text("\":")
            .number(requests.counters.overloads[kind]);
        separator = ",\"";
    }
    body.text("}}");
}
