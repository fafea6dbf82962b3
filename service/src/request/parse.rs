//! From the bytes that are there to one whole request, or to what is missing or wrong.

use crate::answer::answers::CONTINUE;
use crate::connection::buffers::PREFIX;
use crate::connection::drain;
use crate::connection::output::{Output, Source};
use crate::connection::record::{Record, Request};
use crate::connection::table::Parts;
use crate::http::body::{BodyProgress, BodyReader};
use crate::http::condition::Condition;
use crate::http::fault::Fault;
use crate::http::framing::BodyFraming;
use crate::http::head::{Expectation, Head};
use crate::http::method::Method;
use crate::http::scan::Scanned;
use crate::ids::ConnId;
use crate::request::route::{self, Denial, Handler};
use crate::server::Server;

/// What the input amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// More must be received.
    Partial,
    /// An interim answer is to be sent before more is received.
    Interim,
    /// A request that no route answers on this lane; a body of it is not read.
    Denied(Denial, BodyFraming),
    /// A request, its body included.
    Whole,
}

impl<const CONNS: usize, const SLOTS: usize> Server<'_, CONNS, SLOTS> {
    /// Reads one request as far as it is there.
    ///
    /// # Errors
    /// What is wrong with it; nothing after it on this connection can be trusted.
    pub(crate) fn parse(&mut self, conn: ConnId) -> Result<Parsed, Fault> {
        let Some(parts) = self.memory.parts(conn) else {
            return Ok(Parsed::Partial);
        };
        let Parts {
            record,
            input,
            note,
        } = parts;
        if record.body.is_none() {
            let head = match read_head(record, input)? {
                Some(head) => head,
                None => return Ok(Parsed::Partial),
            };
            if let Err(denial) = head.decided {
                return Ok(Parsed::Denied(denial, head.framing));
            }
            let limit = record.request.route.map_or(0, |route| route.body_bytes_max);
            let body = BodyReader::new(head.framing, limit)?;
            let must_invite = head.expectation == Expectation::Continue && !body.is_done();
            if must_invite && limit == 0 {
                return Err(Fault::BodyTooLarge);
            }
            record.body = Some(body);
            // A client that already sends needs no invitation (RFC 9110 §10.1.1).
            if must_invite && record.input.is_empty() {
                let to = note
                    .get_mut(PREFIX..PREFIX.saturating_add(CONTINUE.len()))
                    .unwrap_or_default();
                to.copy_from_slice(CONTINUE);
                record.output = Output::start(Source::Note, CONTINUE.len(), &[]);
                return Ok(Parsed::Interim);
            }
        }
        read_body(record, input)
    }
}

/// What a head says that is not kept in the record.
struct HeadRead {
    decided: Result<(), Denial>,
    framing: BodyFraming,
    expectation: Expectation,
}

/// Takes a whole head off the input. `None`: it is not whole yet.
fn read_head(
    record: &mut Record,
    input: &mut [u8; crate::connection::buffers::INPUT_AREA],
) -> Result<Option<HeadRead>, Fault> {
    let unread = record.input.unread(input);
    record.request = Request {
        // So that even a fault is answered as HEAD wants it.
        head_only: unread.trim_ascii_start().starts_with(b"HEAD "),
        ..Request::NONE
    };
    let Scanned::Whole { begin, end } = record.input.scan.advance(unread)? else {
        return if record.input.is_full() {
            Err(record.input.scan.overflow(unread))
        } else {
            Ok(None)
        };
    };
    let head = Head::parse(unread.get(begin..end).unwrap_or_default())?;
    #[cfg(feature = "broken-lane-from-header")]
    crate::connection::broken::take_lane_from_header(record, unread);
    let decided = route::decide(record.lane(), &head);
    record.request = Request {
        route: decided.ok(),
        version: head.version,
        persistence: head.persistence,
        head_only: head.method == Some(Method::Head),
        condition: decided.map_or(Condition::Holds, |route| {
            Condition::evaluate(&head, route.handler.selected())
        }),
        drain: None,
    };
    let read = HeadRead {
        decided: decided.map(drop),
        framing: head.body,
        expectation: head.expectation,
    };
    record.input.consume(end);
    Ok(Some(read))
}

/// Takes a whole body off the input.
fn read_body(
    record: &mut Record,
    input: &mut [u8; crate::connection::buffers::INPUT_AREA],
) -> Result<Parsed, Fault> {
    let Some(mut body) = record.body else {
        return Ok(Parsed::Partial);
    };
    let bytes = record.input.unread_mut(input);
    let mut read = body.decoded();
    match body.advance(bytes, &mut read)? {
        BodyProgress::Partial => {
            record.input.truncate(body.decoded());
            record.body = Some(body);
            Ok(Parsed::Partial)
        }
        BodyProgress::Whole => {
            let content = bytes.get(..body.decoded()).unwrap_or_default();
            if record
                .request
                .route
                .is_some_and(|route| route.handler == Handler::Drain)
            {
                record.request.drain = drain::parse_body(content)?;
            }
            record.input.consume(read);
            record.body = None;
            Ok(Parsed::Whole)
        }
    }
}
