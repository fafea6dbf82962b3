//! LogSink: records of bounded length, to the console.

use capos_config::LogLevel;
use capos_config::capos_capnp::LogLevel as WireLevel;
use harness_kernel::line_guard::{Speaker, until_control};
use harness_kernel::request;

use super::{Call, SmallMessage, answer, params};
use crate::device::console;
use crate::kernel::Kernel;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply};

const COMPONENT_MAX: usize = 32;
const MESSAGE_MAX: usize = 200;

/// Calls a method of the log.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    let least = rank(kernel.facts.log_level);
    let Some(process) = kernel.process_mut(index) else {
        return;
    };
    let accepted = if call.method == 0 {
        params::with(&process.space, &call, |message| {
            let record = request::log_record(message)?;
            if (record.level as u16) < least {
                return Ok(false);
            }
            let component = cut(record.component, COMPONENT_MAX);
            let text = cut(record.text, MESSAGE_MAX);
            console::write_record(
                Speaker(index.0),
                &[b"[log] ", word(record.level), b" ", component, b": ", text],
            );
            Ok(true)
        })
    } else {
        Err(Raised::unimplemented())
    };
    match accepted {
        Ok(accepted) => {
            let message = SmallMessage::new(&[u64::from(accepted)], &[]);
            answer(kernel, index, call.ticket, Reply::Message(message.bytes()));
        }
        Err(raised) => answer(kernel, index, call.ticket, Reply::Raised(raised)),
    }
}

const fn rank(level: LogLevel) -> u16 {
    match level {
        LogLevel::Debug => 0,
        LogLevel::Info => 1,
        LogLevel::Warn => 2,
        LogLevel::Error => 3,
    }
}

const fn word(level: WireLevel) -> &'static [u8] {
    match level {
        WireLevel::Debug => b"debug",
        WireLevel::Info => b"info",
        WireLevel::Warn => b"warn",
        WireLevel::Error => b"error",
    }
}

/// The first line of `bytes`, at most `longest` bytes of it: a record is one
/// line of the log, whatever a process writes.
fn cut(bytes: &[u8], longest: usize) -> &[u8] {
    until_control(bytes.get(..longest).unwrap_or(bytes))
}
