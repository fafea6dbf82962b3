//! `GET /readyz`: whether the service takes work, for an operator's or a supervisor's check.

use crate::answer::reply::Reply;
use crate::handlers::{Verdict, health};
use crate::request::asked::Request;

/// Passes while the service takes work.
pub fn serve(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    health::tell(request.facts.serving_state(), reply);
    Verdict::Done
}
