//! `OPTIONS *`: what the server as a whole allows.

use crate::answer::reply::Reply;
use crate::handlers::Verdict;
use crate::request::asked::Request;

/// Names the methods of all routes of the lane.
pub fn serve(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    reply.allow(request.facts.methods(request.lane));
    Verdict::Done
}
