//! Bodies of requests, counted and chunked: the same whole as in pieces, and chunked ones as a
//! reader of a few plain lines takes them.

use remote_session_web_ui::http::body::{BodyProgress, BodyReader};
use remote_session_web_ui::http::fault::Fault;
use remote_session_web_ui::http::framing::BodyFraming;

/// A body and how many bytes of the wire were read for it; `None` if it never ended.
type Read = Result<Option<(Vec<u8>, usize)>, Fault>;

/// Three bytes say framing, limit and size of a piece; the rest is the wire.
pub(super) fn run(bytes: &[u8]) {
    let [how, limit, piece, wire @ ..] = bytes else {
        return;
    };
    let limit = usize::from(*limit) * 8;
    let framing = match how {
        0 => BodyFraming::None,
        1..=40 => BodyFraming::Length(u64::from(*how)),
        41 => BodyFraming::Length(u64::MAX),
        _ => BodyFraming::Chunked,
    };
    let whole = read(framing, limit, wire, wire.len().max(1));
    let pieces = read(framing, limit, wire, usize::from(*piece).max(1));
    assert_eq!(whole, pieces, "a body depends on how it is split");
    let Ok(Some((body, end))) = whole else {
        return;
    };
    assert!(body.len() <= limit.min(end));
    match framing {
        BodyFraming::None => assert_eq!(end, 0),
        BodyFraming::Length(length) => {
            assert_eq!((body.len() as u64, end as u64), (length, length));
            assert_eq!(body, wire[..end]);
        }
        BodyFraming::Chunked => assert_eq!(plain(wire), Some((body, end))),
    }
}

fn read(framing: BodyFraming, limit: usize, wire: &[u8], piece: usize) -> Read {
    let mut reader = BodyReader::new(framing, limit)?;
    let (mut input, mut at) = (Vec::new(), 0);
    let mut pieces = wire.chunks(piece);
    loop {
        let progress = reader.advance(&mut input, &mut at)?;
        assert!(reader.decoded() <= at && at <= input.len());
        if progress == BodyProgress::Whole {
            input.truncate(reader.decoded());
            return Ok(Some((input, at)));
        }
        let Some(next) = pieces.next() else {
            return Ok(None);
        };
        input.extend_from_slice(next);
    }
}

/// A chunked body as the grammar says (RFC 9112 §7.1), for what was found to be one.
fn plain(wire: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut rest) = (Vec::new(), wire);
    loop {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit());
        let digits = str::from_utf8(&rest[..digits.count()]).ok()?;
        let size = usize::from_str_radix(digits, 16).ok()?;
        rest = after_line(rest)?;
        if size == 0 {
            break;
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size..)?.strip_prefix(b"\r\n")?;
    }
    while !rest.starts_with(b"\r\n") {
        rest = after_line(rest)?;
    }
    Some((body, wire.len() - rest.len() + 2))
}

fn after_line(text: &[u8]) -> Option<&[u8]> {
    let end = text.windows(2).position(|pair| pair == b"\r\n")?;
    text.get(end + 2..)
}
