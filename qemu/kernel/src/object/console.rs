//! Console: bytes and lines to the first serial port, never waiting.

use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::{Outcome, Reply, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::line_guard::{Ending, Speaker};
use crate::platform::Platform;
use crate::request;

methods! {
    /// Bytes as they are.
    Write = 0,
    /// A line.
    WriteLine = 1,
}

/// Calls a method of the console.
///
/// # Errors
/// When the parameters are not the method's.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    _: &'a mut Answer,
) -> Returned<'a> {
    let speaker = Speaker(caller.process.index.0);
    caller.with(call, |message| {
        let (text, ending) = match call.method {
            Method::Write => (request::console_data(message)?, Ending::Open),
            Method::WriteLine => (request::console_line(message)?, Ending::Line),
        };
        world.platform.write_console(speaker, text, ending);
        Ok(())
    })?;
    Ok(Outcome::Done(Reply::Void))
}
