//! TcpSocket: bytes of one connection. At most one receive and one send wait
//! at a time; data moves between the caller's pages and the connection's
//! buffers, once.

use harness_net::{Recv, Sent, SocketId};

use super::world::{Caller, World};
use crate::call::method::methods;
use crate::call::reply::{Completion, Outcome, Raised, Reply, Returned};
use crate::call::scratch::{Answer, MALFORMED};
use crate::call::ticket::{Call, Ticket};
use crate::message::{
    DATA_PREFIX_BYTES, data_bytes_that_fit, data_length, data_message_bytes, data_prefix,
};
use crate::platform::Platform;
use crate::request;
use crate::sockets::network::{Connection, Network, Receive, Send};
use crate::sockets::stack::Stack;
use crate::user_range::UserRange;
use crate::user_space::UserSpace;

methods! {
    /// Bytes to the peer.
    Send = 0,
    /// Bytes from the peer.
    Recv = 1,
    /// No more to the peer.
    Close = 2,
}

const CLOSED: Raised = Raised::disconnected("the connection is closed");
const RESET: Raised = Raised::disconnected("the connection was reset");
const ENDED: Raised = Raised::disconnected("this side of the connection has ended");
/// Most bytes that one receive answers.
const RECEIVE_MAX: u32 = 64 * 1024;
const PREFIX: u32 = 24;
const _: () = assert!(PREFIX as usize == DATA_PREFIX_BYTES);

/// Calls a method of connection `id`.
///
/// # Errors
/// When the connection is over, a call of the kind waits already, or there is no
/// room for a byte.
pub fn call<'a, P: Platform>(
    world: &mut World<P>,
    id: SocketId,
    caller: &mut Caller<'_, P::Space>,
    call: &Call<Method>,
    answer: &'a mut Answer,
) -> Returned<'a> {
    let network = &mut world.network;
    let done = match call.method {
        Method::Send => {
            start_send(network, id, caller, call)?;
            proceed_send(network, &caller.process.space, id, answer)
        }
        Method::Recv => {
            start_receive(network, id, caller, call)?;
            proceed_receive(network, &caller.process.space, id)
        }
        Method::Close => {
            network.stack.close(id);
            return Ok(Outcome::Done(Reply::Void));
        }
    };
    Ok(done.map_or(Outcome::Pending, |done| Outcome::Done(done.reply)))
}

fn start_receive<N: Stack>(
    network: &mut Network<N>,
    id: SocketId,
    caller: &mut Caller<'_, impl UserSpace>,
    call: &Call<Method>,
) -> Result<(), Raised> {
    let wanted = caller.with(call, request::receive_max)?;
    let longest = wanted
        .min(data_bytes_that_fit(call.ticket.result_bytes()))
        .min(RECEIVE_MAX);
    if longest == 0 {
        return Err(Raised::invalid("no room to receive a byte"));
    }
    let connection = network.connection_mut(id).ok_or(CLOSED)?;
    if connection.receive.is_some() {
        return Err(Raised::overloaded("another receive waits"));
    }
    connection.receive = Some(Receive {
        ticket: call.ticket,
        longest,
    });
    Ok(())
}

fn start_send<N: Stack>(
    network: &mut Network<N>,
    id: SocketId,
    caller: &mut Caller<'_, impl UserSpace>,
    call: &Call<Method>,
) -> Result<(), Raised> {
    let data = data_range(caller, call)?;
    let connection = network.connection_mut(id).ok_or(CLOSED)?;
    if connection.send.is_some() {
        return Err(Raised::overloaded("another send waits"));
    }
    connection.send = Some(Send {
        ticket: call.ticket,
        data,
    });
    Ok(())
}

/// Answers the receive that waits at connection `id`, if there is anything to
/// answer. The caller has checked for room in the completion queue.
pub fn proceed_receive<N: Stack>(
    network: &mut Network<N>,
    space: &impl UserSpace,
    id: SocketId,
) -> Option<Completion<'static>> {
    let (receive, reply) = attempt(
        network,
        id,
        |connection| &mut connection.receive,
        |stack, receive| match receive_into(stack, space, id, receive) {
            Received::Nothing => None,
            Received::Bytes(bytes) => Some(finish_message(space, &receive.ticket, bytes)),
            Received::Broken(raised) => Some(Reply::Raised(raised)),
        },
    )?;
    let ticket = receive.ticket;
    Some(Completion { ticket, reply })
}

/// Answers the send that waits at connection `id`, if there is room to send.
/// The caller has checked for room in the completion queue.
pub fn proceed_send<'a, N: Stack>(
    network: &mut Network<N>,
    space: &impl UserSpace,
    id: SocketId,
    answer: &'a mut Answer,
) -> Option<Completion<'a>> {
    let (send, sent) = attempt(
        network,
        id,
        |connection| &mut connection.send,
        |stack, send| match send_from(stack, space, id, send) {
            Ok(Sent::WouldBlock) => None,
            Ok(Sent::Bytes(bytes)) => Some(Ok(bytes)),
            Ok(Sent::Closed) => Some(Err(ENDED)),
            Ok(Sent::Reset) => Some(Err(RESET)),
            Ok(Sent::Stale) => Some(Err(CLOSED)),
            Err(raised) => Some(Err(raised)),
        },
    )?;
    let reply = sent.and_then(|bytes| answer.reply(&[bytes as u64], &[]));
    Completion::of(send.ticket, reply.map(Outcome::Done))
}

