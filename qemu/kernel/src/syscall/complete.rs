//! From a method's reply to a completion in the caller's queue.

use capos_config::ring::{
    CAP_CQE_TRANSFER_RESULT_CAPS, CAP_ERR_APPLICATION_EXCEPTION,
    CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, CAP_ERR_INVALID_RESULT_BUFFER,
    CAP_TRANSFER_RESULT_SIZE, CapCqe,
};
use harness_kernel::message::{ExceptionKind, encode_exception};
use harness_kernel::user_range::UserRange;

use crate::memory::user;
use crate::object::Object;
use crate::process::Process;

/// Bytes of a transfer record, as lengths in messages are counted.
pub(crate) const RECORD_BYTES: u32 = 16;
const _: () = assert!(RECORD_BYTES as usize == CAP_TRANSFER_RESULT_SIZE);
/// Room for an exception's message.
const EXCEPTION_BYTES: usize = 256;

/// A call that will be completed: who asked, and where the answer goes.
#[derive(Clone, Copy)]
pub(crate) struct Ticket {
    /// The caller's own name for the call.
    pub(crate) user_data: u64,
    /// Result buffer; checked when the call was submitted.
    pub(crate) result: Option<UserRange>,
}

impl Ticket {
    /// Bytes of the result buffer.
    pub(crate) fn result_bytes(&self) -> u32 {
        self.result.map_or(0, UserRange::length)
    }
}

/// An exception that a method raises.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raised {
    /// Its class.
    pub(crate) kind: ExceptionKind,
    /// Its text.
    pub(crate) text: &'static str,
}

impl Raised {
    /// The call itself makes no sense.
    pub(crate) const fn invalid(text: &'static str) -> Self {
        Self {
            kind: ExceptionKind::InvalidArgument,
            text,
        }
    }

    /// A bound is reached; later it may not be.
    pub(crate) const fn overloaded(text: &'static str) -> Self {
        Self {
            kind: ExceptionKind::Overloaded,
            text,
        }
    }

    /// The other side, or the object, is gone.
    pub(crate) const fn disconnected(text: &'static str) -> Self {
        Self {
            kind: ExceptionKind::Disconnected,
            text,
        }
    }

    /// It cannot be done.
    pub(crate) const fn failed(text: &'static str) -> Self {
        Self {
            kind: ExceptionKind::Failed,
            text,
        }
    }

    /// The interface has no such method here.
    pub(crate) const fn unimplemented() -> Self {
        Self {
            kind: ExceptionKind::Unimplemented,
            text: "no such method",
        }
    }
}

/// What a method answers.
pub(crate) enum Reply<'a> {
    /// Done, with no result.
    Void,
    /// Done; this message is the result.
    Message(&'a [u8]),
    /// Done; the result of so many bytes is in the caller's buffer already.
    InPlace(u32),
    /// Done; the message, and a new capability with it.
    WithCap(&'a [u8], Object),
    /// The method raised.
    Raised(Raised),
    /// The transport refuses, with this code.
    Refused(i32),
}

/// Completes `ticket` with `reply`; the caller has checked for room.
pub(crate) fn complete(process: &mut Process, ticket: Ticket, reply: Reply<'_>) {
    let (result, caps) = match reply {
        Reply::Void => (0, 0),
        Reply::InPlace(bytes) => (bytes.cast_signed(), 0),
        Reply::Refused(code) => (code, 0),
        Reply::Message(message) => (write_result(process, ticket, message), 0),
        Reply::Raised(raised) => (write_exception(process, ticket, raised), 0),
        Reply::WithCap(message, object) => match write_with_cap(process, ticket, message, object) {
            Ok(result) => (result, 1),
            Err(code) => (code, 0),
        },
    };
    process.post(CapCqe {
        user_data: ticket.user_data,
        result,
        flags: if caps > 0 {
            CAP_CQE_TRANSFER_RESULT_CAPS
        } else {
            0
        },
        cap_count: caps,
        badge: 0,
        call_id: 0,
        _reserved: 0,
    });
}

/// The first `bytes` of the result buffer, if it is as long.
pub(crate) fn result_part(ticket: &Ticket, offset: u32, bytes: usize) -> Option<UserRange> {
    let result = ticket.result?;
    let bytes = u32::try_from(bytes).ok()?;
    if offset.checked_add(bytes)? > result.length() {
        return None;
    }
    UserRange::new(result.start().checked_add(u64::from(offset))?, bytes).ok()
}

fn write_result(process: &Process, ticket: Ticket, message: &[u8]) -> i32 {
    let written = result_part(&ticket, 0, message.len())
        .and_then(|range| user::write(&process.space, range, message).ok());
    match (written, i32::try_from(message.len())) {
        (Some(()), Ok(bytes)) => bytes,
        _ => CAP_ERR_INVALID_RESULT_BUFFER,
    }
}

fn write_exception(process: &Process, ticket: Ticket, raised: Raised) -> i32 {
    let mut buffer = [0; EXCEPTION_BYTES];
    let written = encode_exception(&mut buffer, raised.kind, raised.text)
        .ok()
        .and_then(|length| buffer.get(..length))
        .map(|message| write_result(process, ticket, message));
    if written.is_some_and(|bytes| bytes > 0) {
        CAP_ERR_APPLICATION_EXCEPTION
    } else {
        CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED
    }
}

/// Whether a message of `bytes` with one capability fits `ticket`'s buffer.
pub(crate) fn fits_with_cap(ticket: &Ticket, bytes: u32) -> bool {
    bytes.saturating_add(RECORD_BYTES) <= ticket.result_bytes()
}

/// Writes message and transfer record, and gives the capability. Callers have
/// checked buffer and table beforehand; if either fails all the same, nothing
/// is given.
fn write_with_cap(
    process: &mut Process,
    ticket: Ticket,
    message: &[u8],
    object: Object,
) -> Result<i32, i32> {
    let bytes = write_result(process, ticket, message);
    let offset = u32::try_from(bytes).map_err(|_| bytes)?;
    let range = result_part(&ticket, offset, CAP_TRANSFER_RESULT_SIZE)
        .ok_or(CAP_ERR_INVALID_RESULT_BUFFER)?;
    user::check(&process.space, range, user::Purpose::Write)
        .map_err(|_| CAP_ERR_INVALID_RESULT_BUFFER)?;
    let id = process
        .caps
        .insert(object)
        .map_err(|_| capos_config::ring::CAP_ERR_TRANSFER_ABORTED)?;
    let mut record = [0; CAP_TRANSFER_RESULT_SIZE];
    let (head, interface) = record.split_at_mut(8);
    if let Some(id_bytes) = head.first_chunk_mut::<4>() {
        *id_bytes = id.wire().to_le_bytes();
    }
    interface.copy_from_slice(&object.interface().to_le_bytes());
    user::write(&process.space, range, &record).map_err(|_| CAP_ERR_INVALID_RESULT_BUFFER)?;
    Ok(bytes)
}
