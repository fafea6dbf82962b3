//! Endpoint: a marker that a name in the CapSet stands on. It does nothing.

use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::Returned;
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::platform::Platform;

methods! {}

/// Calls a method of an endpoint; there is none.
///
/// # Errors
/// Never.
pub fn call<'a, P: Platform>(
    _: &mut World<P>,
    _: u16,
    _: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    _: &'a mut Answer,
) -> Returned<'a> {
    match call.method {}
}
