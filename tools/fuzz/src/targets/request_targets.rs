//! Request targets: whatever is taken is a path that two readers cannot take differently.

use remote_session_web_ui::http::method::Method;
use remote_session_web_ui::http::target::{self, Path, Target, is_authority};

const METHODS: [&[u8]; 5] = [b"GET", b"HEAD", b"POST", b"OPTIONS", b"CONNECT"];

/// One byte chooses the method; the rest is the target.
pub(super) fn run(bytes: &[u8]) {
    let Some((choice, raw)) = bytes.split_first() else {
        return;
    };
    let method = Method::recognise(METHODS[usize::from(*choice) % METHODS.len()]);
    let is_form_of_authority = is_authority(raw);
    let Ok(taken) = target::parse(method, raw) else {
        return;
    };
    match taken {
        Target::Server => assert!(
            raw == b"*" || raw.contains(&b':') || (method.is_none() && is_form_of_authority)
        ),
        Target::Path(path) if raw.starts_with(b"/") => {
            let end = raw.iter().position(|byte| *byte == b'?');
            is_plain(&raw[..end.unwrap_or(raw.len())], path);
        }
        Target::Path(_) => assert!(raw[..4].eq_ignore_ascii_case(b"http")),
    }
}

/// Unescaped once, there is nothing to climb with and nothing that a reader might cut at.
fn is_plain(raw: &[u8], path: Path<'_>) {
    let mut text = Vec::new();
    let mut rest = raw;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let digits = str::from_utf8(&rest[..2]).expect("an escape");
            text.push(u8::from_str_radix(digits, 16).expect("an escape"));
            rest = &rest[2..];
        } else {
            text.push(byte);
        }
    }
    assert!(!text.iter().any(|byte| byte.is_ascii_control() || *byte == b'\\'));
    assert!(!text.split(|byte| *byte == b'/').any(|part| matches!(part, b"." | b"..")));
    let slashes = |text: &[u8]| text.iter().filter(|byte| **byte == b'/').count();
    assert_eq!(slashes(&text), slashes(raw), "a slash was escaped");
    assert_eq!(Path::new(raw), Ok(path));
    if let Ok(text) = str::from_utf8(&text) {
        assert!(path.is(text));
    }
}
