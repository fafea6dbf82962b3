//! Answers that serve: one writer of response heads, and one handler for each kind of route.

use ingress_ledger::Lane;

use crate::answer::answers::{Problem, Shape};
use crate::connection::buffers::SLOT_BYTES;
use crate::handlers::api;
use crate::handlers::assets::Asset;
use crate::http::condition::Condition;
use crate::http::date::HttpDate;
use crate::http::method::Methods;
use crate::http::status::Status;
use crate::http::write::Text;
use crate::report::evidence::{Evidence, ServingState};
use crate::request::route::{Handler, ROUTES};

/// What the head of an answer says about the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Connection {
    /// Nothing: it goes on, as HTTP/1.1 does by itself.
    GoesOn,
    /// `keep-alive`, which an HTTP/1.0 client wants to hear.
    KeepAlive,
    /// `close`.
    Close,
}

/// The fields of a response head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response<'a> {
    pub(crate) status: Status,
    pub(crate) media_type: Option<&'static str>,
    /// The body's length, whether or not the body is sent.
    pub(crate) length: usize,
    pub(crate) connection: Connection,
    pub(crate) date: Option<&'a HttpDate>,
    pub(crate) allow: Option<Methods>,
    pub(crate) retry_after_s: Option<u64>,
    pub(crate) asset: Option<&'static Asset>,
}

impl Response<'_> {
    /// An empty answer that goes on.
    pub(crate) const EMPTY: Self = Self {
        status: Status::NoContent,
        media_type: None,
        length: 0,
        connection: Connection::GoesOn,
        date: None,
        allow: None,
        retry_after_s: None,
        asset: None,
    };
}

/// What confines a page: nothing from elsewhere, nothing inline, in no frame.
const PAGE_FIELDS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
X-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n";

/// Writes status line and fields, empty line included.
pub(crate) fn write_head(response: &Response<'_>, text: &mut Text<'_>) {
    text.text("HTTP/1.1 ")
        .text(response.status.line())
        .text("\r\n");
    if let Some(date) = response.date {
        text.text("Date: ").bytes(date.as_bytes()).text("\r\n");
    }
    if let Some(media_type) = response.media_type {
        text.text("Content-Type: ").text(media_type).text("\r\n");
    }
    if !matches!(response.status, Status::NoContent | Status::NotModified) {
        text.text("Content-Length: ")
            .number(u64::try_from(response.length).unwrap_or(u64::MAX))
            .text("\r\n");
    }
    match response.asset {
        Some(asset) => {
            text.text("ETag: ").bytes(&asset.etag);
            text.text("\r\nCache-Control: ")
                .text(asset.freshness.cache_control())
                .text("\r\n");
            if asset.is_page() {
                text.text(PAGE_FIELDS);
            }
        }
        None => {
            text.text("Cache-Control: no-store\r\n");
        }
    }
    if let Some(methods) = response.allow {
        text.text("Allow: ");
        let mut separator = "";
        for method in methods.iter() {
            text.text(separator).text(method.name());
            separator = ", ";
        }
        text.text("\r\n");
    }
    if let Some(seconds) = response.retry_after_s {
        text.text("Retry-After: ").number(seconds).text("\r\n");
    }
    text.text("X-Content-Type-Options: nosniff\r\n");
    match response.connection {
        Connection::GoesOn => {}
        Connection::KeepAlive => {
            text.text("Connection: keep-alive\r\n");
        }
        Connection::Close => {
            text.text("Connection: close\r\n");
        }
    }
    text.text("\r\n");
}

/// What a handler knows of the service.
pub(crate) struct Context<'a> {
    pub(crate) evidence: &'a dyn Fn() -> Evidence,
    pub(crate) state: ServingState,
    pub(crate) lane: Lane,
    pub(crate) condition: Condition,
    pub(crate) drain_ms: u64,
}

/// An answer in a slot: so many bytes of it, and what follows from read-only data.
pub(crate) struct Written {
    pub(crate) status: Status,
    pub(crate) bytes: usize,
    pub(crate) rest: &'static [u8],
}

/// Serves one request into a slot's area. `None` if it does not fit, which no answer does.
pub(crate) fn serve(
    handler: Handler,
    context: &Context<'_>,
    shape: Shape<'_>,
    area: &mut [u8],
) -> Option<Written> {
    let response = Response {
        connection: shape.connection,
        date: shape.date,
        ..Response::EMPTY
    };
    let mut formatted;
    let (response, body) = match handler {
        Handler::Asset(asset) => {
            let response = Response {
                status: Status::Ok,
                media_type: Some(asset.media_type),
                asset: Some(asset),
                ..response
            };
            (response, asset.content)
        }
        Handler::Options => {
            let response = Response {
                allow: Some(allowed(context.lane)),
                ..response
            };
            (response, &b""[..])
        }
        Handler::Health | Handler::Readiness => {
            // The local lane's health is asked by whoever would restart the service.
            let is_told = handler == Handler::Readiness || context.lane != Lane::LocalHealth;
            let (status, body) = if is_told && context.state == ServingState::Draining {
                (
                    Status::ServiceUnavailable,
                    &b"{\"status\":\"fail\",\"output\":\"draining\"}\n"[..],
                )
            } else {
                (Status::Ok, &b"{\"status\":\"pass\"}\n"[..])
            };
            let response = Response {
                status,
                media_type: Some("application/health+json"),
                ..response
            };
            (response, body)
        }
        Handler::Ingress | Handler::Status | Handler::Evidence | Handler::Drain => {
            formatted = [0; SLOT_BYTES];
            let mut text = Text::new(&mut formatted);
            let (status, media_type) = api::write(handler, context, &mut text);
            let length = text.finish()?;
            let response = Response {
                status,
                media_type: Some(media_type),
                ..response
            };
            (response, formatted.get(..length)?)
        }
    };
    finish(response, body, (context, shape), area)
}

/// The methods of all routes of a lane.
fn allowed(lane: Lane) -> Methods {
    ROUTES
        .iter()
        .filter(|route| route.lanes.contains(&lane))
        .fold(Methods::of(&[]), |all, route| all.or(route.methods))
}

/// Writes head and body, or what the request's preconditions make of them. They count only where the
/// answer would be a success (RFC 9110 §13.2.1).
fn finish(
    response: Response<'_>,
    body: &[u8],
    (context, shape): (&Context<'_>, Shape<'_>),
    area: &mut [u8],
) -> Option<Written> {
    let is_success = response.status.code() / 100 == 2;
    let (response, is_modified) = match context.condition {
        Condition::Failed if is_success => {
            let problem = Problem::of_failed_condition();
            return Some(Written {
                status: problem.status,
                bytes: problem.write(context.lane, shape, area)?,
                rest: &[],
            });
        }
        Condition::NotModified if is_success => {
            let response = Response {
                status: Status::NotModified,
                media_type: None,
                ..response
            };
            (response, false)
        }
        _ => (response, true),
    };
    let response = Response {
        length: body.len(),
        ..response
    };
    let mut text = Text::new(area);
    write_head(&response, &mut text);
    let mut rest: &[u8] = &[];
    if is_modified && !shape.head_only {
        if let Some(asset) = response.asset {
            let here = asset.content.len().min(text.room());
            let first;
            (first, rest) = asset.content.split_at_checked(here)?;
            text.bytes(first);
        } else {
            text.bytes(body);
        }
    }
    Some(Written {
        status: response.status,
        bytes: text.finish()?,
        rest,
    })
}
