//! Answers that serve: one writer of response heads, and one handler for each kind of route.

use crate::answers::Shape;
use crate::api;
use crate::assets::Asset;
use crate::buffers::SLOT_BYTES;
use crate::evidence::{Evidence, ServingState};
use crate::http::date::HttpDate;
use crate::http::method::Methods;
use crate::http::status::Status;
use crate::http::write::Text;
use crate::route::{Handler, ROUTES};

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
    /// Whether the lane is one that a balancer watches, and is to be told of a drain.
    pub(crate) is_watched: bool,
    pub(crate) is_cached: bool,
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
    match handler {
        Handler::Asset(asset) => serve_asset(asset, context, (shape, response), area),
        Handler::Options => {
            let every = ROUTES
                .iter()
                .fold(Methods::of(&[]), |all, route| all.or(route.methods));
            finish(
                Response {
                    allow: Some(every),
                    ..response
                },
                b"",
                shape,
                area,
            )
        }
        Handler::Health => {
            let draining = context.is_watched && context.state == ServingState::Draining;
            let (status, body) = if draining {
                (
                    Status::ServiceUnavailable,
                    &b"{\"status\":\"fail\",\"output\":\"draining\"}\n"[..],
                )
            } else {
                (Status::Ok, &b"{\"status\":\"pass\"}\n"[..])
            };
            let media_type = Some("application/health+json");
            finish(
                Response {
                    status,
                    media_type,
                    ..response
                },
                body,
                shape,
                area,
            )
        }
        Handler::Readiness
        | Handler::Ingress
        | Handler::Status
        | Handler::Evidence
        | Handler::Drain => {
            let mut body = [0; SLOT_BYTES];
            let mut text = Text::new(&mut body);
            let (status, media_type) = api::write(handler, context, &mut text);
            let length = text.finish()?;
            let response = Response {
                status,
                media_type: Some(media_type),
                ..response
            };
            finish(response, body.get(..length)?, shape, area)
        }
    }
}

fn serve_asset(
    asset: &'static Asset,
    context: &Context<'_>,
    (shape, response): (Shape<'_>, Response<'_>),
    area: &mut [u8],
) -> Option<Written> {
    let status = if context.is_cached {
        Status::NotModified
    } else {
        Status::Ok
    };
    let response = Response {
        status,
        media_type: (!context.is_cached).then_some(asset.media_type),
        length: asset.content.len(),
        asset: Some(asset),
        ..response
    };
    let mut text = Text::new(area);
    write_head(&response, &mut text);
    if context.is_cached || shape.head_only {
        return Some(Written {
            status,
            bytes: text.finish()?,
            rest: &[],
        });
    }
    let here = asset.content.len().min(text.room());
    let (first, rest) = asset.content.split_at_checked(here)?;
    text.bytes(first);
    Some(Written {
        status,
        bytes: text.finish()?,
        rest,
    })
}

/// Writes head and body.
fn finish(
    response: Response<'_>,
    body: &[u8],
    shape: Shape<'_>,
    area: &mut [u8],
) -> Option<Written> {
    let response = Response {
        length: body.len(),
        ..response
    };
    let mut text = Text::new(area);
    write_head(&response, &mut text);
    if !shape.head_only {
        text.bytes(body);
    }
    Some(Written {
        status: response.status,
        bytes: text.finish()?,
        rest: &[],
    })
}
