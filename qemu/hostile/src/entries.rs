//! Deeds that ask much of one entry into the kernel, or of what it remembers of
//! a process between two.
use capos_config::ring::{
    CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED, CAP_OP_CALL, CAP_OP_RELEASE, CQ_ENTRIES, CapSqe,
    SQ_ENTRIES,
};
use capos_rt::{Runtime, syscall};

use crate::requests::{EMPTY, Queues};
use crate::reserve;

const BROKEN: i64 = 1;
const NO_GRANT: i64 = 2;
/// More connections were opened than a process may have.
const UNBOUNDED: i64 = 3;

/// Bytes of the largest text that fits a call's parameters.
const TEXT_BYTES: u32 = 65_000;
const TEXT_WORDS: usize = TEXT_BYTES as usize / 8;
const BIG_BYTES: u32 = TEXT_BYTES + HEAD_BYTES;
/// Bytes of a message before its text.
const HEAD_BYTES: u32 = 24;
/// Longest result buffer that the kernel takes.
const RESULT_BYTES: u32 = 1 << 20;
/// Result buffers of that length in turn, so that some were never touched.
const RESULT_PLACES: usize = 8;

/// A message with one text of control characters.
#[repr(C)]
struct Big {
    table: u64,
    root: u64,
    list: u64,
    text: [u64; TEXT_WORDS],
}

static BIG: Big = Big {
    table: (TEXT_WORDS as u64 + 2) << 32,
    root: 1 << 48,
    list: 1 | 2 << 32 | (TEXT_BYTES as u64) << 35,
    text: [0x0101_0101_0101_0101; TEXT_WORDS],
};

fn granted(runtime: &Runtime, name: &[u8]) -> Option<u32> {
    let capset = runtime.capset();
    capset
        .iter()
        .find(|entry| entry.name_bytes() == name)
        .map(|entry| entry.cap_id)
}

fn big(cap_id: u32, method_id: u16) -> CapSqe {
    CapSqe {
        opcode: CAP_OP_CALL,
        cap_id,
        method_id,
        addr: (&raw const BIG).expose_provenance() as u64,
        len: BIG_BYTES,
        ..EMPTY
    }
}

/// A line that finds room now and then, where 65,000 bytes never do: the console
/// keeps 24 KiB for all but the first process.
static LINE: Line = Line {
    table: (LINE_WORDS as u64 + 2) << 32,
    root: 1 << 48,
    list: 1 | 2 << 32 | (LINE_BYTES as u64) << 35,
    text: [0x0101_0101_0101_0101; LINE_WORDS],
};
const LINE_BYTES: u32 = 16_000;
const LINE_WORDS: usize = LINE_BYTES as usize / 8;

#[repr(C)]
struct Line {
    table: u64,
    root: u64,
    list: u64,
    text: [u64; LINE_WORDS],
}

fn line(console: u32) -> CapSqe {
    CapSqe {
        addr: (&raw const LINE).expose_provenance() as u64,
        len: LINE_BYTES + HEAD_BYTES,
        ..big(console, 0)
    }
}

/// Asks for all that can be asked for at once, for ever: texts of 65,000 control
/// characters for the console and the terminal, the longest parameters and result
/// buffers.
pub(crate) fn ask_much(runtime: &mut Runtime) -> i64 {
    let (Some(console), Some(timer)) = (granted(runtime, b"console"), granted(runtime, b"timer"))
    else {
        return NO_GRANT;
    };
    let terminal = granted(runtime, b"terminal").unwrap_or(console);
    let mut place = 0;
    loop {
        let request = match place & 7 {
            0..4 => big(console, 0),
            4 => line(console),
            5 => big(terminal, 0),
            6 => big(timer, 1),
            _ => CapSqe {
                result_addr: reserve::place(place % RESULT_PLACES, RESULT_BYTES),
                result_len: RESULT_BYTES,
                ..big(timer, 0)
            },
        };
        Queues::submit(&request);
        place = place.wrapping_add(1);
        if place % BATCH == 0 && !all_answered(SQ_ENTRIES) {
            return BROKEN;
        }
    }
}

const BATCH: usize = SQ_ENTRIES as usize;

fn take_all(count: u32) {
    for _ in 0..count {
        let _answer = Queues::take();
    }
}

/// Waits for so many answers and takes them.
fn all_answered(count: u32) -> bool {
    let answered = syscall::cap_enter(count, u64::MAX) == Ok(count);
    take_all(count);
    answered
}

/// Fills the queue with the largest calls: an entry takes a few of them, the
/// others wait for the next, and one that waits for all gets them in order.
pub(crate) fn share_entries(runtime: &mut Runtime) -> i64 {
    let Some(timer) = granted(runtime, b"timer") else {
        return NO_GRANT;
    };
    for number in 0..u64::from(SQ_ENTRIES) {
        Queues::submit(&CapSqe {
            user_data: number,
            ..big(timer, 0)
        });
    }
    let at_once = match syscall::cap_enter(0, 0) {
        Ok(count @ 1..SQ_ENTRIES) => count,
        _ => return BROKEN,
    };
    let waiting = Queues::untaken();
    let all = syscall::cap_enter(SQ_ENTRIES, u64::MAX) == Ok(SQ_ENTRIES);
    let in_order = (0..u64::from(SQ_ENTRIES)).all(|number| Queues::take().user_data == number);
    if all && in_order && waiting == SQ_ENTRIES.wrapping_sub(at_once) {
        0
    } else {
        BROKEN
    }
}

