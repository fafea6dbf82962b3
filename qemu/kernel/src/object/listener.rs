//! TcpListener: from a listener to connections. What waits longest is served
//! first.

use harness_net::{Accept, Accepted, ListenerId};

use super::world::{Caller, World, check_room};
use crate::call::kinds::Object;
use crate::call::method::methods;
use crate::call::reply::{Completion, Outcome, Raised, Reply, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::{Call, Ticket};
use crate::message::Blob;
use crate::platform::Platform;
use crate::process::state::Process;
use crate::sockets::network::{ACCEPTS_MAX, Network};
use crate::sockets::stack::Stack;

methods! {
    /// The next connection.
    Accept = 0,
    /// No more connections.
    Close = 1,
}

/// Bytes of the message that `accept` answers.
const ACCEPT_BYTES: u32 = 40;
const CLOSED: Raised = Raised::disconnected("the listener is closed");

/// Calls a method of listener `id`.
///
/// # Errors
/// When the listener is closed, or as many accepts wait as may.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    id: ListenerId,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    _: &'a mut Answer,
) -> Returned<'a> {
    match call.method {
        Method::Accept => {
            wait(&mut world.network, id, call.ticket)?;
            Ok(Outcome::Pending)
        }
        Method::Close => {
            close(world, caller.process, id);
            Ok(Outcome::Done(Reply::Void))
        }
    }
}

fn wait<S: Stack>(network: &mut Network<S>, id: ListenerId, ticket: Ticket) -> Result<(), Raised> {
    let listener = network.listener_mut(id).ok_or(CLOSED)?;
    if listener.accepts.len() >= ACCEPTS_MAX {
        return Err(Raised::overloaded("too many accepts wait at this listener"));
    }
    listener.accepts.push_back(ticket);
    // A ready list, not an answer at once: what waits longest is served first.
    if listener.accepts.len() == 1 {
        network.listener_is_ready(id);
    }
    Ok(())
}

/// Closes listener `id` and cancels the accepts that wait for it.
pub fn close<P: Platform>(world: &mut World<P>, process: &mut Process<P::Space>, id: ListenerId) {
    process.cancel(world.network.close_listener(id));
}

/// Answers one accept that waits at listener `id`, if it can be answered. The
/// caller has checked for room in the completion queue.
pub fn proceed<'a, P: Platform>(
    world: &mut World<P>,
    process: &Process<P::Space>,
    id: ListenerId,
    answer: &'a mut Answer,
) -> Option<Completion<'a>> {
    let network = &mut world.network;
    let ticket = network.listener_mut(id)?.accepts.front().copied()?;
    let returned = match check_room(process, &ticket, ACCEPT_BYTES) {
        Err(raised) => Err(raised),
        Ok(()) => match network.stack.accept(id) {
            Accept::WouldBlock => return None,
            Accept::Stale => Err(CLOSED),
            Accept::Connection(accepted) => {
                network.add_connection(process.index, accepted.socket, Some(accepted.transport));
                tell(&accepted, answer)
            }
        },
    };
    take_front(network, id);
    Completion::of(ticket, returned)
}

fn tell<'a>(accepted: &Accepted, answer: &'a mut Answer) -> Returned<'a> {
    let port = u64::from(accepted.peer.port()) << 16;
    let address = accepted.peer.ip().octets();
    let message = answer.message(&[port], &[Blob::Data(&address)])?;
    let socket = Object::Socket(accepted.socket);
    Ok(Outcome::Done(Reply::WithCap(message, socket)))
}

/// Takes the oldest accept; the others get their turn.
fn take_front<S: Stack>(network: &mut Network<S>, id: ListenerId) {
    let others = network.listener_mut(id).is_some_and(|listener| {
        listener.accepts.pop_front();
        !listener.accepts.is_empty()
    });
    if others {
        network.listener_is_ready(id);
    }
}
