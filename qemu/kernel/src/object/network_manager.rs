//! NetworkManager: outgoing connections of in-guest clients, and the address
//! of the first card.

use core::net::{Ipv4Addr, SocketAddrV4};

use capos_config::capos_capnp::IpAddressFamily;
use harness_net::{ConnectError, ConnectState, SocketId, TransportId};

use super::world::{Caller, World, check_room};
use crate::call::kinds::Object;
use crate::call::method::methods;
use crate::call::reply::{Completion, Outcome, Raised, Reply, Returned};
use crate::call::scratch::Answer;
use crate::call::ticket::Call;
use crate::message::Blob;
use crate::platform::Platform;
use crate::process::state::Process;
use crate::request;
use crate::sockets::stack::Stack;

methods! {
    /// The address.
    Config = 0,
    /// A connection to a peer.
    ConnectTcp = 2,
}

/// Bytes of the message that `connectTcp` answers.
const CONNECT_BYTES: u32 = 24;

/// Calls a method of the manager.
///
/// # Errors
/// When there can be no such connection, and why.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    match call.method {
        Method::Config => config(world, answer),
        Method::ConnectTcp => {
            start(world, caller, call)?;
            Ok(Outcome::Pending)
        }
    }
}

/// Tells the first card's address, or the loopback's where there is no card.
fn config<'a, P: Platform>(world: &World<P>, answer: &'a mut Answer) -> Returned<'a> {
    let (address, mask, gateway) = match world.network.stack.transport_address(TransportId(1)) {
        Some(address) => {
            let [a, b, c, _] = address.octets();
            (address, [255, 255, 255, 0], [a, b, c, 2])
        }
        None => (Ipv4Addr::LOCALHOST, [255, 0, 0, 0], [0; 4]),
    };
    let reply = answer.reply(
        &[IpAddressFamily::Ipv4 as u64],
        &[
            Blob::Data(&address.octets()),
            Blob::Data(&mask),
            Blob::Data(&gateway),
        ],
    )?;
    Ok(Outcome::Done(reply))
}

fn start<P: Platform>(
    world: &mut World<P>,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
) -> Result<(), Raised> {
    check_room(caller.process, &call.ticket, CONNECT_BYTES)?;
    let peer = caller.with(call, |message| {
        let (address, port) = request::peer(message)?;
        Ok(match *address {
            [a, b, c, d] => Ok(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port)),
            ref other if other.len() == 16 => Err(Raised::invalid("ipv6Unsupported")),
            _ => Err(Raised::invalid("malformedAddress")),
        })
    })??;
    let index = caller.process.index;
    let id = world
        .network
        .stack
        .connect(index.client(), peer)
        .map_err(|error| match error {
            ConnectError::PortZero => Raised::invalid(error.explain()),
            ConnectError::NoRoute => Raised::failed(error.explain()),
            ConnectError::PoolExhausted
            | ConnectError::ClientLimit
            | ConnectError::PortsExhausted => Raised::overloaded(error.explain()),
        })?;
    let connection = world
        .network
        .add_connection(index, id, None)
        .ok_or(Raised::overloaded("the socket pool is exhausted"))?;
    connection.connect = Some(call.ticket);
    Ok(())
}

/// Answers the call that opens connection `id`, once it is decided. The caller
/// has checked for room in the completion queue.
pub fn proceed<'a, P: Platform>(
    world: &mut World<P>,
    process: &Process<P::Space>,
    id: SocketId,
    answer: &'a mut Answer,
) -> Option<Completion<'a>> {
    let network = &mut world.network;
    let ticket = network.connection_mut(id)?.connect?;
    let state = network.stack.connect_state(id);
    if state == ConnectState::Connecting {
        return None;
    }
    network.connection_mut(id)?.connect = None;
    let ready = match state {
        ConnectState::Connected => check_room(process, &ticket, CONNECT_BYTES),
        _ => Err(Raised::disconnected(
            "the connection was refused or timed out",
        )),
    };
    let message = ready.and_then(|()| answer.message(&[0], &[]));
    if message.is_err() {
        network.close_connection(id);
    }
    let returned =
        message.map(|message| Outcome::Done(Reply::WithCap(message, Object::Socket(id))));
    Completion::of(ticket, returned)
}
