//! CapDiscriminator: what the caller's own slots refer to. Knows no other
//! process and gives away no authority.

use ingress_schema::listen::{ListenBinding, Transport};

use super::world::{Caller, World};
use crate::call::kinds::Object;
use crate::call::method::methods;
use crate::call::reply::{Outcome, Raised, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::cap_table::CapId;
use crate::platform::Platform;
use crate::process::state::Process;
use crate::request;

methods! {
    /// What a slot refers to.
    Identify = 0,
    /// Whether two slots refer to the same.
    Compare = 1,
}

const _: () = assert!(
    Method::Identify as u16 == ingress_schema::CAP_DISCRIMINATOR_IDENTIFY
        && Method::Compare as u16 == ingress_schema::CAP_DISCRIMINATOR_COMPARE
);

const NO_TRANSPORT: u64 = 0xffff;
const EMPTY_SLOT: Raised = Raised::invalid("the slot is empty");

/// Calls a method of the discriminator.
///
/// # Errors
/// When a slot is empty, or the parameters are not the method's.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    let reply = match call.method {
        Method::Identify => {
            let id = caller.with(call, request::identified)?;
            let object = held(caller.process, id)?;
            let binding = match object {
                Object::ListenAuthority(which) => {
                    world.authorities.get(usize::from(which)).copied()
                }
                Object::Listener(listener) => world.network.binding_of(listener),
                _ => None,
            };
            answer.reply(&[object.identity(), describe(binding)], &[])
        }
        Method::Compare => {
            let [left, right] = caller.with(call, request::compared)?;
            let same = held(caller.process, left)? == held(caller.process, right)?;
            answer.reply(&[u64::from(same)], &[])
        }
    };
    Ok(Outcome::Done(reply?))
}

/// Transport, port and wildcard, as they lie in the second word.
fn describe(binding: Option<ListenBinding>) -> u64 {
    binding.map_or(NO_TRANSPORT, |binding| {
        u64::from(binding.transport().id())
            | u64::from(binding.port().get()) << 32
            | u64::from(binding.transport() == Transport::Any) << 48
    })
}

fn held<S>(process: &Process<S>, id: u32) -> Result<Object, Raised> {
    process
        .caps
        .find(CapId::from_wire(id))
        .map_err(|_| EMPTY_SLOT)
}
