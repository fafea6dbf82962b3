//! The witness: a process that goes on while another does its worst.

use capos_rt::{Runtime, TimerClient};

use crate::say;

const STEPS: u32 = 20;
const STEP_NANOSECONDS: u64 = 15_000_000;
/// Exit code of a witness that lost its clock.
const NO_CLOCK: i64 = 92;
/// Exit code of a witness that was kept waiting.
const LATE: i64 = 93;
/// A step may take so much longer than asked; a machine that emulates others
/// beside it is slow, but not a second slow.
const LATE_NANOSECONDS: u64 = 1_000_000_000;

/// Sleeps in steps, says at the end that it lived, and ends with code 0.
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
    say(runtime, "[witness] lived");
    0
}
