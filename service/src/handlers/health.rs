//! `GET /healthz`: the tiny answer to a probe.

use ingress_ledger::Lane;

use crate::answer::reply::Reply;
use crate::handlers::Verdict;
use crate::http::status::Status;
use crate::report::evidence::ServingState;
use crate::request::asked::Request;

const HEALTH: &str = "application/health+json";

/// Passes, or tells a balancer to go elsewhere while the service drains. The local lane's health is
/// asked by whoever would restart the service, and a drain is no reason to.
pub fn serve(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    let state = if request.lane == Lane::LocalHealth {
        ServingState::Serving
    } else {
        request.facts.serving_state()
    };
    tell(state, reply);
    Verdict::Done
}

/// The answer of a check.
pub(crate) const fn tell(state: ServingState, reply: &mut Reply<'_>) {
    match state {
        ServingState::Serving => reply.fixed(Status::Ok, HEALTH, b"{\"status\":\"pass\"}\n"),
        ServingState::Draining => reply.fixed(
            Status::ServiceUnavailable,
            HEALTH,
            b"{\"status\":\"fail\",\"output\":\"draining\"}\n",
        ),
    }
}
