//! Deeds through the queues: requests that no honest program makes. Each is
//! held against the published code that it must complete with.

use capos_config::capset::CAPSET_VADDR;
use capos_config::ring::{
    self, CAP_ERR_APPLICATION_EXCEPTION, CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED,
    CAP_ERR_INVALID_PARAMS_BUFFER, CAP_ERR_INVALID_REQUEST, CAP_ERR_INVALID_RESULT_BUFFER,
    CAP_ERR_INVALID_TRANSFER_DESCRIPTOR, CAP_ERR_INVOKE_FAILED, CAP_ERR_TRANSFER_NOT_SUPPORTED,
    CAP_ERR_UNSUPPORTED_OPCODE, CAP_OP_CALL, CAP_OP_FINISH, CAP_OP_NOP, CAP_OP_RECV,
    CAP_OP_RELEASE, CAP_SQE_THREAD_OWNED, CQ_ENTRIES, CapCqe, CapRingHeader, CapSqe,
    MAX_TRANSFER_DESCRIPTORS, RING_VADDR, SQ_ENTRIES,
};
use capos_rt::{Console, ConsoleClient, Runtime, Timer, syscall};

const BROKEN: i64 = 1;
const NO_CONSOLE: i64 = 2;
const KERNEL: u64 = 0xffff_ffff_8010_0000;
const HOLE: u64 = 0x1f_0000;
const FLOOD_LINES: u32 = 600;

/// A request with nothing in it.
const EMPTY: CapSqe = CapSqe {
    opcode: CAP_OP_NOP,
    flags: 0,
    method_id: 0,
    cap_id: 0,
    user_data: 7,
    addr: 0,
    len: 0,
    result_len: 0,
    result_addr: 0,
    pipeline_dep: 0,
    pipeline_field: 0,
    xfer_cap_count: 0,
    call_id: 0,
    session_disclosure: 0,
};

/// The queues, used directly; no client of the runtime is live meanwhile.
struct Queues;

impl Queues {
    fn header() -> *mut CapRingHeader {
        core::ptr::with_exposed_provenance_mut(RING_VADDR as usize)
    }

    /// Submits one request and waits for what becomes of it.
    fn ask(request: &CapSqe) -> CapCqe {
        Self::submit(request);
        // The outcome shows in the queue.
        let _entered = syscall::cap_enter(1, u64::MAX);
        Self::take()
    }

    fn submit(request: &CapSqe) {
        let page = Self::header().cast::<u8>();
        // SAFETY: the ring page is mapped, and this program's alone.
        unsafe {
            let tail = ring::sq_tail(Self::header());
            let slot = ring::sqe_at(page, tail & (SQ_ENTRIES - 1)).cast_mut();
            slot.write_volatile(*request);
            ring::publish_sq_tail(Self::header(), tail.wrapping_add(1));
        }
    }

    fn take() -> CapCqe {
        let page = Self::header().cast::<u8>();
        // SAFETY: as above.
        unsafe {
            let head = ring::cq_head(Self::header());
            let completion = ring::cqe_at(page, head & (CQ_ENTRIES - 1)).read_volatile();
            ring::set_cq_head(Self::header(), head.wrapping_add(1));
            completion
        }
    }
}

/// `Console.writeLine("ok")`, as the library would encode it.
#[repr(C, align(8))]
struct Message([u64; 4]);

static LINE: Message = Message([3 << 32, 1 << 48, 1 | 2 << 32 | 3 << 35, 0x6b6f]);
static NONSENSE: Message = Message([u64::MAX, u64::MAX, 0, 0]);
/// A message whose text lies far outside of it.
static OUTSIDE: Message = Message([3 << 32, 1 << 48, 1 | 4_000 | 2 << 32 | 800 << 35, 0]);

