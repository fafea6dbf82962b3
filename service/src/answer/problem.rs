//! Answers that say no: small, typed, fixed in size, written into a connection's own note area.
//!
//! `application/problem+json` (RFC 9457) with a stable `code`, the `lane`, and for capacity `in_use`
//! and `limit`. Nothing in them comes from the request, so nothing can be reflected.

use ingress_ledger::{IngressOverload, Lane, Occupancy, PermitRefusal, Span};

use crate::answer::head::{Response, Shape, write_head};
use crate::http::fault::Fault;
use crate::http::method::Methods;
use crate::http::status::Status;
use crate::http::write::Text;
use crate::ids::JitterSeed;
use crate::request::route::Denial;

/// The interim answer to `Expect: 100-continue`.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Longest `Retry-After`, in seconds, before jitter.
const RETRY_AFTER_MAX: u64 = 4;

/// Everything that a refusing answer says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem {
    pub(crate) status: Status,
    code: &'static str,
    detail: &'static str,
    occupancy: Option<Occupancy>,
    retry_after_s: Option<u64>,
    allow: Option<Methods>,
}

impl Problem {
    const fn new(status: Status, code: &'static str, detail: &'static str) -> Self {
        Self {
            status,
            code,
            detail,
            occupancy: None,
            retry_after_s: None,
            allow: None,
        }
    }

    /// A request whose form is at fault.
    pub(crate) const fn of_fault(fault: Fault) -> Self {
        Self::new(fault.status(), fault.code(), fault.explain())
    }

    /// A request that no route of the lane answers.
    pub(crate) const fn of_denial(denial: Denial) -> Self {
        let allow = match denial {
            Denial::MethodNotAllowed(methods) => Some(methods),
            Denial::NotFound | Denial::NotOnThisLane | Denial::MethodUnknown => None,
        };
        Self {
            allow,
            ..Self::new(denial.status(), denial.code(), denial.explain())
        }
    }

    /// A request whose `If-Match`, or whose `If-None-Match` where it would act, does not hold.
    pub(crate) const fn of_failed_condition() -> Self {
        Self::new(
            Status::PreconditionFailed,
            "precondition_failed",
            "A precondition of the request does not hold.",
        )
    }

    /// A request that was not admitted, or not served in time.
    pub(crate) fn of_overload(overload: IngressOverload, jitter: &mut JitterSeed) -> Self {
        let ready_in = match overload {
            IngressOverload::RateLimited { ready_in } => Some(ready_in),
            _ => None,
        };
        Self {
            occupancy: overload.occupancy(),
            retry_after_s: Some(retry_after(overload.occupancy(), ready_in, jitter)),
            ..Self::new(
                status(overload.status().0),
                overload.code(),
                overload.explain(),
            )
        }
    }

    /// A connection that got no permit.
    pub(crate) fn of_refusal(refusal: PermitRefusal, jitter: &mut JitterSeed) -> Self {
        let ready_in = match refusal {
            PermitRefusal::RateLimited { ready_in } => Some(ready_in),
            _ => None,
        };
        Self {
            occupancy: refusal.occupancy(),
            retry_after_s: Some(retry_after(refusal.occupancy(), ready_in, jitter)),
            ..Self::new(
                status(refusal.status().0),
                refusal.code(),
                refusal.explain(),
            )
        }
    }

    /// Writes head and body; `None` if they do not fit, which no problem of this table does.
    pub(crate) fn write(&self, lane: Lane, shape: Shape<'_>, area: &mut [u8]) -> Option<usize> {
        let mut body_bytes = [0; 512];
        let mut body = Text::new(&mut body_bytes);
        self.write_body(lane, &mut body);
        let length = body.finish()?;
        let response = Response {
            status: self.status,
            media_type: Some("application/problem+json"),
            length,
            connection: shape.connection,
            date: shape.date,
            allow: self.allow,
            retry_after_s: self.retry_after_s,
            ..Response::EMPTY
        };
        let mut text = Text::new(area);
        write_head(&response, &mut text);
        if !shape.head_only {
            text.bytes(body_bytes.get(..length)?);
        }
        text.finish()
    }

    fn write_body(&self, lane: Lane, body: &mut Text<'_>) {
        body.text("{\"title\":\"").text(self.status.reason());
        body.text("\",\"status\":")
            .number(self.status.code().into());
        body.text(",\"code\":\"").text(self.code);
        body.text("\",\"lane\":\"").text(lane.name());
        body.text("\",\"detail\":\"").text(self.detail).text("\"");
        if let Some(occupancy) = self.occupancy {
            body.text(",\"in_use\":").number(occupancy.in_use);
            body.text(",\"limit\":").number(occupancy.limit);
        }
        body.text("}\n");
    }
}

/// The service's own type of a ledger's status; the ledger has two.
fn status(code: u16) -> Status {
    Status::from_code(code).unwrap_or(Status::ServiceUnavailable)
}