/// Tries the call that waits in a slot of a connection, if one does. It leaves
/// the slot with what came of it, or stays if nothing did.
fn attempt<N: Stack, W: Copy, R>(
    network: &mut Network<N>,
    id: SocketId,
    slot: fn(&mut Connection) -> &mut Option<W>,
    body: impl FnOnce(&mut N, &W) -> Option<R>,
) -> Option<(W, R)> {
    let waiting = (*slot(network.connection_mut(id)?))?;
    let outcome = body(&mut network.stack, &waiting)?;
    *slot(network.connection_mut(id)?) = None;
    Some((waiting, outcome))
}

enum Received {
    Nothing,
    Bytes(u32),
    Broken(Raised),
}

/// Receives into the caller's pages, behind the place of the prefix.
fn receive_into(
    stack: &mut impl Stack,
    space: &impl UserSpace,
    id: SocketId,
    receive: &Receive,
) -> Received {
    let room = usize::try_from(receive.longest).unwrap_or(0);
    let Some(range) = receive.ticket.result_part(PREFIX, room) else {
        return Received::Broken(Raised::invalid("no room to receive a byte"));
    };
    let mut total = 0_u32;
    let mut end = None;
    let filled = space.with_writable(range, |part| match stack.recv(id, part) {
        Recv::Bytes(bytes) => {
            total = total.saturating_add(u32::try_from(bytes).unwrap_or(0));
            bytes == part.len()
        }
        other => {
            end = Some(other);
            false
        }
    });
    if total > 0 {
        return Received::Bytes(total);
    }
    match (filled, end) {
        (Err(_), _) => Received::Broken(Raised::invalid("the result buffer is gone")),
        (_, Some(Recv::PeerClosed)) => Received::Bytes(0),
        (_, Some(Recv::Reset)) => Received::Broken(RESET),
        (_, Some(Recv::Stale)) => Received::Broken(CLOSED),
        _ => Received::Nothing,
    }
}

/// Writes what belongs around `bytes` received bytes.
fn finish_message(space: &impl UserSpace, ticket: &Ticket, bytes: u32) -> Reply<'static> {
    let total = data_message_bytes(bytes);
    let padding = total.saturating_sub(PREFIX).saturating_sub(bytes);
    let zeros = [0; 8];
    let padding = zeros
        .get(..usize::try_from(padding).unwrap_or(0))
        .unwrap_or(&[]);
    let prefix = data_prefix(bytes);
    let written = [(0, &prefix[..]), (PREFIX.saturating_add(bytes), padding)]
        .into_iter()
        .filter(|(_, part)| !part.is_empty())
        .all(|(offset, part)| {
            ticket
                .result_part(offset, part.len())
                .is_some_and(|range| space.write(range, part).is_ok())
        });
    if written {
        Reply::InPlace(total)
    } else {
        Reply::Raised(Raised::invalid("the result buffer is gone"))
    }
}

/// Where in the caller's pages the bytes to send are; none for a send of no byte.
/// The common layout of the parameters is recognised by its prefix; any other is
/// read with the library, once: what waits for room is not copied again.
fn data_range(
    caller: &mut Caller<'_, impl UserSpace>,
    call: &Call<Method>,
) -> Result<Option<UserRange>, Raised> {
    let params = call.params.ok_or(MALFORMED)?;
    let space = &caller.process.space;
    if let Some(data) = plain_data(space, params) {
        return Ok(Some(data));
    }
    caller.params.range_of(space, call, request::send_data)
}

/// Sends from the caller's pages.
fn send_from(
    stack: &mut impl Stack,
    space: &impl UserSpace,
    id: SocketId,
    send: &Send,
) -> Result<Sent, Raised> {
    match send.data {
        Some(data) => send_range(stack, space, id, data),
        None => Ok(stack.send(id, &[])),
    }
}

/// Where the data lies, if the parameters are one struct with one `Data` field
/// and at least one byte.
fn plain_data(space: &impl UserSpace, params: UserRange) -> Option<UserRange> {
    let mut prefix = [0; DATA_PREFIX_BYTES];
    let head = UserRange::new(params.start(), PREFIX).ok()?;
    if params.length() <= PREFIX {
        return None;
    }
    space.read(head, &mut prefix).ok()?;
    let bytes = data_length(&prefix)?;
    if data_message_bytes(bytes) > params.length() {
        return None;
    }
    UserRange::new(params.start().checked_add(u64::from(PREFIX))?, bytes).ok()
}

fn send_range(
    stack: &mut impl Stack,
    space: &impl UserSpace,
    id: SocketId,
    data: UserRange,
) -> Result<Sent, Raised> {
    let mut total = 0_usize;
    let mut last = Sent::Bytes(0);
    space
        .with_readable(data, |part| {
            last = stack.send(id, part);
            if let Sent::Bytes(bytes) = last {
                total = total.saturating_add(bytes);
                return bytes == part.len();
            }
            false
        })
        .map_err(|_| MALFORMED)?;
    Ok(if total > 0 { Sent::Bytes(total) } else { last })
}
