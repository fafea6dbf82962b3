//! Parameters: copied out of the caller's memory before anything is read.

use harness_kernel::request::{self, Message};
use harness_kernel::user_range::UserRange;

use super::Call;
use crate::cell::KernelCell;
use crate::memory::address_space::AddressSpace;
use crate::memory::user;
use crate::syscall::complete::Raised;
use crate::syscall::submit::PARAMS_MAX;

#[repr(C, align(8))]
struct Buffer([u8; PARAMS_MAX as usize]);

static BUFFER: KernelCell<Buffer> = KernelCell::new(Buffer([0; PARAMS_MAX as usize]));

/// What is raised for parameters that are no such message.
pub(crate) const MALFORMED: Raised = Raised::invalid("parameters are not the method's");

/// Runs `body` on the message that the parameters of `call` hold. What `body`
/// cannot read of it is the caller's fault, too.
pub(crate) fn with<R>(
    space: &AddressSpace,
    call: &Call,
    body: impl FnOnce(&Message<'_>) -> capnp::Result<R>,
) -> Result<R, Raised> {
    copied(space, call, |bytes| {
        let message = request::message(bytes).map_err(|_| MALFORMED)?;
        body(&message).map_err(|_| MALFORMED)
    })
}

/// Where in the caller's pages the bytes of the message are that `body` finds;
/// none if there are no bytes.
pub(crate) fn range_of(
    space: &AddressSpace,
    call: &Call,
    body: impl for<'m> FnOnce(&'m Message<'_>) -> capnp::Result<&'m [u8]>,
) -> Result<Option<UserRange>, Raised> {
    let params = call.params.ok_or(MALFORMED)?;
    copied(space, call, |bytes| {
        let start = bytes.as_ptr().addr();
        let message = request::message(bytes).map_err(|_| MALFORMED)?;
        let found = body(&message).map_err(|_| MALFORMED)?;
        let length = u32::try_from(found.len()).map_err(|_| MALFORMED)?;
        let offset = found.as_ptr().addr().wrapping_sub(start) as u64;
        Ok(UserRange::new(params.start().saturating_add(offset), length).ok())
    })
}

fn copied<R>(
    space: &AddressSpace,
    call: &Call,
    body: impl FnOnce(&[u8]) -> Result<R, Raised>,
) -> Result<R, Raised> {
    let range = call.params.ok_or(MALFORMED)?;
    BUFFER.with(|buffer| {
        let length = usize::try_from(range.length()).map_err(|_| MALFORMED)?;
        let bytes = buffer.0.get_mut(..length).ok_or(MALFORMED)?;
        user::read(space, range, bytes).map_err(|_| MALFORMED)?;
        body(bytes)
    })
}
