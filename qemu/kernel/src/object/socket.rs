//! TcpSocket: bytes of one connection. At most one receive and one send wait
//! at a time; data moves between the caller's pages and the connection's
//! buffers, once.

use harness_kernel::message::{
    DATA_PREFIX_BYTES, data_bytes_that_fit, data_length, data_message_bytes, data_prefix,
};
use harness_kernel::request;
use harness_kernel::user_range::UserRange;
use harness_net::{Recv, Sent, SocketId};

use super::{Call, SmallMessage, answer, params};
use crate::kernel::Kernel;
use crate::memory::user;
use crate::network::{Connection, Network, Receive, Send};
use crate::process::{Process, ProcessIndex};
use crate::syscall::complete::{Raised, Reply, Ticket, result_part};

const CLOSED: Raised = Raised::disconnected("the connection is closed");
const RESET: Raised = Raised::disconnected("the connection was reset");
const ENDED: Raised = Raised::disconnected("this side of the connection has ended");
/// Most bytes that one receive answers.
const RECEIVE_MAX: u32 = 64 * 1024;
const PREFIX: u32 = 24;
const _: () = assert!(PREFIX as usize == DATA_PREFIX_BYTES);

/// Calls a method of connection `id`.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, id: SocketId, call: Call) {
    let ticket = call.ticket;
    let started = match call.method {
        0 => start_send(kernel, index, id, &call),
        1 => start_receive(kernel, index, id, &call),
        2 => {
            kernel.network.stack.close(id);
            answer(kernel, index, ticket, Reply::Void);
            Ok(())
        }
        _ => Err(Raised::unimplemented()),
    };
    if let Err(raised) = started {
        answer(kernel, index, ticket, Reply::Raised(raised));
    }
}

fn start_receive(
    kernel: &mut Kernel,
    index: ProcessIndex,
    id: SocketId,
    call: &Call,
) -> Result<(), Raised> {
    let Some(process) = kernel.process_mut(index) else {
        return Ok(());
    };
    let wanted = params::with(&process.space, call, request::receive_max)?;
    let longest = wanted
        .min(data_bytes_that_fit(call.ticket.result_bytes()))
        .min(RECEIVE_MAX);
    if longest == 0 {
        return Err(Raised::invalid("no room to receive a byte"));
    }
    let connection = kernel.network.connection_mut(id).ok_or(CLOSED)?;
    if connection.receive.is_some() {
        return Err(Raised::overloaded("another receive waits"));
    }
    connection.receive = Some(Receive {
        ticket: call.ticket,
        longest,
    });
    continue_receive(kernel, index, id);
    Ok(())
}

/// Answers the receive that waits at connection `id`, if there is anything to
/// answer. The caller has checked for room in the completion queue.
pub(crate) fn continue_receive(kernel: &mut Kernel, index: ProcessIndex, id: SocketId) {
    let done = attempt(
        kernel,
        (index, id),
        |connection| &mut connection.receive,
        |network, process, receive| match receive_into(network, process, id, receive) {
            Received::Nothing => None,
            Received::Bytes(bytes) => Some(finish_message(process, &receive.ticket, bytes)),
            Received::Broken(raised) => Some(Reply::Raised(raised)),
        },
    );
    if let Some((receive, reply)) = done {
        answer(kernel, index, receive.ticket, reply);
    }
}

