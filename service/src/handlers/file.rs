//! A file of the web UI, the one that the route is about.

use crate::answer::reply::Reply;
use crate::handlers::Verdict;
use crate::request::asked::Request;
use crate::request::route::About;

/// Answers with the route's file; a route about something else has none, and is answered empty.
pub fn serve(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    if let About::File(asset) = request.route.about {
        reply.file(asset);
    }
    Verdict::Done
}
