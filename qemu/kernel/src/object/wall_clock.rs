//! WallClock: the chip's date at boot, advanced by the monotonic clock since.

use capos_config::capos_capnp::ClockProvenance;

use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::{Outcome, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::platform::Platform;

methods! {
    /// The date.
    WallTime = 0,
}

/// Calls a method of the clock.
///
/// # Errors
/// Never.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    _: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    let Method::WallTime = call.method;
    // Without a date the provenance says so, and callers fail closed.
    let words = match world.platform.date() {
        None => [
            0,
            (ClockProvenance::Untrusted as u64) << 32,
            world.platform.now(),
        ],
        Some(moment) => [
            moment.unix_seconds.cast_unsigned(),
            u64::from(moment.nanoseconds) | (ClockProvenance::MeasuredBootMonotonic as u64) << 32,
            moment.monotonic,
        ],
    };
    Ok(Outcome::Done(answer.reply(&words, &[])?))
}