/// Tries the call that waits in a slot of a connection, if one does. It leaves
/// the slot with what came of it, or stays if nothing did.
fn attempt<W: Copy, R>(
    kernel: &mut Kernel,
    (index, id): (ProcessIndex, SocketId),
    slot: fn(&mut Connection) -> &mut Option<W>,
    body: impl FnOnce(&mut Network, &Process, &W) -> Option<R>,
) -> Option<(W, R)> {
    let Kernel {
        processes, network, ..
    } = kernel;
    let waiting = (*slot(network.connection_mut(id)?))?;
    let process = processes.get(index.0)?.as_ref()?;
    let outcome = body(network, process, &waiting)?;
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
    network: &mut Network,
    process: &Process,
    id: SocketId,
    receive: &Receive,
) -> Received {
    let room = usize::try_from(receive.longest).unwrap_or(0);
    let Some(range) = result_part(&receive.ticket, PREFIX, room) else {
        return Received::Broken(Raised::invalid("no room to receive a byte"));
    };
    let mut total = 0_u32;
    let mut end = None;
    let filled = user::with_writable(&process.space, range, |part| {
        match network.stack.recv(id, part) {
            Recv::Bytes(bytes) => {
                total = total.saturating_add(u32::try_from(bytes).unwrap_or(0));
                bytes == part.len()
            }
            other => {
                end = Some(other);
                false
            }
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
fn finish_message(process: &Process, ticket: &Ticket, bytes: u32) -> Reply<'static> {
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
            result_part(ticket, offset, part.len())
                .is_some_and(|range| user::write(&process.space, range, part).is_ok())
        });
    if written {
        Reply::InPlace(total)
    } else {
        Reply::Raised(Raised::invalid("the result buffer is gone"))
    }
}

fn start_send(
    kernel: &mut Kernel,
    index: ProcessIndex,
    id: SocketId,
    call: &Call,
) -> Result<(), Raised> {
    let Some(process) = kernel.process_mut(index) else {
        return Ok(());
    };
    let data = data_range(process, call)?;
    let connection = kernel.network.connection_mut(id).ok_or(CLOSED)?;
    if connection.send.is_some() {
        return Err(Raised::overloaded("another send waits"));
    }
    connection.send = Some(Send {
        ticket: call.ticket,
        data,
    });
    continue_send(kernel, index, id);
    Ok(())
}

/// Answers the send that waits at connection `id`, if there is room to send.
/// The caller has checked for room in the completion queue.
pub(crate) fn continue_send(kernel: &mut Kernel, index: ProcessIndex, id: SocketId) {
    let done = attempt(
        kernel,
        (index, id),
        |connection| &mut connection.send,
        |network, process, send| match send_from(network, process, id, send) {
            Ok(Sent::WouldBlock) => None,
            Ok(Sent::Bytes(bytes)) => Some(Ok(bytes)),
            Ok(Sent::Closed) => Some(Err(ENDED)),
            Ok(Sent::Reset) => Some(Err(RESET)),
            Ok(Sent::Stale) => Some(Err(CLOSED)),
            Err(raised) => Some(Err(raised)),
        },
    );
    match done {
        None => {}
        Some((send, Ok(bytes))) => {
            let message = SmallMessage::new(&[bytes as u64], &[]);
            answer(kernel, index, send.ticket, Reply::Message(message.bytes()));
        }
        Some((send, Err(raised))) => answer(kernel, index, send.ticket, Reply::Raised(raised)),
    }
}

/// Where in the caller's pages the bytes to send are; none for a send of no byte.
/// The common layout of the parameters is recognised by its prefix; any other is
/// read with the library, once: what waits for room is not copied again.
fn data_range(process: &Process, call: &Call) -> Result<Option<UserRange>, Raised> {
    let params = call.params.ok_or(params::MALFORMED)?;
    if let Some(data) = plain_data(process, params) {
        return Ok(Some(data));
    }
    params::range_of(&process.space, call, request::send_data)
}

/// Sends from the caller's pages.
fn send_from(
    network: &mut Network,
    process: &Process,
    id: SocketId,
    send: &Send,
) -> Result<Sent, Raised> {
    match send.data {
        Some(data) => send_range(network, process, id, data),
        None => Ok(network.stack.send(id, &[])),
    }
}

/// Where the data lies, if the parameters are one struct with one `Data` field
/// and at least one byte.
fn plain_data(process: &Process, params: UserRange) -> Option<UserRange> {
    let mut prefix = [0; DATA_PREFIX_BYTES];
    let head = UserRange::new(params.start(), PREFIX).ok()?;
    if params.length() <= PREFIX {
        return None;
    }
    user::read(&process.space, head, &mut prefix).ok()?;
    let bytes = data_length(&prefix)?;
    if data_message_bytes(bytes) > params.length() {
        return None;
    }
    UserRange::new(params.start().checked_add(u64::from(PREFIX))?, bytes).ok()
}

fn send_range(
    network: &mut Network,
    process: &Process,
    id: SocketId,
    data: UserRange,
) -> Result<Sent, Raised> {
    let mut total = 0_usize;
    let mut last = Sent::Bytes(0);
    user::with_readable(&process.space, data, |part| {
        last = network.stack.send(id, part);
        if let Sent::Bytes(bytes) = last {
            total = total.saturating_add(bytes);
            return bytes == part.len();
        }
        false
    })
    .map_err(|_| params::MALFORMED)?;
    Ok(if total > 0 { Sent::Bytes(total) } else { last })
}