/// Tries every kind of bad request, and a good one after each.
pub(crate) fn bad_requests(runtime: &mut Runtime) -> i64 {
    let Ok(console) = runtime.capset().get_typed::<Console>(b"console") else {
        return NO_CONSOLE;
    };
    let cap_id = console.cap_id();
    let mut results = [0_u64; 64];
    let result_addr = results.as_mut_ptr().expose_provenance() as u64;
    let call = CapSqe {
        opcode: CAP_OP_CALL,
        method_id: 1,
        cap_id,
        addr: (&raw const LINE).expose_provenance() as u64,
        len: 32,
        ..EMPTY
    };
    let with_result = CapSqe {
        result_addr,
        result_len: 512,
        ..call
    };
    let nonsense = (&raw const NONSENSE).expose_provenance() as u64;
    let outside = (&raw const OUTSIDE).expose_provenance() as u64;
    let code = (bad_requests as *const ()).expose_provenance() as u64;
    let release = CapSqe {
        opcode: CAP_OP_RELEASE,
        cap_id: 0,
        ..EMPTY
    };

    let bad = [
        (
            CapSqe {
                opcode: 200,
                ..call
            },
            CAP_ERR_INVALID_REQUEST,
        ),
        (
            CapSqe {
                opcode: CAP_OP_FINISH,
                ..EMPTY
            },
            CAP_ERR_UNSUPPORTED_OPCODE,
        ),
        (
            CapSqe {
                opcode: CAP_OP_RECV,
                cap_id,
                ..EMPTY
            },
            CAP_ERR_UNSUPPORTED_OPCODE,
        ),
        (CapSqe { flags: 1, ..call }, CAP_ERR_INVALID_REQUEST),
        (
            CapSqe {
                flags: CAP_SQE_THREAD_OWNED,
                call_id: 9,
                ..call
            },
            CAP_ERR_INVALID_REQUEST,
        ),
        (
            CapSqe {
                pipeline_dep: 1,
                ..call
            },
            CAP_ERR_INVALID_REQUEST,
        ),
        (CapSqe { cap_id: 1, ..EMPTY }, CAP_ERR_INVALID_REQUEST),
        (CapSqe { addr: 0, ..call }, CAP_ERR_INVALID_PARAMS_BUFFER),
        (CapSqe { addr: HOLE, ..call }, CAP_ERR_INVALID_PARAMS_BUFFER),
        (
            CapSqe {
                addr: KERNEL,
                ..call
            },
            CAP_ERR_INVALID_PARAMS_BUFFER,
        ),
        (
            CapSqe {
                addr: u64::MAX - 7,
                ..call
            },
            CAP_ERR_INVALID_PARAMS_BUFFER,
        ),
        (
            CapSqe {
                addr: CAPSET_VADDR + 4096 - 8,
                ..call
            },
            CAP_ERR_INVALID_PARAMS_BUFFER,
        ),
        (
            CapSqe {
                len: u32::MAX,
                ..call
            },
            CAP_ERR_INVALID_PARAMS_BUFFER,
        ),
        (
            CapSqe {
                result_addr: 0,
                ..with_result
            },
            CAP_ERR_INVALID_RESULT_BUFFER,
        ),
        (
            CapSqe {
                result_addr: code,
                ..with_result
            },
            CAP_ERR_INVALID_RESULT_BUFFER,
        ),
        (
            CapSqe {
                result_addr: CAPSET_VADDR,
                ..with_result
            },
            CAP_ERR_INVALID_RESULT_BUFFER,
        ),
        (
            CapSqe {
                result_addr: KERNEL,
                ..with_result
            },
            CAP_ERR_INVALID_RESULT_BUFFER,
        ),
        (
            CapSqe {
                result_len: u32::MAX,
                ..with_result
            },
            CAP_ERR_INVALID_RESULT_BUFFER,
        ),
        (CapSqe { cap_id: 0, ..call }, CAP_ERR_INVOKE_FAILED),
        (
            CapSqe {
                cap_id: u32::MAX,
                ..call
            },
            CAP_ERR_INVOKE_FAILED,
        ),
        (
            CapSqe {
                cap_id: cap_id ^ 0x800,
                ..call
            },
            CAP_ERR_INVOKE_FAILED,
        ),
        (
            CapSqe {
                cap_id,
                len: 1,
                ..release
            },
            CAP_ERR_INVALID_REQUEST,
        ),
        (
            CapSqe {
                cap_id: 12_345,
                ..release
            },
            CAP_ERR_INVALID_REQUEST,
        ),
        (
            CapSqe {
                xfer_cap_count: MAX_TRANSFER_DESCRIPTORS as u16 + 1,
                ..call
            },
            CAP_ERR_INVALID_TRANSFER_DESCRIPTOR,
        ),
        (
            CapSqe {
                len: 31,
                xfer_cap_count: 1,
                ..call
            },
            CAP_ERR_INVALID_TRANSFER_DESCRIPTOR,
        ),
        (
            CapSqe {
                len: 24,
                xfer_cap_count: 1,
                ..call
            },
            CAP_ERR_INVALID_TRANSFER_DESCRIPTOR,
        ),
        (
            CapSqe {
                method_id: 77,
                ..with_result
            },
            CAP_ERR_APPLICATION_EXCEPTION,
        ),
        (
            CapSqe {
                method_id: 77,
                ..call
            },
            CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED,
        ),
        (
            CapSqe {
                len: 0,
                ..with_result
            },
            CAP_ERR_APPLICATION_EXCEPTION,
        ),
        (
            CapSqe {
                len: 7,
                ..with_result
            },
            CAP_ERR_APPLICATION_EXCEPTION,
        ),
        (
            CapSqe {
                addr: nonsense,
                ..with_result
            },
            CAP_ERR_APPLICATION_EXCEPTION,
        ),
        (
            CapSqe {
                addr: outside,
                ..with_result
            },
            CAP_ERR_APPLICATION_EXCEPTION,
        ),
        (copy_of(cap_id, &call), CAP_ERR_TRANSFER_NOT_SUPPORTED),
    ];
    for (number, (request, expected)) in (10_i64..).zip(&bad) {
        let completion = Queues::ask(request);
        if completion.result != *expected || completion.user_data != request.user_data {
            return number;
        }
        if Queues::ask(&EMPTY).result != 0 || Queues::ask(&call).result != 0 {
            return BROKEN;
        }
    }
    0
}

