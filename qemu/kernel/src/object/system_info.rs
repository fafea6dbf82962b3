//! SystemInfo: what the boot package calls the system.

use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::{Outcome, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::message::Blob;
use crate::platform::Platform;

methods! {
    /// The message of the day.
    Motd = 0,
    /// The host's name.
    Hostname = 1,
}

/// Calls a method of the information.
///
/// # Errors
/// When the text is longer than an answer may be.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    _: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    let text = match call.method {
        Method::Motd => &world.facts.motd,
        Method::Hostname => &world.facts.hostname,
    };
    Ok(Outcome::Done(answer.reply(&[], &[Blob::Text(text)])?))
}
