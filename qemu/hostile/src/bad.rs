//! Bad requests, each with the published code that it must complete with.

use capos_config::capset::CAPSET_VADDR;
use capos_config::ring::{
    CAP_ERR_APPLICATION_EXCEPTION, CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED,
    CAP_ERR_INVALID_PARAMS_BUFFER, CAP_ERR_INVALID_REQUEST, CAP_ERR_INVALID_RESULT_BUFFER,
    CAP_ERR_INVALID_TRANSFER_DESCRIPTOR, CAP_ERR_INVOKE_FAILED, CAP_ERR_TRANSFER_NOT_SUPPORTED,
    CAP_ERR_UNSUPPORTED_OPCODE, CAP_OP_CALL, CAP_OP_FINISH, CAP_OP_RECV, CAP_OP_RELEASE,
    CAP_SQE_THREAD_OWNED, CapSqe,
};

use crate::requests::EMPTY;

const KERNEL: u64 = 0xffff_ffff_8010_0000;
const HOLE: u64 = 0x1f_0000;
/// An operation that there is none of.
pub(crate) const UNKNOWN_OPCODE: u8 = 200;

/// A request and its code.
type Bad = (CapSqe, i32);

#[repr(C, align(8))]
struct Message([u64; 4]);

/// `Console.writeLine("ok")`, as the library would encode it.
static LINE: Message = Message([3 << 32, 1 << 48, 1 | 2 << 32 | 3 << 35, 0x6b6f]);
static NONSENSE: Message = Message([u64::MAX, u64::MAX, 0, 0]);
/// A message whose text lies far outside of it.
static OUTSIDE: Message = Message([3 << 32, 1 << 48, 1 | 4_000 | 2 << 32 | 800 << 35, 0]);

/// The good request that the bad ones are made from: prints a line.
pub(crate) fn good(cap_id: u32) -> CapSqe {
    CapSqe {
        opcode: CAP_OP_CALL,
        method_id: 1,
        cap_id,
        addr: (&raw const LINE).expose_provenance() as u64,
        len: 32,
        ..EMPTY
    }
}

fn bad(mut request: CapSqe, code: i32, spoil: impl FnOnce(&mut CapSqe)) -> Bad {
    spoil(&mut request);
    (request, code)
}

/// Requests that are wrong by themselves.
pub(crate) fn framing(call: CapSqe) -> [Bad; 9] {
    let release = CapSqe {
        opcode: CAP_OP_RELEASE,
        cap_id: call.cap_id,
        ..EMPTY
    };
    [
        bad(call, CAP_ERR_INVALID_REQUEST, |r| r.opcode = UNKNOWN_OPCODE),
        bad(EMPTY, CAP_ERR_UNSUPPORTED_OPCODE, |r| {
            r.opcode = CAP_OP_FINISH
        }),
        bad(EMPTY, CAP_ERR_UNSUPPORTED_OPCODE, |r| {
            r.opcode = CAP_OP_RECV
        }),
        bad(call, CAP_ERR_INVALID_REQUEST, |r| r.flags = 1),
        bad(call, CAP_ERR_INVALID_REQUEST, |r| {
            r.flags = CAP_SQE_THREAD_OWNED;
            r.call_id = 9;
        }),
        bad(call, CAP_ERR_INVALID_REQUEST, |r| r.pipeline_dep = 1),
        bad(EMPTY, CAP_ERR_INVALID_REQUEST, |r| r.cap_id = 1),
        bad(release, CAP_ERR_INVALID_REQUEST, |r| r.len = 1),
        bad(release, CAP_ERR_INVALID_REQUEST, |r| r.cap_id = 12_345),
    ]
}

