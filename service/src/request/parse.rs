//! From the bytes that are there to a whole head, and then to a whole body.

use crate::answer::problem::CONTINUE;
use crate::connection::buffers::{INPUT_AREA, NOTE_AREA, PREFIX};
use crate::connection::input::Input;
use crate::connection::output::Output;
use crate::connection::record::{Asked, Record};
use crate::http::body::{BodyProgress, BodyReader};
use crate::http::condition::Condition;
use crate::http::fault::Fault;
use crate::http::head::Head;
use crate::http::method::Method;
use crate::http::scan::Scanned;
use crate::request::route::{Denial, Route};

/// How far the input reaches.
pub(crate) enum Parsed<T> {
    /// More must be received.
    Partial,
    /// As far as this.
    Whole(T),
}

/// Takes a whole head off the input, which keeps it.
///
/// # Errors
/// What is wrong with it; nothing after it on this connection can be trusted.
pub(crate) fn head<'a>(
    record: &mut Record,
    area: &'a [u8; INPUT_AREA],
) -> Result<Parsed<Head<'a>>, Fault> {
    let unread = record.input.unread(area);
    record.asked = Asked {
        // So that even a fault is answered as HEAD wants it.
        head_only: unread.trim_ascii_start().starts_with(b"HEAD "),
        ..Asked::NOTHING
    };
    let Scanned::Whole { begin, end } = record.input.scan.advance(unread)? else {
        return if record.input.is_full() {
            Err(record.input.scan.overflow(unread))
        } else {
            Ok(Parsed::Partial)
        };
    };
    let head = Head::parse(unread.get(begin..end).unwrap_or_default())?;
    #[cfg(feature = "broken-lane-from-header")]
    crate::connection::broken::take_lane_from_header(record, unread);
    record.input.take_head(begin, end);
    Ok(Parsed::Whole(head))
}

/// What is kept of a head, beside its bytes.
pub(crate) fn keep(head: &Head<'_>, routed: Result<&'static Route, Denial>) -> Asked {
    Asked {
        route: routed.ok(),
        version: head.version,
        persistence: head.persistence,
        method: head.method,
        head_only: head.method == Some(Method::Head),
        condition: routed.map_or(Condition::Holds, |route| {
            Condition::evaluate(head, route.about.representation())
        }),
    }
}

/// Takes a whole body off the input, which keeps it decoded.
///
/// # Errors
/// As [`head`].
pub(crate) fn body(
    input: &mut Input,
    area: &mut [u8; INPUT_AREA],
    reader: &mut BodyReader,
) -> Result<Parsed<()>, Fault> {
    let bytes = input.unread_mut(area);
    let mut read = reader.decoded();
    match reader.advance(bytes, &mut read)? {
        BodyProgress::Partial => {
            input.truncate(reader.decoded());
            if input.is_full() {
                // Head and body share the input until the request is released.
                return Err(Fault::BodyTooLarge);
            }
            Ok(Parsed::Partial)
        }
        BodyProgress::Whole => {
            input.take_body(reader.decoded(), read);
            Ok(Parsed::Whole(()))
        }
    }
}

/// Writes the interim answer that invites a body.
pub(crate) fn invite(note: &mut [u8; NOTE_AREA]) -> Output {
    let to = note.get_mut(PREFIX..PREFIX.saturating_add(CONTINUE.len()));
    to.unwrap_or_default().copy_from_slice(CONTINUE);
    Output::start(CONTINUE.len(), &[])
}
