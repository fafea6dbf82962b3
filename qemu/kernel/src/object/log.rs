//! LogSink: records of bounded length, to the console.

use capos_config::LogLevel;
use capos_config::capos_capnp::LogLevel as WireLevel;

use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::{Outcome, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::line_guard::{Speaker, until_control};
use crate::platform::Platform;
use crate::request;

methods! {
    /// A record.
    Write = 0,
}

const COMPONENT_MAX: usize = 32;
const MESSAGE_MAX: usize = 200;

/// Calls a method of the log.
///
/// # Errors
/// When the parameters are not the method's.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    let Method::Write = call.method;
    let least = rank(world.facts.log_level);
    let speaker = Speaker(caller.process.index.0);
    let accepted = caller.with(call, |message| {
        let record = request::log_record(message)?;
        if (record.level as u16) < least {
            return Ok(false);
        }
        let component = cut(record.component, COMPONENT_MAX);
        let text = cut(record.text, MESSAGE_MAX);
        world.platform.write_record(
            speaker,
            &[b"[log] ", word(record.level), b" ", component, b": ", text],
        );
        Ok(true)
    })?;
    Ok(Outcome::Done(answer.reply(&[u64::from(accepted)], &[])?))
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
