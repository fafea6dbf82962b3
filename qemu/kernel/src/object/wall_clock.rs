//! WallClock: the chip's date at boot, advanced by the monotonic clock since.

use capos_config::capos_capnp::ClockProvenance;

use super::{Call, SmallMessage, answer};
use crate::kernel::Kernel;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply};
use crate::time;

/// Calls a method of the clock.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    if call.method != 0 {
        answer(
            kernel,
            index,
            call.ticket,
            Reply::Raised(Raised::unimplemented()),
        );
        return;
    }
    // Without a date the provenance says so, and callers fail closed.
    let words = time::date().map_or(
        [0, (ClockProvenance::Untrusted as u64) << 32, time::now()],
        |moment| {
            [
                moment.unix_seconds.cast_unsigned(),
                u64::from(moment.nanoseconds)
                    | (ClockProvenance::MeasuredBootMonotonic as u64) << 32,
                moment.monotonic,
            ]
        },
    );
    let message = SmallMessage::new(&words, &[]);
    answer(kernel, index, call.ticket, Reply::Message(message.bytes()));
}
