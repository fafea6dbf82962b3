//! What is ready for a process, in the order in which it is delivered.
//!
//! Order: calls whose object is gone, sleeps that are over, the terminal's
//! line, then a piece of the network's objects, transports in turn
//! (KERNEL-FAIR-COMPLETION). What finds no room stays where it is.

use harness_net::SocketId;

use super::complete::complete;
use crate::call::reply::{Completion, Raised, Reply};
use crate::call::scratch::Answer;
use crate::call::ticket::Ticket;
use crate::object::world::World;
use crate::object::{listener, network_manager, socket};
use crate::platform::Platform;
use crate::process::state::Process;
use crate::sockets::network::ReadyObject;
use crate::user_space::UserSpace;

/// Objects of the network that one delivery takes, or as many as a process needs that waits. The
/// completion queue is first in, first out: what is not in it yet can still be passed.
const PIECE: u32 = 8;

const GONE: Raised = Raised::disconnected("the object was closed");

/// Completes what can be completed for `process`, which waits for `least`
/// completions: of the network's objects a piece.
pub fn deliver<P: Platform>(
    world: &mut World<P>,
    process: &mut Process<P::Space>,
    answer: &mut Answer,
    least: u32,
) {
    let now = world.platform.now();
    while process.has_room()
        && let Some(over) = next_over(world, process, answer, now)
    {
        complete(process, over);
    }
    let mut taken = 0_u32;
    while process.has_room() && (taken < PIECE || !has_enough(process, least)) {
        taken = taken.saturating_add(1);
        match world.network.next_ready(process.index) {
            Some(ReadyObject::Listener(id)) => {
                if let Some(over) = listener::proceed(world, process, id, answer) {
                    complete(process, over);
                }
            }
            Some(ReadyObject::Connection(id)) => proceed(world, process, id, answer),
            None => return,
        }
    }
}

fn has_enough<S: UserSpace>(process: &Process<S>, least: u32) -> bool {
    process.completions().map_or(true, |there| there >= least)
}

/// The next call that is over without the network.
fn next_over<'a, P: Platform>(
    world: &mut World<P>,
    process: &mut Process<P::Space>,
    answer: &'a mut Answer,
    now: u64,
) -> Option<Completion<'a>> {
    let with = |reply: Reply<'static>| move |ticket: Ticket| Completion { ticket, reply };
    if let Some(ticket) = process.next_cancelled() {
        return Some(with(Reply::Raised(GONE))(ticket));
    }
    if let Some(ticket) = process.wakes(now) {
        return Some(with(Reply::Void)(ticket));
    }
    world.terminal.proceed(process.index, answer)
}

/// Each call that waits at a connection gets its chance; one without room
/// for its completion keeps the connection among the ready.
fn proceed<P: Platform>(
    world: &mut World<P>,
    process: &mut Process<P::Space>,
    id: SocketId,
    answer: &mut Answer,
) {
    for step in [Step::Connect, Step::Receive, Step::Send] {
        if !process.has_room() {
            world.network.connection_is_ready(id);
            return;
        }
        let network = &mut world.network;
        let over = match step {
            Step::Connect => network_manager::proceed(world, process, id, answer),
            Step::Receive => socket::proceed_receive(network, &process.space, id),
            Step::Send => socket::proceed_send(network, &process.space, id, answer),
        };
        if let Some(over) = over {
            complete(process, over);
        }
    }
}

/// A call that may wait at a connection.
#[derive(Clone, Copy)]
enum Step {
    Connect,
    Receive,
    Send,
}
