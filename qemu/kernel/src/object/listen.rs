//! TcpListenAuthority and TcpListener: from the authority to a listener, and
//! from a listener to connections.

use harness_kernel::message::Blob;
use harness_net::{Accept, Binding, ListenError, ListenOptions, ListenerId, TransportId};
use ingress_schema::listen::{ListenBinding, Transport};

use super::{Call, Object, SmallMessage, answer};
use crate::kernel::Kernel;
use crate::network::ACCEPTS_MAX;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply, Ticket, fits_with_cap};

/// Bytes of the message that `listen` answers.
const LISTEN_BYTES: u32 = 24;
/// Bytes of the message that `accept` answers.
const ACCEPT_BYTES: u32 = 40;

/// Calls a method of authority `which`.
pub(crate) fn call_authority(kernel: &mut Kernel, index: ProcessIndex, which: u16, call: Call) {
    let listened = if call.method == 0 {
        listen(kernel, index, which, &call.ticket)
    } else {
        Err(Raised::unimplemented())
    };
    match listened {
        Ok((id, port)) => {
            let message = SmallMessage::new(&[u64::from(port) << 16], &[]);
            let reply = Reply::WithCap(message.bytes(), Object::Listener(id));
            answer(kernel, index, call.ticket, reply);
        }
        Err(raised) => answer(kernel, index, call.ticket, Reply::Raised(raised)),
    }
}

fn listen(
    kernel: &mut Kernel,
    index: ProcessIndex,
    which: u16,
    ticket: &Ticket,
) -> Result<(ListenerId, u16), Raised> {
    check_room(kernel, index, ticket, LISTEN_BYTES)?;
    let binding = *kernel
        .authorities
        .get(usize::from(which))
        .ok_or(Raised::failed("the authority is not bound"))?;
    let (wanted, options) = resolve(binding);
    let port = binding.port().get();
    let id = kernel
        .network
        .stack
        .listen(wanted, port, options)
        .map_err(|error| match error {
            ListenError::InUse => Raised::failed("this authority is listening already"),
            ListenError::TooMany | ListenError::ReserveUnavailable => {
                Raised::overloaded(error.explain())
            }
            other => Raised::failed(other.explain()),
        })?;
    kernel.network.add_listener(index, id, binding);
    Ok((id, port))
}

/// The stack's words for a binding.
pub(crate) fn resolve(binding: ListenBinding) -> (Binding, ListenOptions) {
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

/// Checks that a new capability can be given and told of, before anything is
/// taken for it.
pub(crate) fn check_room(
    kernel: &mut Kernel,
    index: ProcessIndex,
    ticket: &Ticket,
    message_bytes: u32,
) -> Result<(), Raised> {
    let has_slot = kernel
        .process_mut(index)
        .is_some_and(|process| process.caps.has_room());
    if !has_slot {
        return Err(Raised::overloaded("the capability table is full"));
    }
    if !fits_with_cap(ticket, message_bytes) {
        return Err(Raised::invalid(
            "the result buffer is too small for a capability",
        ));
    }
    Ok(())
}

/// Calls a method of listener `id`.
pub(crate) fn call_listener(kernel: &mut Kernel, index: ProcessIndex, id: ListenerId, call: Call) {
    match call.method {
        0 => start_accept(kernel, index, id, call.ticket),
        1 => {
            kernel.close_listener(index, id);
            answer(kernel, index, call.ticket, Reply::Void);
        }
        _ => answer(
            kernel,
            index,
            call.ticket,
            Reply::Raised(Raised::unimplemented()),
        ),
    }
}

fn start_accept(kernel: &mut Kernel, index: ProcessIndex, id: ListenerId, ticket: Ticket) {
    let Some(listener) = kernel.network.listener_mut(id) else {
        let gone = Raised::disconnected("the listener is closed");
        answer(kernel, index, ticket, Reply::Raised(gone));
        return;
    };
    if listener.accepts.len() >= ACCEPTS_MAX {
        let many = Raised::overloaded("too many accepts wait at this listener");
        answer(kernel, index, ticket, Reply::Raised(many));
        return;
    }
    listener.accepts.push_back(ticket);
    // A ready list, not an answer at once: what waits longest is served first.
    if listener.accepts.len() == 1 {
        kernel.network.listener_is_ready(id);
    }
}

/// Answers one accept that waits at listener `id`, if it can be answered.
/// The caller has checked for room in the completion queue.
pub(crate) fn continue_accept(kernel: &mut Kernel, index: ProcessIndex, id: ListenerId) {
    let Some(ticket) = kernel
        .network
        .listener_mut(id)
        .and_then(|listener| listener.accepts.front().copied())
    else {
        return;
    };
    if let Err(raised) = check_room(kernel, index, &ticket, ACCEPT_BYTES) {
        take_front(kernel, id);
        answer(kernel, index, ticket, Reply::Raised(raised));
        return;
    }
    match kernel.network.stack.accept(id) {
        Accept::WouldBlock => {}
        Accept::Stale => {
            take_front(kernel, id);
            let gone = Raised::disconnected("the listener is closed");
            answer(kernel, index, ticket, Reply::Raised(gone));
        }
        Accept::Connection(accepted) => {
            take_front(kernel, id);
            kernel
                .network
                .add_connection(index, accepted.socket, Some(accepted.transport));
            let port = u64::from(accepted.peer.port()) << 16;
            let address = accepted.peer.ip().octets();
            let message = SmallMessage::new(&[port], &[Blob::Data(&address)]);
            let reply = Reply::WithCap(message.bytes(), Object::Socket(accepted.socket));
            answer(kernel, index, ticket, reply);
        }
    }
}

/// Takes the oldest accept; the others get their turn.
fn take_front(kernel: &mut Kernel, id: ListenerId) {
    let others = kernel.network.listener_mut(id).is_some_and(|listener| {
        listener.accepts.pop_front();
        !listener.accepts.is_empty()
    });
    if others {
        kernel.network.listener_is_ready(id);
    }
}
