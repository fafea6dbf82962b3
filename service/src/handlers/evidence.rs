//! `GET /api/evidence`: every counter as one capnp record.

use crate::answer::reply::Reply;
use crate::handlers::Verdict;
use crate::http::status::Status;
use crate::report::record;
use crate::request::asked::Request;

/// Writes the record of this moment.
pub fn serve(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    let evidence = request.facts.evidence();
    record::write(&evidence, reply.write(Status::Ok, "application/capnp"));
    Verdict::Done
}