/// Requests whose buffers are not the process's to read or write.
pub(crate) fn buffers(call: CapSqe, answered: CapSqe) -> [Bad; 11] {
    let code = (buffers as *const ()).expose_provenance() as u64;
    [
        bad(call, CAP_ERR_INVALID_PARAMS_BUFFER, |r| r.addr = 0),
        bad(call, CAP_ERR_INVALID_PARAMS_BUFFER, |r| r.addr = HOLE),
        bad(call, CAP_ERR_INVALID_PARAMS_BUFFER, |r| r.addr = KERNEL),
        bad(call, CAP_ERR_INVALID_PARAMS_BUFFER, |r| {
            r.addr = u64::MAX - 7
        }),
        bad(call, CAP_ERR_INVALID_PARAMS_BUFFER, |r| {
            r.addr = CAPSET_VADDR + 4096 - 8;
        }),
        bad(call, CAP_ERR_INVALID_PARAMS_BUFFER, |r| r.len = u32::MAX),
        bad(answered, CAP_ERR_INVALID_RESULT_BUFFER, |r| {
            r.result_addr = 0
        }),
        bad(answered, CAP_ERR_INVALID_RESULT_BUFFER, |r| {
            r.result_addr = code
        }),
        bad(answered, CAP_ERR_INVALID_RESULT_BUFFER, |r| {
            r.result_addr = CAPSET_VADDR
        }),
        bad(answered, CAP_ERR_INVALID_RESULT_BUFFER, |r| {
            r.result_addr = KERNEL
        }),
        bad(answered, CAP_ERR_INVALID_RESULT_BUFFER, |r| {
            r.result_len = u32::MAX
        }),
    ]
}

/// Requests with capabilities that are not there, or cannot be given.
pub(crate) fn capabilities(call: CapSqe) -> [Bad; 7] {
    [
        bad(call, CAP_ERR_INVOKE_FAILED, |r| r.cap_id = 0),
        bad(call, CAP_ERR_INVOKE_FAILED, |r| r.cap_id = u32::MAX),
        bad(call, CAP_ERR_INVOKE_FAILED, |r| r.cap_id ^= 0x800),
        bad(call, CAP_ERR_INVALID_TRANSFER_DESCRIPTOR, |r| {
            r.xfer_cap_count = 17
        }),
        bad(call, CAP_ERR_INVALID_TRANSFER_DESCRIPTOR, |r| {
            r.len = 31;
            r.xfer_cap_count = 1;
        }),
        bad(call, CAP_ERR_INVALID_TRANSFER_DESCRIPTOR, |r| {
            r.len = 24;
            r.xfer_cap_count = 1;
        }),
        copy_of_itself(call),
    ]
}

/// Requests whose method or message makes no sense.
pub(crate) fn messages(call: CapSqe, answered: CapSqe) -> [Bad; 6] {
    let nonsense = (&raw const NONSENSE).expose_provenance() as u64;
    let outside = (&raw const OUTSIDE).expose_provenance() as u64;
    [
        bad(answered, CAP_ERR_APPLICATION_EXCEPTION, |r| {
            r.method_id = 77
        }),
        bad(call, CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, |r| {
            r.method_id = 77
        }),
        bad(answered, CAP_ERR_APPLICATION_EXCEPTION, |r| r.len = 0),
        bad(answered, CAP_ERR_APPLICATION_EXCEPTION, |r| r.len = 7),
        bad(answered, CAP_ERR_APPLICATION_EXCEPTION, |r| {
            r.addr = nonsense
        }),
        bad(answered, CAP_ERR_APPLICATION_EXCEPTION, |r| {
            r.addr = outside
        }),
    ]
}

/// `call`, with a well-formed descriptor behind its parameters that asks for a
/// copy of the capability it calls.
fn copy_of_itself(call: CapSqe) -> Bad {
    static mut WITH_DESCRIPTOR: [u64; 5] = [0; 5];
    let Message([table, root, list, text]) = &LINE;
    let place = &raw mut WITH_DESCRIPTOR;
    let words = [
        *table,
        *root,
        *list,
        *text,
        u64::from(call.cap_id) | 1 << 32,
    ];
    // SAFETY: the one user of the static, and only one thread.
    unsafe { place.write(words) };
    bad(call, CAP_ERR_TRANSFER_NOT_SUPPORTED, |r| {
        r.addr = place.expose_provenance() as u64;
        r.xfer_cap_count = 1;
    })
}
