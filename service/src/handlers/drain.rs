//! `POST /drain`: the beginning of a drain. The body is empty, or says how long the grace is.

use ingress_ledger::Span;

use crate::answer::reply::{Effect, Reply};
use crate::handlers::Verdict;
use crate::handlers::json::JSON;
use crate::http::fault::Fault;
use crate::http::framing::parse_decimal;
use crate::http::status::Status;
use crate::request::asked::Request;

/// The longest grace that a request may ask for.
const GRACE_MAX_MS: u64 = 600_000;

/// Begins a drain, or shortens the grace of the one under way; says how long it is from now.
pub fn serve(request: &Request<'_>, reply: &mut Reply<'_>) -> Verdict {
    let grace = match parse_body(request.body) {
        Ok(grace) => grace,
        Err(fault) => {
            reply.refuse(fault);
            return Verdict::Done;
        }
    };
    let until = request.facts.grace(grace);
    reply
        .write(Status::Accepted, JSON)
        .text("{\"state\":\"draining\",\"drain_ms\":")
        .number(until.as_millis())
        .text("}\n");
    reply.change(Effect::Drain(grace));
    Verdict::Done
}

/// Reads the body: empty, or `grace_ms=<decimal>`.
fn parse_body(body: &[u8]) -> Result<Option<Span>, Fault> {
    let body = body.trim_ascii();
    if body.is_empty() {
        return Ok(None);
    }
    let digits = body.strip_prefix(b"grace_ms=").ok_or(Fault::BodyInvalid)?;
    match parse_decimal(digits) {
        Some(grace) if grace <= GRACE_MAX_MS => Ok(Some(Span::from_millis(grace))),
        _ => Err(Fault::BodyInvalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_empty_or_a_grace() {
        assert_eq!(parse_body(b""), Ok(None));
        assert_eq!(parse_body(b"\r\n"), Ok(None));
        assert_eq!(
            parse_body(b"grace_ms=250"),
            Ok(Some(Span::from_millis(250)))
        );
        for bad in [
            "grace_ms=",
            "grace_ms=-1",
            "grace_ms=600001",
            "grace=1",
            "{}",
            "grace_ms=1&x=2",
        ] {
            assert_eq!(parse_body(bad.as_bytes()), Err(Fault::BodyInvalid), "{bad}");
        }
    }
}
