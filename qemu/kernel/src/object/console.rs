//! Console: bytes and lines to the first serial port, never waiting.

use capos_config::capos_capnp::console;
use harness_kernel::line_guard::{Ending, Speaker};

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
            let data = message
                .get_root::<console::write_params::Reader<'_>>()?
                .get_data()?;
            device::console::write(speaker, data, Ending::Open);
            Ok(())
        }),
        1 => params::with(&process.space, &call, |message| {
            let text = message
                .get_root::<console::write_line_params::Reader<'_>>()?
                .get_text()?;
            device::console::write(speaker, text.as_bytes(), Ending::Line);
            Ok(())
        }),
        _ => Err(Raised::unimplemented()),
    };
    let reply = written.map_or_else(Reply::Raised, |()| Reply::Void);
    answer(kernel, index, call.ticket, reply);
}
