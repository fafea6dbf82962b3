//! EntropySource: the processor's random numbers, or none.

use capos_config::capos_capnp::EntropyStatus;
use harness_kernel::message::Blob;
use harness_kernel::request;

use super::{Call, SmallMessage, answer, params};
use crate::cpu;
use crate::kernel::Kernel;
use crate::process::ProcessIndex;
use crate::syscall::complete::{Raised, Reply};

/// Most bytes that one call draws.
const BYTES_MAX: usize = 256;

/// Calls a method of the source.
pub(crate) fn call(kernel: &mut Kernel, index: ProcessIndex, call: Call) {
    let Some(process) = kernel.process_mut(index) else {
        return;
    };
    let wanted = if call.method == 0 {
        params::with(&process.space, &call, request::random_bytes)
    } else {
        Err(Raised::unimplemented())
    };
    let count = wanted.and_then(|bytes| {
        usize::try_from(bytes)
            .ok()
            .filter(|&bytes| bytes <= BYTES_MAX)
            .ok_or(Raised::invalid("more than 256 random bytes at once"))
    });
    match count {
        Err(raised) => answer(kernel, index, call.ticket, Reply::Raised(raised)),
        Ok(count) => {
            let mut random = [0; BYTES_MAX];
            let drawn = random.get_mut(..count).and_then(draw);
            let message = match drawn {
                Some(bytes) => SmallMessage::new(&[EntropyStatus::Ok as u64], &[Blob::Data(bytes)]),
                None => SmallMessage::new(&[EntropyStatus::Unavailable as u64], &[Blob::Data(&[])]),
            };
            answer(kernel, index, call.ticket, Reply::Message(message.bytes()));
        }
    }
}

/// Fills `bytes`, or gives nothing if the processor draws none.
fn draw(bytes: &mut [u8]) -> Option<&[u8]> {
    for chunk in bytes.chunks_mut(8) {
        let word = cpu::random_word()?;
        for (target, source) in chunk.iter_mut().zip(word.to_le_bytes()) {
            *target = source;
        }
    }
    cpu::has_random().then_some(bytes)
}
