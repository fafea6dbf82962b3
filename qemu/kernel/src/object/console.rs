//! Console: bytes and lines to the first serial port, never waiting.

use harness_kernel::line_guard::{Ending, Speaker};
use harness_kernel::request;

use super::{Call, answer, params};
use crate::device;
use crate::kernel::Kernel;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply};

/// Calls a method of the console.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    let Some(process) = kernel.process_mut(index) else {
        return;
    };
    let speaker = Speaker(index.0);
    let written = match call.method {
        0 => params::with(&process.space, &call, |message| {
            device::console::write(speaker, request::console_data(message)?, Ending::Open);
            Ok(())
        }),
        1 => params::with(&process.space, &call, |message| {
            device::console::write(speaker, request::console_line(message)?, Ending::Line);
            Ok(())
        }),
        _ => Err(Raised::unimplemented()),
    };
    let reply = written.map_or_else(Reply::Raised, |()| Reply::Void);
    answer(kernel, index, call.ticket, reply);
}
