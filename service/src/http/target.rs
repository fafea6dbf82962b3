//! Request targets: four forms, one meaning each, and no way to climb out of a path.
//!
//! Decided here, so that no two readers of a path can differ: an escape must be two hexadecimal
//! digits; a segment that is `.` or `..`, escaped or not, is refused and not resolved; an escaped
//! slash, backslash, NUL or control byte is refused. What is left is compared with the route table
//! after unescaping, byte for byte. A query is checked for form and otherwise ignored. The authority
//! of an absolute form is checked and then has no say in anything: a lane is chosen by the listener.
//! Its scheme may be `https`, too: what ends TLS for this service stands in front of it.

use core::net::Ipv6Addr;

use crate::http::fault::Fault;
use crate::http::framing::parse_decimal;
use crate::http::method::Method;

/// The largest port of TCP.
const PORT_MAX: u64 = 65_535;

/// A request target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// A path, from the origin form or the absolute form.
    Path(Path<'a>),
    /// `*`, with `OPTIONS` only: the server itself.
    Server,
}

/// A path that is safe to compare: no dot segments, no escaped separators, well-formed escapes.
#[derive(Debug, Clone, Copy)]
pub struct Path<'a>(&'a [u8]);

impl<'a> Path<'a> {
    /// Checks a raw path that begins with a slash.
    ///
    /// # Errors
    /// [`Fault::PathUnsafe`] or, for bytes that no path has, [`Fault::TargetForm`].
    pub fn new(raw: &'a [u8]) -> Result<Self, Fault> {
        if raw.first() != Some(&b'/') || !raw.iter().all(|byte| is_path_byte(*byte)) {
            return Err(Fault::TargetForm);
        }
        let path = Self(raw);
        if !path
            .decode()
            .all(|byte| byte.is_some_and(|byte| !byte.is_ascii_control()))
        {
            return Err(Fault::PathUnsafe);
        }
        for segment in raw.split(|byte| *byte == b'/') {
            let mut decoded = Self(segment).decode().flatten();
            let dots = (decoded.next(), decoded.next(), decoded.next());
            if matches!(dots, (Some(b'.'), None, _) | (Some(b'.'), Some(b'.'), None)) {
                return Err(Fault::PathUnsafe);
            }
            if Self(segment)
                .decode()
                .flatten()
                .any(|byte| matches!(byte, b'/' | b'\\'))
            {
                return Err(Fault::PathUnsafe);
            }
        }
        Ok(path)
    }

    /// Whether the path, unescaped, is exactly `text`.
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        self.decode().flatten().eq(text.bytes())
    }

    /// The rest of the path behind `text`, if the path, unescaped, begins with it.
    #[must_use]
    pub fn behind(self, text: &str) -> Option<Self> {
        let mut rest = self.0;
        for wanted in text.bytes() {
            let mut decoded = Self(rest).decode();
            if decoded.next()?? != wanted {
                return None;
            }
            let taken = if rest.first() == Some(&b'%') { 3 } else { 1 };
            rest = rest.get(taken..)?;
        }
        Some(Self(rest))
    }

    /// The path as it came, its escapes included.
    #[must_use]
    pub const fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Unescaped bytes; `None` where an escape is malformed.
    fn decode(self) -> impl Iterator<Item = Option<u8>> {
        let mut rest = self.0.iter();
        core::iter::from_fn(move || {
            let byte = *rest.next()?;
            if byte != b'%' {
                return Some(Some(byte));
            }
            let high = rest.next().and_then(|digit| hex_value(*digit));
            let low = rest.next().and_then(|digit| hex_value(*digit));
            Some(high.zip(low).map(|(high, low)| (high << 4) | low))
        })
    }
}

impl PartialEq for Path<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.decode().eq(other.decode())
    }
}

impl Eq for Path<'_> {}

/// Takes a target apart (RFC 9112 §3.2). `method` is `None` for methods that are not recognised.
///
/// # Errors
/// [`Fault::TargetForm`] or [`Fault::PathUnsafe`].
pub fn parse(method: Option<Method>, raw: &[u8]) -> Result<Target<'_>, Fault> {
    match raw.first() {
        Some(b'/') => origin_form(raw),
        Some(b'*') if raw.len() == 1 && matches!(method, Some(Method::Options)) => {
            Ok(Target::Server)
        }
        // The authority form belongs to CONNECT, which is not recognised: any target will do for the
        // 501 that follows.
        _ if method.is_none() && is_authority(raw) => Ok(Target::Server),
        _ => absolute_form(method, raw),
    }
}

