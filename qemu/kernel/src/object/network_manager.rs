//! NetworkManager: outgoing connections of in-guest clients, and the address
//! of the first card.

use core::net::{Ipv4Addr, SocketAddrV4};

use capos_config::capos_capnp::IpAddressFamily;
use harness_kernel::message::Blob;
use harness_kernel::request;
use harness_net::{ConnectError, ConnectState, SocketId, TransportId};

use super::listen::check_room;
use super::{Call, Object, SmallMessage, answer, params};
use crate::kernel::Kernel;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply};

/// Bytes of the message that `connectTcp` answers.
const CONNECT_BYTES: u32 = 24;

/// Calls a method of the manager.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    match call.method {
        0 => config(kernel, index, call),
        2 => {
            if let Err(raised) = start_connect(kernel, index, &call) {
                answer(kernel, index, call.ticket, Reply::Raised(raised));
            }
        }
        _ => answer(
            kernel,
            index,
            call.ticket,
            Reply::Raised(Raised::unimplemented()),
        ),
    }
}

/// Tells the first card's address, or the loopback's where there is no card.
fn config(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    let stack = &kernel.network.stack;
    let (address, mask, gateway) = match stack.transport_address(TransportId(1)) {
        Some(address) => {
            let [a, b, c, _] = address.octets();
            (address, [255, 255, 255, 0], [a, b, c, 2])
        }
        None => (Ipv4Addr::LOCALHOST, [255, 0, 0, 0], [0; 4]),
    };
    let message = SmallMessage::new(
        &[IpAddressFamily::Ipv4 as u64],
        &[
            Blob::Data(&address.octets()),
            Blob::Data(&mask),
            Blob::Data(&gateway),
        ],
    );
    answer(kernel, index, call.ticket, Reply::Message(message.bytes()));
}

fn start_connect(kernel: &mut Kernel, index: ProcessIndex, call: &Call) -> Result<(), Raised> {
    check_room(kernel, index, &call.ticket, CONNECT_BYTES)?;
    let Some(process) = kernel.process_mut(index) else {
        return Ok(());
    };
    let peer = params::with(&process.space, call, |message| {
        let (address, port) = request::peer(message)?;
        Ok(match *address {
            [a, b, c, d] => Ok(SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), port)),
            ref other if other.len() == 16 => Err(Raised::invalid("ipv6Unsupported")),
            _ => Err(Raised::invalid("malformedAddress")),
        })
    })??;
    let id = kernel
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
    let connection = kernel
        .network
        .add_connection(index, id, None)
        .ok_or(Raised::overloaded("the socket pool is exhausted"))?;
    connection.connect = Some(call.ticket);
    Ok(())
}

/// Answers the call that opens connection `id`, once it is decided. The caller
/// has checked for room in the completion queue.
pub(crate) fn continue_connect(kernel: &mut Kernel, index: ProcessIndex, id: SocketId) {
    let Some(ticket) = kernel
        .network
        .connection_mut(id)
        .and_then(|connection| connection.connect)
    else {
        return;
    };
    let state = kernel.network.stack.connect_state(id);
    if state == ConnectState::Connecting {
        return;
    }
    if let Some(connection) = kernel.network.connection_mut(id) {
        connection.connect = None;
    }
    let ready = match state {
        ConnectState::Connected => check_room(kernel, index, &ticket, CONNECT_BYTES),
        _ => Err(Raised::disconnected(
            "the connection was refused or timed out",
        )),
    };
    match ready {
        Ok(()) => {
            let message = SmallMessage::new(&[0], &[]);
            answer(
                kernel,
                index,
                ticket,
                Reply::WithCap(message.bytes(), Object::Socket(id)),
            );
        }
        Err(raised) => {
            kernel.network.close_connection(id);
            answer(kernel, index, ticket, Reply::Raised(raised));
        }
    }
}
