//! From an answer to a completion in the caller's queue: the one place where a
//! call ends.
//!
//! Invariants: KERNEL-ONE-ANSWER.

use capos_config::ring::{
    CAP_CQE_TRANSFER_RESULT_CAPS, CAP_ERR_APPLICATION_EXCEPTION,
    CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, CAP_ERR_INVALID_RESULT_BUFFER,
    CAP_ERR_TRANSFER_ABORTED, CAP_TRANSFER_RESULT_SIZE, CapCqe,
};

use crate::call::kinds::Object;
use crate::call::reply::{Completion, Raised, Reply};
use crate::call::ticket::{RECORD_BYTES, Ticket};
use crate::message::encode_exception;
use crate::process::state::Process;
use crate::user_space::{Purpose, UserSpace};

const _: () = assert!(RECORD_BYTES as usize == CAP_TRANSFER_RESULT_SIZE);
/// Room for an exception's message.
const EXCEPTION_BYTES: usize = 256;

/// Completes a call; the caller has checked for room in the queue.
pub fn complete<S: UserSpace>(process: &mut Process<S>, completion: Completion<'_>) {
    let Completion { ticket, reply } = completion;
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

/// Writes `message`; the length, or the code for a buffer that has no room for
/// all of it. What does not fit is never told as a result without content.
fn write_result<S: UserSpace>(process: &Process<S>, ticket: Ticket, message: &[u8]) -> i32 {
    let written = ticket
        .result_part(0, message.len())
        .and_then(|range| process.space.write(range, message).ok());
    match (written, i32::try_from(message.len())) {
        (Some(()), Ok(bytes)) => bytes,
        _ => CAP_ERR_INVALID_RESULT_BUFFER,
    }
}

fn write_exception<S: UserSpace>(process: &Process<S>, ticket: Ticket, raised: Raised) -> i32 {
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

/// Writes message and transfer record, and gives the capability. Objects have
/// checked buffer and table beforehand; if either fails all the same, nothing
/// is given.
fn write_with_cap<S: UserSpace>(
    process: &mut Process<S>,
    ticket: Ticket,
    message: &[u8],
    object: Object,
) -> Result<i32, i32> {
    let bytes = write_result(process, ticket, message);
    let offset = u32::try_from(bytes).map_err(|_| bytes)?;
    let range = ticket
        .result_part(offset, CAP_TRANSFER_RESULT_SIZE)
        .ok_or(CAP_ERR_INVALID_RESULT_BUFFER)?;
    process
        .space
        .check(range, Purpose::Write)
        .map_err(|_| CAP_ERR_INVALID_RESULT_BUFFER)?;
    let id = process
        .caps
        .insert(object)
        .map_err(|_| CAP_ERR_TRANSFER_ABORTED)?;
    let mut record = [0; CAP_TRANSFER_RESULT_SIZE];
    let (head, interface) = record.split_at_mut(8);
    if let Some(id_bytes) = head.first_chunk_mut::<4>() {
        *id_bytes = id.wire().to_le_bytes();
    }
    interface.copy_from_slice(&object.interface().to_le_bytes());
    process
        .space
        .write(range, &record)
        .map_err(|_| CAP_ERR_INVALID_RESULT_BUFFER)?;
    Ok(bytes)
}
