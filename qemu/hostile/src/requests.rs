//! Deeds through the queues: requests that no honest program makes. Each is
//! held against the published code that it must complete with.
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "reading and writing the shared page is one step, resting on one mapping"
)]

use capos_config::ring::{
    self, CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, CAP_ERR_INVALID_REQUEST, CAP_OP_CALL,
    CAP_OP_NOP, CQ_ENTRIES, CapCqe, CapRingHeader, CapSqe, RING_VADDR, SQ_ENTRIES,
};
use capos_rt::{Console, ConsoleClient, Runtime, Timer, syscall};

use crate::bad;

const BROKEN: i64 = 1;
#[expect(
    clippy::cast_possible_truncation,
    reason = "addresses have 64 bits here"
)]
const RING: usize = RING_VADDR as usize;
const NO_CONSOLE: i64 = 2;
const FLOOD_LINES: u32 = 600;

/// A request with nothing in it.
pub(crate) const EMPTY: CapSqe = CapSqe {
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
pub(crate) struct Queues;

impl Queues {
    fn header() -> *mut CapRingHeader {
        core::ptr::with_exposed_provenance_mut(RING)
    }

    /// Submits one request and waits for what becomes of it.
    fn ask(request: &CapSqe) -> CapCqe {
        Self::submit(request);
        // The outcome shows in the queue.
        let _entered = syscall::cap_enter(1, u64::MAX);
        Self::take()
    }

    pub(crate) fn submit(request: &CapSqe) {
        let page = Self::header().cast::<u8>();
        // SAFETY: the ring page is mapped, and this program's alone.
        unsafe {
            let tail = ring::sq_tail(Self::header());
            let slot = ring::sqe_at(page, tail & (SQ_ENTRIES - 1)).cast_mut();
            slot.write_volatile(*request);
            ring::publish_sq_tail(Self::header(), tail.wrapping_add(1));
        }
    }

    /// Submissions that the kernel has not taken.
    pub(crate) fn untaken() -> u32 {
        // SAFETY: as above.
        unsafe { ring::sq_tail(Self::header()).wrapping_sub(ring::sq_head(Self::header())) }
    }

    pub(crate) fn take() -> CapCqe {
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

/// Tries every kind of bad request, and good ones after each. The exit code
/// tells the first that did not complete as it must.
pub(crate) fn bad_requests(runtime: &mut Runtime) -> i64 {
    let Ok(console) = runtime.capset().get_typed::<Console>(b"console") else {
        return NO_CONSOLE;
    };
    let mut results = [0_u64; 64];
    let call = bad::good(console.cap_id());
    let answered = CapSqe {
        result_addr: results.as_mut_ptr().expose_provenance() as u64,
        result_len: 512,
        ..call
    };
    let all = bad::framing(call)
        .into_iter()
        .chain(bad::buffers(call, answered))
        .chain(bad::capabilities(call))
        .chain(bad::messages(call, answered));
    for (number, (request, code)) in (10_i64..).zip(all) {
        let completion = Queues::ask(&request);
        if completion.result != code || completion.user_data != request.user_data {
            return number;
        }
        if Queues::ask(&EMPTY).result != 0 || Queues::ask(&call).result != 0 {
            return BROKEN;
        }
    }
    0
}

/// Makes one request that the kernel complains about; whether it was refused.
pub(crate) fn complain(runtime: &mut Runtime) -> bool {
    let unknown = CapSqe {
        opcode: bad::UNKNOWN_OPCODE,
        ..EMPTY
    };
    !runtime.ring().is_null() && Queues::ask(&unknown).result == CAP_ERR_INVALID_REQUEST
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

/// Waits for a completion that no call of its can bring.
pub(crate) fn wait_for_nothing() {
    // It does not return.
    let _entered = syscall::cap_enter(1, u64::MAX);
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
    let params = [2_u64 << 32, 1 << 32, 20_000_000];
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
            CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED => refused = 1_u32.saturating_add(refused),
            _ => return BROKEN,
        }
    }
    if refused == 4 { 0 } else { BROKEN }
}

/// Submits more than the completion queue holds, and takes nothing until it is
/// full: the surplus must wait where it is and be completed in order later.
pub(crate) fn fill_completions() -> i64 {
    let mut next = 100_u64;
    let mut submit = |count: u32| {
        for _ in 0..count {
            Queues::submit(&CapSqe {
                user_data: next,
                ..EMPTY
            });
            next = next.wrapping_add(1);
        }
    };
    // Two queues' worth of submissions fill the completion queue; a third waits.
    for expected in [SQ_ENTRIES, CQ_ENTRIES, CQ_ENTRIES] {
        submit(SQ_ENTRIES);
        if syscall::cap_enter(0, 0) != Ok(expected) {
            return BROKEN;
        }
    }
    let mut taken = 100_u64;
    let mut take = |count: u32| {
        (0..count).all(|_| {
            let expected = taken;
            taken = taken.wrapping_add(1);
            Queues::take().user_data == expected
        })
    };
    let refilled = take(10) && syscall::cap_enter(CQ_ENTRIES, u64::MAX) == Ok(CQ_ENTRIES);
    let rest = take(CQ_ENTRIES) && syscall::cap_enter(6, u64::MAX) == Ok(6) && take(6);
    if refilled && rest && syscall::cap_enter(0, 0) == Ok(0) {
        0
    } else {
        BROKEN
    }
}
