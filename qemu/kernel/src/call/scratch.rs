//! The kernel's own memory for one call: its parameters are copied here before
//! anything is read, and its answer is laid down here before it is completed.
//! One call at a time is looked at, so one such memory is enough, and no call
//! allocates.
//!
//! Invariants: KERNEL-ONE-ANSWER.

use super::reply::{Raised, Reply};
use super::ticket::Call;
use crate::message::{Blob, encode};
use crate::request::{self, Message};
use crate::user_range::UserRange;
use crate::user_space::UserSpace;

/// Longest parameters, in bytes.
pub const PARAMS_MAX: u32 = 64 * 1024;
/// Longest answer, in bytes: the longest message of the day that validation lets
/// pass has room.
pub const ANSWER_MAX: usize = 4608;

/// What is raised for parameters that are no such message.
pub const MALFORMED: Raised = Raised::invalid("parameters are not the method's");
/// What is raised for a result that is longer than [`ANSWER_MAX`]: never is one
/// completed without its content.
const TOO_LARGE: Raised = Raised::failed("the result is too large");

/// Memory for one call.
pub struct Scratch {
    /// Its parameters.
    pub params: Params,
    /// Its answer.
    pub answer: Answer,
}

impl Scratch {
    /// Empty memory.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            params: Params([0; PARAMS_MAX as usize]),
            answer: Answer([0; ANSWER_MAX]),
        }
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

/// Memory for an answer.
pub struct Answer([u8; ANSWER_MAX]);

impl Answer {
    /// Lays a message down; see [`encode`].
    ///
    /// # Errors
    /// A result that has no room is the object's fault, and raised as such.
    pub fn message(&mut self, words: &[u64], blobs: &[Blob<'_>]) -> Result<&[u8], Raised> {
        let length = encode(&mut self.0, words, blobs).map_err(|_| TOO_LARGE)?;
        self.0.get(..length).ok_or(TOO_LARGE)
    }

    /// As [`Answer::message`], as a reply.
    ///
    /// # Errors
    /// As above.
    pub fn reply(&mut self, words: &[u64], blobs: &[Blob<'_>]) -> Result<Reply<'_>, Raised> {
        self.message(words, blobs).map(Reply::Message)
    }
}

/// Memory for parameters; messages begin at a word.
#[repr(C, align(8))]
pub struct Params([u8; PARAMS_MAX as usize]);

impl Params {
    /// Runs `body` on the message that the parameters of `call` hold. What `body`
    /// cannot read of it is the caller's fault, too.
    ///
    /// # Errors
    /// [`MALFORMED`].
    pub fn with<M, R>(
        &mut self,
        space: &impl UserSpace,
        call: &Call<M>,
        body: impl FnOnce(&Message<'_>) -> capnp::Result<R>,
    ) -> Result<R, Raised> {
        let message = request::message(self.copy(space, call)?).map_err(|_| MALFORMED)?;
        body(&message).map_err(|_| MALFORMED)
    }

    /// Where in the caller's pages the bytes of the message are that `body` finds;
    /// none if there are no bytes.
    ///
    /// # Errors
    /// [`MALFORMED`].
    pub fn range_of<M>(
        &mut self,
        space: &impl UserSpace,
        call: &Call<M>,
        body: impl for<'m> FnOnce(&'m Message<'_>) -> capnp::Result<&'m [u8]>,
    ) -> Result<Option<UserRange>, Raised> {
        let params = call.params.ok_or(MALFORMED)?;
        let bytes = self.copy(space, call)?;
        let start = bytes.as_ptr().addr();
        let message = request::message(bytes).map_err(|_| MALFORMED)?;
        let found = body(&message).map_err(|_| MALFORMED)?;
        let length = u32::try_from(found.len()).map_err(|_| MALFORMED)?;
        let offset = found.as_ptr().addr().wrapping_sub(start) as u64;
        Ok(UserRange::new(params.start().saturating_add(offset), length).ok())
    }

    fn copy<M>(&mut self, space: &impl UserSpace, call: &Call<M>) -> Result<&[u8], Raised> {
        let range = call.params.ok_or(MALFORMED)?;
        let length = usize::try_from(range.length()).map_err(|_| MALFORMED)?;
        let bytes = self.0.get_mut(..length).ok_or(MALFORMED)?;
        space.read(range, bytes).map_err(|_| MALFORMED)?;
        Ok(bytes)
    }
}
