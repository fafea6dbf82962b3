//! TcpListenAuthority: from the right to listen on one port of one transport to a
//! listener there.

use harness_net::{Binding, ListenError, ListenOptions, TransportId};
use ingress_schema::listen::{ListenBinding, Transport};

use super::world::{Caller, World, check_room};
use crate::call::kinds::Object;
use crate::call::method::methods;
use crate::call::reply::{Outcome, Raised, Reply, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::platform::Platform;
use crate::sockets::stack::Stack;

methods! {
    /// The listener.
    Listen = 0,
}

/// Bytes of the message that `listen` answers.
const LISTEN_BYTES: u32 = 24;

/// Calls a method of authority `which`.
///
/// # Errors
/// When there can be no listener, and why.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    which: u16,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    let Method::Listen = call.method;
    check_room(caller.process, &call.ticket, LISTEN_BYTES)?;
    let binding = *world
        .authorities
        .get(usize::from(which))
        .ok_or(Raised::failed("the authority is not bound"))?;
    let (wanted, options) = resolve(binding);
    let port = binding.port().get();
    let message = answer.message(&[u64::from(port) << 16], &[])?;
    let id = world
        .network
        .stack
        .listen(wanted, port, options)
        .map_err(refusal)?;
    world
        .network
        .add_listener(caller.process.index, id, binding);
    Ok(Outcome::Done(Reply::WithCap(message, Object::Listener(id))))
}

fn refusal(error: ListenError) -> Raised {
    match error {
        ListenError::InUse => Raised::failed("this authority is listening already"),
        ListenError::TooMany | ListenError::ReserveUnavailable => {
            Raised::overloaded(error.explain())
        }
        other => Raised::failed(other.explain()),
    }
}

/// The stack's words for a binding.
fn resolve(binding: ListenBinding) -> (Binding, ListenOptions) {
    match binding.transport() {
        Transport::Loopback => (
            Binding::Transport(TransportId::LOOPBACK),
            ListenOptions::LOOPBACK,
        ),
        Transport::Nic(number) => {
            let transport = TransportId(u8::try_from(number.value()).unwrap_or(u8::MAX));
            (Binding::Transport(transport), ListenOptions::NIC)
        }
        Transport::Any => (Binding::Wildcard, ListenOptions::NIC),
    }
}
