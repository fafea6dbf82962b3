//! TerminalSession: lines from and bytes to the second serial port. One call
//! reads at a time; what arrives while none does stays in the port.

use super::reader::Reader;
use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::{Outcome, Raised, Reply, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::platform::Platform;
use crate::request;

methods! {
    /// Bytes as they are.
    Write = 0,
    /// A line.
    WriteLine = 1,
    /// The next line.
    ReadLine = 2,
}

/// Calls a method of the terminal.
///
/// # Errors
/// When another call reads already, or the parameters are not the method's.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    _: &'a mut Answer,
) -> Returned<'a> {
    let platform = &mut world.platform;
    match call.method {
        Method::Write => caller.with(call, |message| {
            platform.write_terminal(&[request::terminal_data(message)?]);
            Ok(())
        })?,
        Method::WriteLine => caller.with(call, |message| {
            platform.write_terminal(&[request::terminal_line(message)?, b"\r\n"]);
            Ok(())
        })?,
        Method::ReadLine => {
            if world.terminal.is_read() {
                return Err(Raised::overloaded("another call reads the terminal"));
            }
            let index = caller.process.index;
            let reader = caller.with(call, |message| {
                let wanted = request::line_wanted(message)?;
                Ok(Reader::new(index, call.ticket, &wanted))
            })?;
            world.terminal.begin(reader, platform);
            return Ok(Outcome::Pending);
        }
    }
    Ok(Outcome::Done(Reply::Void))
}
