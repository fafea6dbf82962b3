//! Arbitrary bytes as a request: scanned whole and byte by byte, parsed, its body decoded.
//!
//! ```sh
//! cargo +nightly fuzz run head          # or, with a stable compiler:
//! RUSTC_BOOTSTRAP=1 cargo fuzz run head
//! ```
#![no_main]

use libfuzzer_sys::fuzz_target;
use remote_session_web_ui::http::body::{BodyProgress, BodyReader};
use remote_session_web_ui::http::condition::{Condition, Representation};
use remote_session_web_ui::http::head::Head;
use remote_session_web_ui::http::scan::{HeadScan, Scanned};

fuzz_target!(|bytes: &[u8]| {
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
    let has = |name| parsed.values(name).next().is_some();
    assert_eq!(
        parsed.is_conditional,
        has("if-match") || has("if-none-match"),
        "two readers of the fields differ"
    );
    let condition = Condition::evaluate(&parsed, Representation::Tagged(b"\"a\""));
    assert!(parsed.is_conditional || condition == Condition::Holds);
    let Ok(mut body) = BodyReader::new(parsed.body, 256) else {
        return;
    };
    let mut rest = bytes[end..].to_vec();
    let mut read = 0;
    if let Ok(BodyProgress::Whole) = body.advance(&mut rest, &mut read) {
        assert!(body.decoded() <= 256 && body.decoded() <= read && read <= rest.len());
    }
});
