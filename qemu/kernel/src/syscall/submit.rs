//! One submission, from the queue to its reply.
//!
//! Order of checks: the published wire rules, then the buffers against the
//! page tables, then the capability, then the transfers; what fails first is
//! the completion's code.

use capos_config::ring::{
    CAP_ERR_INVALID_PARAMS_BUFFER, CAP_ERR_INVALID_REQUEST, CAP_ERR_INVALID_RESULT_BUFFER,
    CAP_ERR_INVALID_TRANSFER_DESCRIPTOR, CAP_ERR_INVOKE_FAILED, CAP_ERR_TRANSFER_NOT_SUPPORTED,
    CAP_ERR_UNSUPPORTED_OPCODE, CAP_OP_CALL, CAP_OP_NOP, CAP_OP_RELEASE,
    CAP_TRANSFER_DESCRIPTOR_SIZE, CapSqe, CapTransferDescriptor, MAX_TRANSFER_DESCRIPTORS,
    is_valid_transfer_descriptor, sqe_wire_validation_error, transfer_descriptor_region_start,
};

use crate::call::kinds::Object;
use crate::call::reply::{Completion, Reply};
use crate::call::scratch::{PARAMS_MAX, Scratch};
use crate::call::ticket::{Call, Ticket};
use crate::cap_table::CapId;
use crate::object::dispatch;
use crate::object::world::{Caller, World};
use crate::platform::Platform;
use crate::process::state::Process;
use crate::user_range::UserRange;
use crate::user_space::{Purpose, UserSpace};

const DESCRIPTOR_BYTES: u32 = 8;
const _: () = assert!(DESCRIPTOR_BYTES as usize == CAP_TRANSFER_DESCRIPTOR_SIZE);
/// Longest result buffer, in bytes.
const RESULT_MAX: u32 = 1024 * 1024;

/// Carries one submission out: what it is to be completed with, unless it is
/// pending with its object.
pub fn carry_out<'a, P: Platform>(
    world: &mut World<P>,
    process: &mut Process<P::Space>,
    scratch: &'a mut Scratch,
    submission: &CapSqe,
) -> Option<Completion<'a>> {
    match check(process, submission).and_then(|request| carry(world, process, scratch, request)) {
        Ok(completion) => completion,
        Err(code) => {
            let (opcode, cap) = (submission.opcode, submission.cap_id);
            process.complain(
                &mut world.platform,
                format_args!("bad request: opcode={opcode} cap={cap:#x} refused={code}"),
            );
            let ticket = Ticket {
                user_data: submission.user_data,
                result: None,
            };
            let reply = Reply::Refused(code);
            Some(Completion { ticket, reply })
        }
    }
}

fn carry<'a, P: Platform>(
    world: &mut World<P>,
    process: &mut Process<P::Space>,
    scratch: &'a mut Scratch,
    request: Request,
) -> Result<Option<Completion<'a>>, i32> {
    let void = |ticket| Completion {
        ticket,
        reply: Reply::Void,
    };
    match request {
        Request::Nothing(ticket) => Ok(Some(void(ticket))),
        Request::Release(ticket, id) => {
            let object = process
                .caps
                .remove(id)
                .map_err(|_| CAP_ERR_INVALID_REQUEST)?;
            dispatch::release(world, process, object);
            Ok(Some(void(ticket)))
        }
        Request::Call(call, object) => {
            let ticket = call.ticket;
            let Scratch { params, answer } = scratch;
            let mut caller = Caller { process, params };
            let returned = dispatch::call(world, object, &mut caller, call, answer);
            Ok(Completion::of(ticket, returned))
        }
    }
}

enum Request {
    Nothing(Ticket),
    Release(Ticket, CapId),
    Call(Call<u16>, Object),
}

fn check<S: UserSpace>(process: &Process<S>, submission: &CapSqe) -> Result<Request, i32> {
    sqe_wire_validation_error(submission)?;
    let mut ticket = Ticket {
        user_data: submission.user_data,
        result: None,
    };
    let id = CapId::from_wire(submission.cap_id);
    match submission.opcode {
        CAP_OP_NOP => return Ok(Request::Nothing(ticket)),
        CAP_OP_RELEASE => return Ok(Request::Release(ticket, id)),
        CAP_OP_CALL => {}
        // Endpoints are inert and threads single: nothing to receive, return,
        // cancel or park.
        _ => return Err(CAP_ERR_UNSUPPORTED_OPCODE),
    }
    if submission.flags != 0 {
        return Err(CAP_ERR_INVALID_REQUEST);
    }
    let params = buffer(
        process,
        (submission.addr, submission.len, PARAMS_MAX),
        Purpose::Read,
        CAP_ERR_INVALID_PARAMS_BUFFER,
    )?;
    ticket.result = buffer(
        process,
        (submission.result_addr, submission.result_len, RESULT_MAX),
        Purpose::Write,
        CAP_ERR_INVALID_RESULT_BUFFER,
    )?;
    let object = process.caps.find(id).map_err(|_| CAP_ERR_INVOKE_FAILED)?;
    if submission.xfer_cap_count > 0 {
        return Err(transfers(process, submission));
    }
    let call = Call {
        ticket,
        method: submission.method_id,
        params,
    };
    Ok(Request::Call(call, object))
}

/// Checks a buffer of `(address, length, longest)`; none has length zero.
fn buffer<S: UserSpace>(
    process: &Process<S>,
    (address, length, longest): (u64, u32, u32),
    purpose: Purpose,
    code: i32,
) -> Result<Option<UserRange>, i32> {
    if length == 0 {
        return Ok(None);
    }
    if length > longest {
        return Err(code);
    }
    let range = UserRange::new(address, length).map_err(|_| code)?;
    process.space.check(range, purpose).map_err(|_| code)?;
    Ok(Some(range))
}

/// The code for a call that brings capabilities. None here can be transferred,
/// so well-formed descriptors are refused as unsupported.
fn transfers<S: UserSpace>(process: &Process<S>, submission: &CapSqe) -> i32 {
    let count = usize::from(submission.xfer_cap_count);
    if count > MAX_TRANSFER_DESCRIPTORS {
        return CAP_ERR_INVALID_TRANSFER_DESCRIPTOR;
    }
    let Some(start) = transfer_descriptor_region_start(submission.addr, submission.len) else {
        return CAP_ERR_INVALID_TRANSFER_DESCRIPTOR;
    };
    for index in 0..count {
        let offset = index.saturating_mul(CAP_TRANSFER_DESCRIPTOR_SIZE) as u64;
        let mut bytes = [0; CAP_TRANSFER_DESCRIPTOR_SIZE];
        let read = UserRange::new(start.saturating_add(offset), DESCRIPTOR_BYTES)
            .ok()
            .map(|range| process.space.read(range, &mut bytes));
        if !matches!(read, Some(Ok(()))) {
            return CAP_ERR_INVALID_PARAMS_BUFFER;
        }
        let [a, b, c, d, mode_low, mode_high, reserved_low, reserved_high] = bytes;
        let descriptor = CapTransferDescriptor {
            cap_id: u32::from_le_bytes([a, b, c, d]),
            transfer_mode: u16::from_le_bytes([mode_low, mode_high]),
            _reserved0: u16::from_le_bytes([reserved_low, reserved_high]),
        };
        let held = process
            .caps
            .find(CapId::from_wire(descriptor.cap_id))
            .is_ok();
        if !is_valid_transfer_descriptor(descriptor) || !held {
            return CAP_ERR_INVALID_TRANSFER_DESCRIPTOR;
        }
    }
    CAP_ERR_TRANSFER_NOT_SUPPORTED
}
