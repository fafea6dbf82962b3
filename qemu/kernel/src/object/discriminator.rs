//! CapDiscriminator: what the caller's own slots refer to. Knows no other
//! process and gives away no authority.

use harness_kernel::cap_table::CapId;
use harness_kernel::request;
use ingress_schema::listen::{ListenBinding, Transport};

use super::{Call, Object, SmallMessage, answer, params};
use crate::kernel::Kernel;
use crate::process::{Process, ProcessIndex};
use crate::syscall::complete::{Raised, Reply};

const NO_TRANSPORT: u64 = 0xffff;

/// Calls a method of the discriminator.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    let words = match call.method {
        ingress_schema::CAP_DISCRIMINATOR_IDENTIFY => identify(kernel, index, &call),
        ingress_schema::CAP_DISCRIMINATOR_COMPARE => compare(kernel, index, &call),
        _ => Err(Raised::unimplemented()),
    };
    match words {
        Ok((words, count)) => {
            let message = SmallMessage::new(words.get(..count).unwrap_or(&[]), &[]);
            answer(kernel, index, call.ticket, Reply::Message(message.bytes()));
        }
        Err(raised) => answer(kernel, index, call.ticket, Reply::Raised(raised)),
    }
}

fn identify(
    kernel: &mut Kernel,
    index: ProcessIndex,
    call: &Call,
) -> Result<([u64; 2], usize), Raised> {
    let process = kernel.process_mut(index).ok_or(EMPTY_SLOT)?;
    let id = params::with(&process.space, call, request::identified)?;
    let object = held(process, id)?;
    let binding = match object {
        Object::ListenAuthority(which) => kernel.authorities.get(usize::from(which)).copied(),
        Object::Listener(listener) => kernel.network.binding_of(listener),
        _ => None,
    };
    Ok(([object.identity(), describe(binding)], 2))
}

/// Transport, port and wildcard, as they lie in the second word.
fn describe(binding: Option<ListenBinding>) -> u64 {
    binding.map_or(NO_TRANSPORT, |binding| {
        u64::from(binding.transport().id())
            | u64::from(binding.port().get()) << 32
            | u64::from(binding.transport() == Transport::Any) << 48
    })
}

fn compare(
    kernel: &mut Kernel,
    index: ProcessIndex,
    call: &Call,
) -> Result<([u64; 2], usize), Raised> {
    let process = kernel.process_mut(index).ok_or(EMPTY_SLOT)?;
    let [left, right] = params::with(&process.space, call, request::compared)?;
    let same = held(process, left)? == held(process, right)?;
    Ok(([u64::from(same), 0], 1))
}

const EMPTY_SLOT: Raised = Raised::invalid("the slot is empty");

fn held(process: &Process, id: u32) -> Result<Object, Raised> {
    process
        .caps
        .find(CapId::from_wire(id))
        .map_err(|_| EMPTY_SLOT)
}