/// Seconds until a retry makes sense: when the budget holds one again, or longer the fuller the lane
/// is; plus jitter, so that those who were refused together do not come back together.
fn retry_after(
    occupancy: Option<Occupancy>,
    ready_in: Option<Span>,
    jitter: &mut JitterSeed,
) -> u64 {
    let load = occupancy.map_or(1, |occupancy| {
        let scaled = occupancy.in_use.saturating_mul(RETRY_AFTER_MAX);
        scaled
            .checked_div(occupancy.limit)
            .unwrap_or(RETRY_AFTER_MAX)
    });
    let base = ready_in.map_or(load, Span::as_secs_ceil).clamp(1, 60);
    base.saturating_add(jitter.below(4).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::head::Connection;
    use crate::connection::buffers::NOTE_BYTES;
    use crate::http::date::HttpDate;
    use crate::http::method::Method;

    const SHAPE: Shape<'_> = Shape {
        connection: Connection::Close,
        head_only: false,
        date: None,
    };

    fn written(problem: Problem, shape: Shape<'_>) -> String {
        let mut area = [0; NOTE_BYTES];
        let length = problem
            .write(Lane::ProviderHealth, shape, &mut area)
            .expect("fits");
        String::from_utf8(area[..length].to_vec()).unwrap()
    }

    fn all() -> Vec<Problem> {
        let mut jitter = JitterSeed::new(1);
        let full = Occupancy {
            in_use: u64::MAX,
            limit: u64::MAX,
        };
        let late = Span::from_nanos(u64::MAX);
        let mut all: Vec<_> = Fault::ALL
            .iter()
            .map(|fault| Problem::of_fault(*fault))
            .collect();
        let every = Methods::of(&[
            Method::Get,
            Method::Head,
            Method::Post,
            Method::Put,
            Method::Delete,
            Method::Patch,
            Method::Options,
        ]);
        for denial in [
            Denial::NotFound,
            Denial::NotOnThisLane,
            Denial::MethodNotAllowed(every),
            Denial::MethodUnknown,
        ] {
            all.push(Problem::of_denial(denial));
        }
        for overload in [
            IngressOverload::ClockLost,
            IngressOverload::DeadlineExceeded,
            IngressOverload::RateLimited { ready_in: late },
            IngressOverload::PerConnectionLimit(full),
            IngressOverload::LanePoolFull(full),
            IngressOverload::AggregateFull(full),
            IngressOverload::ByteBudgetExhausted(full),
        ] {
            all.push(Problem::of_overload(overload, &mut jitter));
        }
        for refusal in [
            PermitRefusal::ClockLost,
            PermitRefusal::RateLimited { ready_in: late },
            PermitRefusal::LaneFull(full),
            PermitRefusal::TotalFull(full),
        ] {
            all.push(Problem::of_refusal(refusal, &mut jitter));
        }
        all
    }

    #[test]
    fn every_problem_fits_and_is_plain_json() {
        let date = HttpDate::from_unix_seconds(0);
        for problem in all() {
            let text = written(
                problem,
                Shape {
                    date: Some(&date),
                    ..SHAPE
                },
            );
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(
                head.contains(&format!("Content-Length: {}", body.len())),
                "{head}"
            );
            assert!(
                !problem.detail.contains(['"', '\\', '\n']),
                "{}",
                problem.detail
            );
            assert_eq!(body.matches('{').count(), 1);
            assert!(body.ends_with("}\n"));
        }
    }

    #[test]
    fn a_capacity_problem_names_count_and_limit() {
        let full = Occupancy {
            in_use: 88,
            limit: 88,
        };
        let problem =
            Problem::of_overload(IngressOverload::LanePoolFull(full), &mut JitterSeed::new(1));
        let text = written(problem, SHAPE);
        assert!(
            text.starts_with("HTTP/1.1 429 Too Many Requests\r\n"),
            "{text}"
        );
        assert!(
            text.contains("\"code\":\"lane_pool_full\",\"lane\":\"provider_health\""),
            "{text}"
        );
        assert!(text.contains("\"in_use\":88,\"limit\":88"), "{text}");
        assert!(text.contains("Retry-After: "), "{text}");
    }

    #[test]
    fn a_head_request_gets_the_length_without_the_body() {
        let problem = Problem::of_denial(Denial::NotFound);
        let text = written(
            problem,
            Shape {
                head_only: true,
                ..SHAPE
            },
        );
        assert!(
            text.ends_with("\r\n\r\n") && !text.contains("Content-Length: 0"),
            "{text}"
        );
    }

    #[test]
    fn retry_after_follows_load_and_is_jittered() {
        let mut jitter = JitterSeed::new(7);
        let at = |in_use| Some(Occupancy { in_use, limit: 100 });
        for _ in 0..100 {
            assert!((1..=4).contains(&retry_after(at(10), None, &mut jitter)));
            assert!((4..=7).contains(&retry_after(at(100), None, &mut jitter)));
        }
        let seen: std::collections::BTreeSet<_> = (0..100)
            .map(|_| retry_after(at(100), None, &mut jitter))
            .collect();
        assert_eq!(seen.len(), 4);
    }
}
