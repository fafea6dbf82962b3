//! The machine-readable bodies: what the web UI, a local operator and a harness read.
//!
//! Written straight into a fixed buffer; every string in them is one of the program's own words, so
//! that none needs escaping.

use ingress_ledger::{Lane, OverloadKind};

use crate::answer::respond::Context;
use crate::http::status::Status;
use crate::http::write::Text;
use crate::report::evidence::{Evidence, rate_word};
use crate::report::record_format;
use crate::request::route::Handler;

const JSON: &str = "application/json";

/// Writes the body of a dynamic route; says its status and media type.
pub(crate) fn write(
    handler: Handler,
    context: &Context<'_>,
    body: &mut Text<'_>,
) -> (Status, &'static str) {
    match handler {
        Handler::Drain => {
            body.text("{\"state\":\"draining\",\"drain_ms\":")
                .number(context.drain_ms)
                .text("}\n");
            return (Status::Accepted, JSON);
        }
        Handler::Evidence => {
            record_format::write(&(context.evidence)(), body);
            return (Status::Ok, "application/capnp");
        }
        Handler::Ingress => lanes(&(context.evidence)(), body),
        Handler::Status => status(&(context.evidence)(), body),
        Handler::Asset(_) | Handler::Health | Handler::Readiness | Handler::Options => {}
    }
    (Status::Ok, JSON)
}

/// `GET /api/ingress`: the lanes as the landing page shows them.
fn lanes(evidence: &Evidence, body: &mut Text<'_>) {
    head(evidence, body);
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
}

fn lane_object(evidence: &Evidence, lane: Lane, body: &mut Text<'_>) {
    let requests = &evidence.ledger.lanes[lane];
    let conns = &evidence.permits.lanes[lane];
    body.text("{\"lane\":\"").text(lane.name());
    body.text("\",\"rate\":\"")
        .text(rate_word(requests.rate))
        .text("\"");
    for (key, number) in [
        ("admitted", requests.counters.admitted),
        ("completed", requests.counters.completed),
        ("cancelled", requests.counters.cancelled),
        ("route_denied", requests.counters.route_denied),
        ("serving", requests.serving),
        ("waiting", requests.waiting),
        ("slot_reserve", requests.slot_reserve),
        ("slot_limit", requests.slot_limit),
        ("high_water", requests.counters.slots_high_water),
        ("conns", conns.in_use),
        ("conn_limit", conns.limit),
        ("conns_admitted", conns.counters.admitted),
        ("conns_refused", conns.counters.refused),
    ] {
        body.text(",\"").text(key).text("\":").number(number);
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

/// `GET /api/status`: state, uptime, and every bounded resource with its use and limit.
fn status(evidence: &Evidence, body: &mut Text<'_>) {
    head(evidence, body);
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

fn head(evidence: &Evidence, body: &mut Text<'_>) {
    body.text("{\"service\":\"remote-session-web-ui\",\"version\":\"")
        .text(env!("CARGO_PKG_VERSION"));
    body.text("\",\"state\":\"").text(evidence.state.word());
    body.text("\",\"uptime_ms\":")
        .number(evidence.uptime.as_millis());
}
