//! Timer: the monotonic clock, and sleeps, of which a process has few.

use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::{Outcome, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::platform::Platform;
use crate::process::state::Sleep;
use crate::request;

methods! {
    /// The clock.
    Now = 0,
    /// A completion so much later.
    Sleep = 1,
}

/// Length of what `now` calls a tick.
const TICK_NANOSECONDS: u64 = 10_000_000;

/// Calls a method of the timer.
///
/// # Errors
/// When the process sleeps as often as it may already.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    match call.method {
        Method::Now => {
            let now = world.platform.now();
            let reply = answer.reply(&[now, now / TICK_NANOSECONDS], &[])?;
            Ok(Outcome::Done(reply))
        }
        Method::Sleep => {
            let duration = caller.with(call, request::sleep_nanoseconds)?;
            caller.process.sleep(Sleep {
                until: world.platform.now().saturating_add(duration),
                ticket: call.ticket,
            })?;
            Ok(Outcome::Pending)
        }
    }
}