/// Calls that the kernel may keep under way for a process; beyond, it takes none.
const CALLS_MAX: u32 = 4_096;
const ROUNDS_MAX: u32 = 1_000;
const ACCEPTS: u32 = SQ_ENTRIES - 1;
static mut LISTENED: [u32; 16] = [0; 16];

/// Closes listeners at which accepts wait, over and over, and leaves the answers
/// no room: the kernel must stop taking calls before it has no memory left, and
/// answer all that it took.
pub(crate) fn hoard_answers(runtime: &mut Runtime) -> i64 {
    let Some(authority) = granted(runtime, b"listen") else {
        return NO_GRANT;
    };
    (1..CQ_ENTRIES).for_each(|number| {
        Queues::submit(&EMPTY);
        if number % SQ_ENTRIES == 0 {
            let _entered = syscall::cap_enter(0, 0);
        }
    });
    let _entered = syscall::cap_enter(0, 0);
    let mut owed = 0_u32;
    for _ in 0..ROUNDS_MAX {
        let Some(listener) = listen_again(authority) else {
            return BROKEN;
        };
        if !step(ACCEPTS, listener, &mut owed) {
            return finish_hoard(owed);
        }
    }
    BROKEN
}

/// Listens and takes one answer; the new capability.
fn listen_again(authority: u32) -> Option<u32> {
    let result = &raw mut LISTENED;
    Queues::submit(&CapSqe {
        opcode: CAP_OP_CALL,
        cap_id: authority,
        result_addr: result.expose_provenance() as u64,
        result_len: 64,
        ..EMPTY
    });
    let _entered = syscall::cap_enter(0, 0);
    let _oldest = Queues::take();
    // SAFETY: a copy of plain bytes, whatever the kernel wrote there.
    let words = unsafe { result.read_volatile() };
    // Behind the message of three words.
    words.get(6).copied().filter(|id| *id != 0)
}

/// Lets accepts wait at `listener` and closes it, then gives it back; false once
/// the kernel takes no more.
fn step(accepts: u32, listener: u32, owed: &mut u32) -> bool {
    let call = |method_id| CapSqe {
        opcode: CAP_OP_CALL,
        cap_id: listener,
        method_id,
        ..EMPTY
    };
    (0..accepts).for_each(|_| Queues::submit(&call(0)));
    Queues::submit(&call(1));
    let _entered = syscall::cap_enter(0, 0);
    let taken = SQ_ENTRIES.wrapping_sub(Queues::untaken());
    *owed = owed.wrapping_add(taken.min(accepts));
    if taken < SQ_ENTRIES {
        return false;
    }
    let _oldest = Queues::take();
    Queues::submit(&CapSqe {
        opcode: CAP_OP_RELEASE,
        cap_id: listener,
        ..EMPTY
    });
    let _entered = syscall::cap_enter(0, 0);
    let _oldest = Queues::take();
    true
}

/// Takes all that is owed; the exit code is zero if it comes and was bounded.
fn finish_hoard(owed: u32) -> i64 {
    if owed > CALLS_MAX {
        return UNBOUNDED;
    }
    let mut cancelled = 0_u32;
    while let Ok(count @ 1..) = syscall::cap_enter(0, 0) {
        for _ in 0..count {
            let refused = Queues::take().result == CAP_ERR_APPLICATION_EXCEPTION_TRUNCATED;
            cancelled = cancelled.wrapping_add(u32::from(refused));
        }
    }
    if cancelled >= owed { 0 } else { BROKEN }
}

/// `NetworkManager.connectTcp(10.0.2.77, 80)`: nobody is there.
static ABSENT: [u64; 6] = [
    5 << 32,
    1 << 32 | 1 << 48,
    80,
    1 | 1 << 2 | 2 << 32 | 4 << 35,
    0,
    0x4d02_000a,
];
/// Outgoing connections that a process may have.
const CONNECTIONS_MAX: u32 = 128;
const PAUSE_NANOSECONDS: u64 = 1_000_000;

/// Keeps as many connections to an absent host under way as it can, for ever; it
/// exits if that is more than a process may have.
pub(crate) fn hoard_connections(runtime: &mut Runtime) -> i64 {
    let Some(network) = granted(runtime, b"network") else {
        return NO_GRANT;
    };
    let connect = CapSqe {
        opcode: CAP_OP_CALL,
        cap_id: network,
        method_id: 2,
        addr: (&raw const ABSENT).expose_provenance() as u64,
        len: 48,
        result_addr: (&raw mut LISTENED).expose_provenance() as u64,
        result_len: 64,
        ..EMPTY
    };
    let mut under_way = 0_u32;
    loop {
        (0..SQ_ENTRIES).for_each(|_| Queues::submit(&connect));
        under_way = under_way.wrapping_add(SQ_ENTRIES);
        // All are taken, and what is refused is answered at once.
        let mut answered = syscall::cap_enter(CQ_ENTRIES, PAUSE_NANOSECONDS).unwrap_or(0);
        while answered > 0 {
            take_all(answered);
            under_way = under_way.saturating_sub(answered);
            answered = syscall::cap_enter(0, 0).unwrap_or(0);
        }
        if under_way > CONNECTIONS_MAX {
            return UNBOUNDED;
        }
    }
}
