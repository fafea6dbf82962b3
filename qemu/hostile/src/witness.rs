//! The witness: a process that goes on while another does its worst.

use capos_rt::{LineEcho, Runtime, TerminalSessionClient, TimerClient};

use crate::{reserve, say};

const STEPS: u32 = 20;
const STEP_NANOSECONDS: u64 = 15_000_000;
/// Exit code of a witness that lost its clock.
const NO_CLOCK: i64 = 92;
/// Exit code of a witness that was kept waiting.
const LATE: i64 = 93;
/// Exit code of a witness that nobody can tell to end.
const NO_TERMINAL: i64 = 94;
/// Longest line that it reads.
const LINE_BYTES: u32 = 64;
/// A step may take so much longer than asked: on a busy host the whole machine may stand
/// still for a second or two, but what starves a process starves it for ever.
const LATE_NANOSECONDS: u64 = 5_000_000_000;

/// Sleeps in steps, takes the memory that it reserved, says at the end that it lived, and ends
/// with code 0 once a line tells it that the others have ended: its own end is the system's.
pub(crate) fn watch(runtime: &mut Runtime) -> i64 {
    for _ in 0..STEPS {
        let Ok(mut timer) = runtime.capset().get_client::<TimerClient>(b"timer") else {
            return NO_CLOCK;
        };
        let Ok(mut ring) = runtime.ring_client() else {
            return NO_CLOCK;
        };
        let Ok(before) = timer.now_wait(&mut ring, u64::MAX) else {
            return NO_CLOCK;
        };
        if timer
            .sleep_wait(&mut ring, STEP_NANOSECONDS, u64::MAX)
            .is_err()
        {
            return NO_CLOCK;
        }
        let Ok(after) = timer.now_wait(&mut ring, u64::MAX) else {
            return NO_CLOCK;
        };
        let took = after.monotonic_ns.saturating_sub(before.monotonic_ns);
        if took < STEP_NANOSECONDS {
            return NO_CLOCK;
        }
        if took > STEP_NANOSECONDS.saturating_add(LATE_NANOSECONDS) {
            return LATE;
        }
    }
    reserve::touch_all();
    say(runtime, "[witness] lived");
    await_end(runtime).map_or(NO_TERMINAL, |()| 0)
}

/// Waits for the line [`hostile::END`]. Others may read the same terminal, so that it is told
/// again and again, and a read may be refused while another one waits.
fn await_end(runtime: &mut Runtime) -> Option<()> {
    let capset = runtime.capset();
    let (mut terminal, mut timer) = (
        capset
            .get_client::<TerminalSessionClient>(b"terminal")
            .ok()?,
        capset.get_client::<TimerClient>(b"timer").ok()?,
    );
    let mut ring = runtime.ring_client().ok()?;
    loop {
        let read =
            terminal.read_line_wait(&mut ring, "", LINE_BYTES, LineEcho::Hidden, false, u64::MAX);
        match read {
            Ok(read) if *read.line == *hostile::END.as_bytes() => return Some(()),
            Ok(_) => {}
            Err(_) => timer
                .sleep_wait(&mut ring, STEP_NANOSECONDS, u64::MAX)
                .ok()?,
        }
    }
}
