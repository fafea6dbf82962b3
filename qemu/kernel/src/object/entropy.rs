//! EntropySource: the processor's random numbers, or none.

use capos_config::capos_capnp::EntropyStatus;

use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::{Outcome, Raised, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::message::Blob;
use crate::platform::Platform;
use crate::request;

methods! {
    /// So many bytes.
    Fill = 0,
}

/// Most bytes that one call draws.
const BYTES_MAX: usize = 256;

/// Calls a method of the source.
///
/// # Errors
/// When more is wanted than one call draws.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    let Method::Fill = call.method;
    let wanted = caller.with(call, request::random_bytes)?;
    let mut random = [0; BYTES_MAX];
    let bytes = usize::try_from(wanted)
        .ok()
        .and_then(|wanted| random.get_mut(..wanted))
        .ok_or(Raised::invalid("more than 256 random bytes at once"))?;
    let (status, bytes) = match draw(&mut world.platform, bytes) {
        Some(bytes) => (EntropyStatus::Ok, bytes),
        None => (EntropyStatus::Unavailable, &[][..]),
    };
    let reply = answer.reply(&[status as u64], &[Blob::Data(bytes)])?;
    Ok(Outcome::Done(reply))
}

/// Fills `bytes`, or gives nothing if the processor draws none: none is told of
/// where none was asked for, too.
fn draw<'b>(platform: &mut impl Platform, bytes: &'b mut [u8]) -> Option<&'b [u8]> {
    if bytes.is_empty() {
        platform.random_word()?;
    }
    for chunk in bytes.chunks_mut(8) {
        let word = platform.random_word()?;
        for (target, source) in chunk.iter_mut().zip(word.to_le_bytes()) {
            *target = source;
        }
    }
    Some(bytes)
}