/// The query of a raw target, if it has one; neither an authority nor `*` has a question mark.
pub(crate) fn query(raw: &[u8]) -> &[u8] {
    let mark = raw.iter().position(|byte| *byte == b'?');
    mark.and_then(|mark| raw.get(mark.saturating_add(1)..))
        .unwrap_or_default()
}

fn origin_form(raw: &[u8]) -> Result<Target<'_>, Fault> {
    let mut parts = raw.splitn(2, |byte| *byte == b'?');
    let path = parts.next().unwrap_or_default();
    let query = parts.next().unwrap_or_default();
    if !query.iter().all(|byte| is_query_byte(*byte)) {
        return Err(Fault::TargetForm);
    }
    // An absolute form may have no path (RFC 9110 §4.2.3).
    Path::new(if path.is_empty() { b"/" } else { path }).map(Target::Path)
}

fn absolute_form(method: Option<Method>, raw: &[u8]) -> Result<Target<'_>, Fault> {
    let rest = strip_scheme(raw, b"http://").or_else(|| strip_scheme(raw, b"https://"));
    let rest = rest.ok_or(Fault::TargetForm)?;
    let authority_end = rest
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?'))
        .unwrap_or(rest.len());
    let (authority, path) = rest
        .split_at_checked(authority_end)
        .ok_or(Fault::TargetForm)?;
    if !is_authority(authority) {
        return Err(Fault::TargetForm);
    }
    match path.first() {
        None if matches!(method, Some(Method::Options)) => Ok(Target::Server),
        _ => origin_form(path),
    }
}

fn strip_scheme<'a>(raw: &'a [u8], scheme: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = raw.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Whether `text` is a host with an optional port: a name or IPv4 address, or `[` IPv6 address `]`.
///
/// Less than the grammar allows (RFC 3986 §3.2.2), on purpose: no name that is looked up in the DNS
/// has percent escapes or sub-delimiters, and they are where readers of a `Host` differ. An empty
/// host is a form of no `http` URI (RFC 9110 §4.2.1), and neither is one with user information
/// (§4.2.4); a zone or a future version in an IP literal means nothing here.
#[must_use]
pub fn is_authority(text: &[u8]) -> bool {
    let end_of = |byte| text.iter().position(|other| *other == byte);
    let (is_host, port) = if text.first() == Some(&b'[') {
        let Some((address, rest)) = end_of(b']').and_then(|end| text.split_at_checked(end)) else {
            return false;
        };
        let address = address.get(1..).unwrap_or_default();
        (is_ipv6(address), rest.get(1..).unwrap_or_default())
    } else {
        let (name, port) = text.split_at(end_of(b':').unwrap_or(text.len()));
        (
            !name.is_empty() && name.iter().all(|byte| is_name_byte(*byte)),
            port,
        )
    };
    is_host && is_port(port)
}

/// Whether `text` is nothing, or a colon and a port; it may be empty, and have zeros in front
/// (RFC 3986 §3.2.3).
fn is_port(text: &[u8]) -> bool {
    match text.split_first() {
        None | Some((b':', [])) => true,
        Some((b':', digits)) => parse_decimal(digits).is_some_and(|port| port <= PORT_MAX),
        Some(_) => false,
    }
}

