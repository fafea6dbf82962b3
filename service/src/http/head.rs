//! A whole request head into borrowed fields; no copy, no allocation (INV-FRAMING).

use crate::http::fault::Fault;
use crate::http::framing::{BodyFraming, FramingFields};
use crate::http::method::{Method, is_token_byte};
use crate::http::target::{self, Target};

/// Most header fields in one head; a browser sends some twenty, and each proxy before it adds a few.
pub const HEADERS_MAX: usize = 128;

/// Longest request target in bytes (RFC 9110 §4.1 asks for at least 8,000).
pub const TARGET_MAX: usize = 8000;

/// A protocol version that is spoken here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
}

/// Whether the connection may carry another request after this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// The client wants to go on.
    KeepAlive,
    /// The client ends the connection with this request.
    Close,
}

/// What the client waits for before it sends its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// Nothing: the body follows by itself.
    Nothing,
    /// `100-continue`.
    Continue,
}

/// The three parts of a request line, separated and checked each by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLine<'a> {
    /// The method name, a token.
    pub method: &'a [u8],
    /// The target, not yet taken apart.
    pub target: &'a [u8],
    /// The version.
    pub version: Version,
}

impl<'a> RequestLine<'a> {
    /// Takes a request line (without its CRLF) apart.
    ///
    /// # Errors
    /// The first thing that is wrong with it, version before target so that a client of another
    /// protocol learns which one is spoken here.
    pub fn parse(line: &'a [u8]) -> Result<Self, Fault> {
        let mut parts = line.split(|byte| *byte == b' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Fault::RequestLine);
        };
        if method.is_empty() || !method.iter().all(|byte| is_token_byte(*byte)) {
            return Err(Fault::RequestLine);
        }
        let version = parse_version(version)?;
        if target.len() > TARGET_MAX {
            return Err(Fault::TargetTooLong);
        }
        if target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
            return Err(Fault::TargetForm);
        }
        Ok(Self {
            method,
            target,
            version,
        })
    }
}

/// `HTTP/1.1` or `HTTP/1.0`; another well-formed version is unknown, anything else malformed.
///
/// A higher minor version is not taken for 1.1, as RFC 9110 §2.5 would like it: there is none, and
/// others read it as 1.0, which delimits bodies otherwise.
fn parse_version(text: &[u8]) -> Result<Version, Fault> {
    match text {
        b"HTTP/1.1" => Ok(Version::Http11),
        b"HTTP/1.0" => Ok(Version::Http10),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Err(Fault::VersionUnknown)
        }
        _ => Err(Fault::Version),
    }
}

/// A request head, its fields borrowed from the connection's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// The method, if it is one that this service can tell apart.
    pub method: Option<Method>,
    /// What is asked for.
    pub target: Target<'a>,
    /// What follows the question mark of the target.
    pub query: &'a [u8],
    /// The version.
    pub version: Version,
    /// How the body is delimited.
    pub body: BodyFraming,
    /// Whether the client wants to go on.
    pub persistence: Persistence,
    /// What the client waits for.
    pub expectation: Expectation,
    /// Whether it has `If-Match` or `If-None-Match`.
    pub is_conditional: bool,
    /// The field lines, each with its CRLF, and the empty line.
    lines: &'a [u8],
}

impl<'a> Head<'a> {
    /// Parses a head that [`scan`](crate::http::scan) has found whole.
    ///
    /// # Errors
    /// The [`Fault`] that it is refused with.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        let line_end = bytes
            .windows(2)
            .position(|pair| pair == b"\r\n")
            .ok_or(Fault::RequestLine)?;
        let line = RequestLine::parse(bytes.get(..line_end).unwrap_or_default())?;
        let method = Method::recognise(line.method);
        let lines = bytes.get(line_end.saturating_add(2)..).unwrap_or_default();
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let headers = match httparse::parse_headers(lines, &mut headers) {
            Ok(httparse::Status::Complete((_, headers))) => headers,
            Ok(httparse::Status::Partial) | Err(httparse::Error::HeaderName) => {
                return Err(Fault::HeaderName);
            }
            Err(httparse::Error::TooManyHeaders) => return Err(Fault::TooManyHeaders),
            Err(_) => return Err(Fault::HeaderValue),
        };
        let mut fields = Fields::collect(headers)?;
        fields.leaves_http |= line.method == b"CONNECT";
        fields.check_host(line.version)?;
        Ok(Self {
            method,
            target: target::parse(method, line.target)?,
            query: target::query(line.target),
            version: line.version,
            body: fields.framing.resolve(line.version)?,
            persistence: fields.persistence(line.version),
            expectation: fields.expectation(line.version)?,
            is_conditional: fields.is_conditional,
            lines,
        })
    }

    /// The values of all fields of that name, in their order, without the white space around them.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.lines
            .split(|byte| *byte == b'\n')
            .filter_map(move |line| {
                let (field, rest) = line.split_at_checked(name.len())?;
                let value = rest.strip_prefix(b":")?;
                (field.eq_ignore_ascii_case(name.as_bytes())).then_some(value.trim_ascii())
            })
    }
}

