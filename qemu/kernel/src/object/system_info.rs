//! SystemInfo: what the boot package calls the system.

use harness_kernel::message::{Blob, encode};

use super::{Call, answer};
use crate::cell::KernelCell;
use crate::kernel::Kernel;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply};

/// Room for the longest message of the day that validation lets pass.
static BUFFER: KernelCell<[u8; 4608]> = KernelCell::new([0; 4608]);

/// Calls a method of the information.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    BUFFER.with(|buffer| {
        let text = match call.method {
            0 => Ok(&kernel.facts.motd),
            1 => Ok(&kernel.facts.hostname),
            _ => Err(Raised::unimplemented()),
        };
        let length = text.and_then(|text| {
            encode(buffer, &[], &[Blob::Text(text)]).map_err(|_| Raised::failed("text too long"))
        });
        let reply = match length {
            Ok(length) => Reply::Message(buffer.get(..length).unwrap_or(&[])),
            Err(raised) => Reply::Raised(raised),
        };
        answer(kernel, index, call.ticket, reply);
    });
}
