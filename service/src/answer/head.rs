//! The head of every answer: one writer of status line and fields.

use crate::connection::record::After;
use crate::connection::session::Protocol;
use crate::handlers::assets::Asset;
use crate::http::date::HttpDate;
use crate::http::head::Version;
use crate::http::method::Methods;
use crate::http::status::Status;
use crate::http::write::Text;

/// What the head of an answer says about the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Connection {
    /// Nothing: it goes on, as HTTP/1.1 does by itself.
    GoesOn,
    /// `keep-alive`, which an HTTP/1.0 client wants to hear.
    KeepAlive,
    /// `close`.
    Close,
    /// It goes on in another protocol (RFC 9110 §7.8).
    Upgrade(&'static Protocol),
}

impl Connection {
    /// What an answer says, by what follows it.
    pub(crate) const fn of(after: After, version: Version) -> Self {
        match (after, version) {
            (After::Close | After::Linger, _) => Self::Close,
            (After::NextRequest, Version::Http10) => Self::KeepAlive,
            (After::NextRequest, Version::Http11) => Self::GoesOn,
            (After::Upgrade(protocol), _) => Self::Upgrade(protocol),
        }
    }
}

/// What an answer's form depends on beside its content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) connection: Connection,
    pub(crate) head_only: bool,
    pub(crate) date: Option<&'a HttpDate>,
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
    if !matches!(
        response.status,
        Status::SwitchingProtocols | Status::NoContent | Status::NotModified
    ) {
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
        Connection::Upgrade(protocol) => {
            text.text("Connection: Upgrade\r\nUpgrade: ")
                .text(protocol.name)
                .text("\r\n");
        }
    }
    text.text("\r\n");
}