/// A field that matters only if it appears once.
#[derive(Debug, Clone, Copy, Default)]
enum Single<'a> {
    #[default]
    Absent,
    One(&'a [u8]),
    Repeated,
}

impl<'a> Single<'a> {
    fn add(&mut self, value: &'a [u8]) {
        *self = match self {
            Self::Absent => Self::One(value),
            Self::One(_) | Self::Repeated => Self::Repeated,
        };
    }
}

/// The header fields that this service reads; all others are skipped unread.
#[derive(Default)]
struct Fields<'a> {
    host: Single<'a>,
    is_conditional: bool,
    framing: FramingFields,
    says_close: bool,
    says_keep_alive: bool,
    leaves_http: bool,
    expects_continue: bool,
    expects_more: bool,
}

impl<'a> Fields<'a> {
    fn collect(headers: &[httparse::Header<'a>]) -> Result<Self, Fault> {
        let mut fields = Self::default();
        for header in headers {
            let name = header.name;
            let value = header.value.trim_ascii();
            if name.eq_ignore_ascii_case("host") {
                fields.host.add(value);
            } else if name.eq_ignore_ascii_case("content-length") {
                fields.framing.content_length(value)?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                fields.framing.transfer_encoding(value)?;
            } else if name.eq_ignore_ascii_case("connection") {
                for option in list_items(value) {
                    fields.says_close |= option.eq_ignore_ascii_case(b"close");
                    fields.says_keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            } else if name.eq_ignore_ascii_case("upgrade") {
                fields.leaves_http = true;
            } else if name.eq_ignore_ascii_case("expect") {
                for expectation in list_items(value) {
                    let is_known = expectation.eq_ignore_ascii_case(b"100-continue");
                    fields.expects_continue |= is_known;
                    fields.expects_more |= !is_known;
                }
            } else if name.eq_ignore_ascii_case("if-match")
                || name.eq_ignore_ascii_case("if-none-match")
            {
                fields.is_conditional = true;
            }
        }
        Ok(fields)
    }

    /// RFC 9112 §3.2. An empty `Host` is what a client sends that knows no name, as some probes do;
    /// it stands for the service's own (§3.3), and none has a say here anyway.
    fn check_host(&self, version: Version) -> Result<(), Fault> {
        match self.host {
            Single::One(host) if host.is_empty() || target::is_authority(host) => Ok(()),
            Single::One(_) => Err(Fault::HostInvalid),
            Single::Repeated => Err(Fault::HostRepeated),
            Single::Absent if version == Version::Http10 => Ok(()),
            Single::Absent => Err(Fault::HostMissing),
        }
    }

    /// RFC 9112 §9.3, and RFC 9931: a client that asks for another protocol, or to be connected
    /// elsewhere, may have sent already what somebody else was to read. Unless that is granted,
    /// nothing behind it is a request.
    fn persistence(&self, version: Version) -> Persistence {
        let default = matches!(version, Version::Http11);
        let is_last = self.says_close || self.leaves_http;
        if is_last || !(default || self.says_keep_alive) {
            Persistence::Close
        } else {
            Persistence::KeepAlive
        }
    }

    /// RFC 9110 §10.1.1; an HTTP/1.0 client's expectation is ignored.
    fn expectation(&self, version: Version) -> Result<Expectation, Fault> {
        match (version, self.expects_continue, self.expects_more) {
            (Version::Http10, ..) | (Version::Http11, false, false) => Ok(Expectation::Nothing),
            (Version::Http11, true, false) => Ok(Expectation::Continue),
            (Version::Http11, _, true) => Err(Fault::ExpectationUnknown),
        }
    }
}

/// The items of a comma-separated list, trimmed, empty ones left out.
pub(crate) fn list_items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(bytes: &[u8]) -> Fault {
        Head::parse(bytes).expect_err(&bytes.escape_ascii().to_string())
    }

    #[test]
    fn request_line_faults() {
        for (line, expected) in [
            (&b"GET / HTTP/2.0"[..], Fault::VersionUnknown),
            (b"PRI * HTTP/2.0", Fault::VersionUnknown),
            (b"GET / HTTP/1.2", Fault::VersionUnknown),
            (b"GET / HTTP/0.9", Fault::VersionUnknown),
            (b"GET / http/1.1", Fault::Version),
            (b"GET / HTTP/1.10", Fault::Version),
            (b"GET / HTTP/11", Fault::Version),
            (b"GET  / HTTP/1.1", Fault::RequestLine),
            (b"GET / HTTP/1.1 ", Fault::RequestLine),
            (b"GET\t/ HTTP/1.1", Fault::RequestLine),
            (b"G{T / HTTP/1.1", Fault::RequestLine),
            (b"GET", Fault::RequestLine),
            (b"GET /\xff HTTP/1.1", Fault::TargetForm),
        ] {
            assert_eq!(
                RequestLine::parse(line),
                Err(expected),
                "{}",
                line.escape_ascii()
            );
        }
        let long = [b"GET /", &[b'a'; TARGET_MAX][..], b" HTTP/1.1"].concat();
        assert_eq!(RequestLine::parse(&long), Err(Fault::TargetTooLong));
        let fits = [b"GET /", &[b'a'; TARGET_MAX - 1][..], b" HTTP/1.1"].concat();
        assert!(RequestLine::parse(&fits).is_ok());
    }

    #[test]
    fn header_faults() {
        for (fields, expected) in [
            ("Host : a\r\n", Fault::HeaderName),
            ("Ho st: a\r\n", Fault::HeaderName),
            (": a\r\n", Fault::HeaderName),
            ("Host\r\n", Fault::HeaderName),
            ("H\u{e9}st: a\r\n", Fault::HeaderName),
            ("", Fault::HostMissing),
            ("Host: a\r\nHOST: a\r\n", Fault::HostRepeated),
            ("Host: a b\r\n", Fault::HostInvalid),
            ("Host: :\r\n", Fault::HostInvalid),
            ("Host: a/b\r\n", Fault::HostInvalid),
            ("Host: u@a\r\n", Fault::HostInvalid),
            ("Host: a:8x\r\n", Fault::HostInvalid),
            ("Host: a\r\nExpect: 200-ok\r\n", Fault::ExpectationUnknown),
        ] {
            assert_eq!(
                fault(format!("GET / HTTP/1.1\r\n{fields}\r\n").as_bytes()),
                expected,
                "{fields}"
            );
        }
        let many = "A: b\r\n".repeat(HEADERS_MAX);
        assert_eq!(
            fault(format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n").as_bytes()),
            Fault::TooManyHeaders
        );
    }

    #[test]
    fn persistence_follows_version_and_connection() {
        for (head, expected) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", Persistence::KeepAlive),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, CLOSE\r\n\r\n",
                Persistence::Close,
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
                Persistence::Close,
            ),
            ("GET / HTTP/1.0\r\n\r\n", Persistence::Close),
            (
                "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
                Persistence::KeepAlive,
            ),
            (
                "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
                Persistence::Close,
            ),
        ] {
            assert_eq!(
                Head::parse(head.as_bytes()).unwrap().persistence,
                expected,
                "{head}"
            );
        }
    }

    #[test]
    fn fields_are_borrowed() {
        let head = Head::parse(
            b"POST /x?y HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 5\r\nExpect: 100-Continue\r\nIf-None-Match: \"a\"\r\n\r\n",
        )
        .unwrap();
        assert_eq!(head.method, Some(Method::Post));
        assert_eq!(head.target, Target::Path(target::Path::new(b"/x").unwrap()));
        assert_eq!(head.body, BodyFraming::Length(5));
        assert_eq!(head.expectation, Expectation::Continue);
        assert!(head.is_conditional);
        assert!(head.values("if-none-match").eq([b"\"a\""]));
    }

    #[test]
    fn an_old_client_needs_no_host_and_expects_nothing() {
        let head =
            Head::parse(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
                .unwrap();
        assert_eq!(head.expectation, Expectation::Nothing);
    }
}