/// `call`, with a well-formed descriptor behind its parameters that asks for a
/// copy of capability `cap_id`.
fn copy_of(cap_id: u32, call: &CapSqe) -> CapSqe {
    static mut WITH_DESCRIPTOR: [u64; 5] = [0; 5];
    let Message([table, root, list, text]) = &LINE;
    let place = &raw mut WITH_DESCRIPTOR;
    // SAFETY: the one user of the static, and only one thread.
    unsafe { place.write([*table, *root, *list, *text, u64::from(cap_id) | 1 << 32]) };
    CapSqe {
        addr: place.expose_provenance() as u64,
        len: 32,
        xfer_cap_count: 1,
        ..*call
    }
}

/// Claims more submissions than the queue holds; then uses it as it should be.
pub(crate) fn corrupt_submissions(runtime: &mut Runtime) -> i64 {
    if runtime.ring().is_null() {
        return BROKEN;
    }
    // SAFETY: the ring page is mapped, and this program's alone.
    unsafe {
        let tail = ring::sq_tail(Queues::header());
        ring::set_sq_tail(Queues::header(), tail.wrapping_add(1_000));
    }
    if syscall::cap_enter(1, u64::MAX) != Err(syscall::SyscallError::Rejected) {
        return BROKEN;
    }
    i64::from(Queues::ask(&EMPTY).result)
}

/// Claims to have taken completions that never were.
pub(crate) fn corrupt_completions(runtime: &mut Runtime) {
    if !runtime.ring().is_null() {
        // SAFETY: as above.
        unsafe { ring::set_cq_head(Queues::header(), 12_345) };
        let _entered = syscall::cap_enter(0, 0);
    }
}

/// Makes system calls that do not exist.
pub(crate) fn unknown_calls() -> i64 {
    if !syscall::legacy_ambient_write_is_rejected() {
        return BROKEN;
    }
    for number in [3, 4, 99, 1 << 32 | 2, u64::MAX] {
        let result: u64;
        // SAFETY: a system call changes nothing but the declared registers.
        unsafe {
            core::arch::asm!("syscall", inlateout("rax") number => result,
                in("rdi") 1_u64, in("rsi") 0_u64, out("rcx") _, out("r11") _, options(nostack));
        }
        if result != u64::MAX {
            return BROKEN;
        }
    }
    0
}

/// Prints faster than any console, without ever being kept waiting.
pub(crate) fn flood_console(runtime: &mut Runtime) -> i64 {
    let Ok(mut console) = runtime.capset().get_client::<ConsoleClient>(b"console") else {
        return NO_CONSOLE;
    };
    let Ok(mut ring) = runtime.ring_client() else {
        return BROKEN;
    };
    let line =
        "flood flood flood flood flood flood flood flood flood flood flood flood flood flood";
    for _ in 0..FLOOD_LINES {
        if console.write_line_wait(&mut ring, line, u64::MAX).is_err() {
            return BROKEN;
        }
    }
    0
}

/// Starts more sleeps than a process may have; the surplus is refused, the
/// others end.
pub(crate) fn many_sleeps(runtime: &mut Runtime) -> i64 {
    let Ok(timer) = runtime.capset().get_typed::<Timer>(b"timer") else {
        return NO_CONSOLE;
    };
    let params = Message([2 << 32, 1 << 32, 20_000_000, 0]);
    let mut sleep = CapSqe {
        opcode: CAP_OP_CALL,
        method_id: 1,
        cap_id: timer.cap_id(),
        addr: (&raw const params).expose_provenance() as u64,
        len: 24,
        ..EMPTY
    };
    for number in 0..12 {
        sleep.user_data = number;
        Queues::submit(&sleep);
    }
    if syscall::cap_enter(12, u64::MAX) != Ok(12) {
        return BROKEN;
    }
    let mut refused = 0;
    for _ in 0..12 {
        match Queues::take().result {
            0 => {}
            CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED => refused += 1,
            _ => return BROKEN,
        }
    }
    if refused == 4 { 0 } else { BROKEN }
}