fn is_ipv6(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

/// Bytes of DNS names, and the underscore, which private ones have.
const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// Bytes of queries: those of RFC 3986 §3.4, and those that browsers send there unescaped all the same.
const fn is_query_byte(byte: u8) -> bool {
    is_path_byte(byte) || matches!(byte, b'?' | b'{' | b'}' | b'`' | b'\\')
}

/// Bytes of paths: `pchar` and `/` (RFC 3986 §3.3), and the four that browsers leave unescaped there
/// (no route has one, so that they are not found rather than malformed).
const fn is_path_byte(byte: u8) -> bool {
    matches!(byte,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'%' | b'!' | b'$' | b'&'
        | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' | b'/'
        | b'[' | b']' | b'|' | b'^')
}

const fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(digit.wrapping_sub(b'a').wrapping_add(10)),
        b'A'..=b'F' => Some(digit.wrapping_sub(b'A').wrapping_add(10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(raw: &str) -> Result<Target<'_>, Fault> {
        parse(Some(Method::Get), raw.as_bytes())
    }

    #[test]
    fn paths_are_compared_unescaped() {
        for raw in [
            "/healthz",
            "/%68ealthz",
            "/healthz?x=1",
            "http://h/healthz",
            "HTTP://h:1/healthz?",
            "https://[::1]/healthz",
            "/healthz?a[b]=c|d^e&f={g}`\\",
        ] {
            let Ok(Target::Path(path)) = get(raw) else {
                panic!("{raw}")
            };
            assert!(path.is("/healthz"), "{raw}");
        }
        for raw in [
            "/healthz/",
            "//healthz",
            "/HEALTHZ",
            "/healthz%20",
            "/healthz;a",
            "/healthz[1]",
            "/a|b^c",
        ] {
            let Ok(Target::Path(path)) = get(raw) else {
                panic!("{raw}")
            };
            assert!(!path.is("/healthz"), "{raw}");
        }
        for raw in ["http://h", "http://h?x", "http://h/?/.."] {
            assert!(
                matches!(get(raw), Ok(Target::Path(path)) if path.is("/")),
                "{raw}"
            );
        }
    }

    #[test]
    fn a_path_cannot_climb() {
        for raw in [
            "/..",
            "/.",
            "/a/../b",
            "/a/./b",
            "/%2e%2E/b",
            "/.%2e",
            "/%2e",
            "/a%2fb",
            "/a%5Cb",
            "/a%00",
            "/a%0d",
            "/a%",
            "/a%2",
            "/a%zz",
            "/a%7f",
        ] {
            assert_eq!(get(raw), Err(Fault::PathUnsafe), "{raw}");
        }
        for raw in ["/...", "/..a", "/a..", "/.well-known/x"] {
            assert!(get(raw).is_ok(), "{raw}");
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for raw in [
            "*",
            "healthz",
            "host:80",
            "ftp://h/",
            "http:///x",
            "http://u@h/",
            "http://h?x#f",
            "http://h?a<b",
            "/a#b",
            "/a\"b",
            "/a\\b",
            "/a{b}",
            "/a`b",
            "http://h:p/",
            "javascript:x",
        ] {
            assert_eq!(get(raw), Err(Fault::TargetForm), "{raw}");
        }
    }

    #[test]
    fn the_asterisk_is_for_options() {
        assert_eq!(parse(Some(Method::Options), b"*"), Ok(Target::Server));
        assert_eq!(
            parse(Some(Method::Options), b"http://h"),
            Ok(Target::Server)
        );
        assert_eq!(parse(Some(Method::Options), b"**"), Err(Fault::TargetForm));
        assert_eq!(parse(None, b"h:443"), Ok(Target::Server));
    }

    #[test]
    fn authorities() {
        for good in [
            "a",
            "a.b:80",
            "127.0.0.1",
            "[::1]",
            "[::1]:8080",
            "[2001:db8::7]",
            "[::ffff:192.0.2.1]:1",
            "[1:2:3:4:5:6:7:8]",
            "a_b",
            "a:",
            "a:0",
            "a:65535",
            "a:00080",
            "a:0000065535",
        ] {
            assert!(is_authority(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            ":",
            ":80",
            "a b",
            "a/b",
            "a@b",
            "u:p@a:80",
            "a%62",
            "a!",
            "a,b",
            "a\u{e9}",
            "a:80:80",
            "a:65536",
            "a:99999",
            "a:123456",
            "a:18446744073709551696",
            "a:+80",
            "a:-1",
            "a: 80",
            "a:8x",
            "[",
            "[]",
            "[::1",
            "::1",
            "[::1]x",
            "[::1]:65536",
            "[::1]]",
            "[[::1]]",
            "[g::]",
            "[::1::2]",
            "[1:2:3:4:5:6:7]",
            "[1:2:3:4:5:6:7:8:9]",
            "[12345::]",
            "[:::::]",
            "[...]",
            "[fe80::1%25eth0]",
            "[v1.a]",
            "[127.0.0.1]",
        ] {
            assert!(!is_authority(bad.as_bytes()), "{bad}");
        }
    }
}
