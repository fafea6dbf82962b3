//! From an object to the file that has its methods, by the last column of the
//! table of kinds.

use super::world::{Caller, World};
use super::{
    console, discriminator, endpoint, entropy, listen_authority, listener, log, network_manager,
    socket, system_info, terminal, timer, wall_clock,
};
use crate::call::kinds::{Object, kinds};
use crate::call::reply::{Raised, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::platform::Platform;
use crate::process::state::Process;

macro_rules! dispatch {
    ($($kind:ident $(($which:ident: $id:ty))?, $(from $source:ident,)? is $interface:ident, in $file:ident;)*) => {
        /// Calls a method of `object`: what comes of it.
        ///
        /// # Errors
        /// What the method raises.
        #[expect(unreachable_code, reason = "an interface may have no method here")]
        pub fn call<'a, P: Platform>(
            world: &mut World<P>,
            object: Object,
            caller: &mut Caller<'_, P::Space>,
            call: Call<u16>,
            answer: &'a mut Answer,
        ) -> Returned<'a> {
            match object {
                $(Object::$kind $(($which))? => {
                    let method = $file::Method::from_number(call.method)
                        .ok_or(Raised::unimplemented())?;
                    $file::call(world, $($which,)? caller, &call.of(method), answer)
                })*
            }
        }
    };
}
kinds!(dispatch);

/// Gives back what a capability referred to, and cancels the calls that wait for
/// it. Objects that nobody owns alone stay as they are.
pub fn release<P: Platform>(world: &mut World<P>, process: &mut Process<P::Space>, object: Object) {
    match object {
        Object::Listener(id) => listener::close(world, process, id),
        Object::Socket(id) => {
            let waiting = world.network.close_connection(id);
            process.cancel(waiting.into_iter().flatten());
        }
        _ => {}
    }
}
