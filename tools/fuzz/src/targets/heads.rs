//! Heads of requests: found whole and byte by byte alike, and read as `httparse` reads them.

use remote_session_web_ui::http::condition::{Condition, Representation};
use remote_session_web_ui::http::head::{HEADERS_MAX, Head, Version};
use remote_session_web_ui::http::method::Method;
use remote_session_web_ui::http::scan::{HeadScan, Scanned};

/// The bytes are a connection's input.
pub(super) fn run(bytes: &[u8]) {
    let whole = HeadScan::new().advance(bytes);
    let mut dripped = HeadScan::new();
    let drip = (0..=bytes.len())
        .map(|end| dripped.advance(&bytes[..end]))
        .find(|scanned| !matches!(scanned, Ok(Scanned::Partial)))
        .unwrap_or(Ok(Scanned::Partial));
    assert_eq!(whole, drip, "a head depends on how it is split");
    let Ok(Scanned::Whole { begin, end }) = whole else {
        return;
    };
    let head = &bytes[begin..end];
    assert!(head.ends_with(b"\r\n\r\n"));
    let Ok(parsed) = Head::parse(head) else {
        return;
    };
    compare(head, &parsed);
    let condition = Condition::evaluate(&parsed, Representation::Tagged(b"\"a\""));
    assert!(parsed.is_conditional || condition == Condition::Holds);
}

/// What is taken is what `httparse` takes, field by field.
fn compare(head: &[u8], parsed: &Head<'_>) {
    let mut fields = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut other = httparse::Request::new(&mut fields);
    let end = other.parse(head).expect("httparse refuses it");
    assert_eq!(end, httparse::Status::Complete(head.len()));
    let method = other.method.unwrap();
    assert_eq!(parsed.method, Method::recognise(method.as_bytes()));
    let version = [Version::Http10, Version::Http11][usize::from(other.version.unwrap())];
    assert_eq!(parsed.version, version);
    for field in &*other.headers {
        let same_name = |other: &&httparse::Header<'_>| field.name.eq_ignore_ascii_case(other.name);
        let theirs = other.headers.iter().filter(same_name);
        let theirs = theirs.map(|field| field.value.trim_ascii());
        assert!(parsed.values(field.name).eq(theirs), "{}", field.name);
    }
    let has = |name| parsed.values(name).next().is_some();
    assert_eq!(
        parsed.is_conditional,
        has("if-match") || has("if-none-match"),
        "two readers of the fields differ"
    );
}
