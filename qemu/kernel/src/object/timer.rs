//! Timer: the monotonic clock, and sleeps, of which a process has few.

use harness_kernel::request;

use super::{Call, SmallMessage, answer, params};
use crate::kernel::Kernel;
use crate::process::{ProcessIndex, Sleep};
use crate::syscall::complete::{Raised, Reply};
use crate::time;

/// Length of what `now` calls a tick.
const TICK_NANOSECONDS: u64 = 10_000_000;

/// Calls a method of the timer.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    match call.method {
        0 => {
            let now = time::now();
            let message = SmallMessage::new(&[now, now / TICK_NANOSECONDS], &[]);
            answer(kernel, index, call.ticket, Reply::Message(message.bytes()));
        }
        1 => {
            if let Err(raised) = sleep(kernel, index, &call) {
                answer(kernel, index, call.ticket, Reply::Raised(raised));
            }
        }
        _ => answer(
            kernel,
            index,
            call.ticket,
            Reply::Raised(Raised::unimplemented()),
        ),
    }
}

/// Puts a sleep among the process's; it ends with a completion.
fn sleep(kernel: &mut Kernel, index: ProcessIndex, call: &Call) -> Result<(), Raised> {
    let Some(process) = kernel.process_mut(index) else {
        return Ok(());
    };
    let duration = params::with(&process.space, call, request::sleep_nanoseconds)?;
    let free = process
        .sleeps
        .iter_mut()
        .find(|slot| slot.is_none())
        .ok_or(Raised::overloaded("too many sleeps at once"))?;
    *free = Some(Sleep {
        until: time::now().saturating_add(duration),
        ticket: call.ticket,
    });
    Ok(())
}
