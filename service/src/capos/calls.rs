//! Calls of the boot sequence: one at a time, each waited for.

use ingress_schema::{CAP_DISCRIMINATOR_COMPARE, CAP_DISCRIMINATOR_IDENTIFY};
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire::{self, DecodeError, Identity, Listening, WallTime};

use super::console::Console;
use super::fatal::Fatal;
use super::outcome::{self, CallFailure};
use super::ring::{Call, Completion, Memory, Ring, Wait};
use super::{clock, jobs, listeners};

/// `TcpListenAuthority.listen`.
const LISTEN: u16 = 0;
/// `EntropySource.fill`.
const FILL: u16 = 0;
/// Room for a result with its transfer record, or an exception.
const RESULT_BYTES: usize = 512;

/// A call of the boot sequence gave no result: that call failed, or the process is at its end.
pub(super) enum CallError {
    Call(CallFailure),
    Process(Fatal),
}

impl From<CallFailure> for CallError {
    fn from(failure: CallFailure) -> Self {
        Self::Call(failure)
    }
}

impl From<Fatal> for CallError {
    fn from(fatal: Fatal) -> Self {
        Self::Process(fatal)
    }
}

/// What can be done without: its absence, where the call failed.
pub(super) fn optional<T>(result: Result<T, CallError>) -> Result<Option<T>, Fatal> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(CallError::Call(_)) => Ok(None),
        Err(CallError::Process(fatal)) => Err(fatal),
    }
}

/// The ring while one call at a time is made on it. The console's lines go out
/// beside that.
pub(super) struct Calls<'a> {
    ring: &'a mut Ring,
    console: &'a mut Console,
    result: [u8; RESULT_BYTES],
}

impl<'a> Calls<'a> {
    /// Takes the ring for the boot sequence.
    pub(super) const fn new(ring: &'a mut Ring, console: &'a mut Console) -> Self {
        Self {
            ring,
            console,
            result: [0; RESULT_BYTES],
        }
    }

    /// The console, whose lines leave with the next call or [`Calls::flush`].
    pub(super) fn console(&mut self) -> &mut Console {
        self.console
    }

    /// Waits until every line is out.
    pub(super) fn flush(&mut self) -> Result<(), Fatal> {
        while !self.console.is_idle() {
            self.console.pump(self.ring)?;
            self.ring.enter(Wait::Forever)?;
            self.take()?;
        }
        Ok(())
    }

    /// Reads the monotonic clock, in nanoseconds.
    pub(super) fn now(&mut self, timer: CapId) -> Result<u64, CallError> {
        let completion = self.call(timer, clock::NOW, &wire::NO_PARAMS)?;
        self.decode(completion, wire::monotonic_ns)
    }

    /// Reads the time of day.
    pub(super) fn wall_time(&mut self, wall_clock: CapId) -> Result<WallTime, CallError> {
        let completion = self.call(wall_clock, jobs::WALL_TIME, &wire::NO_PARAMS)?;
        self.decode(completion, wire::wall_time)
    }

    /// Draws four random bytes.
    pub(super) fn random(&mut self, entropy: CapId) -> Result<u32, CallError> {
        let completion = self.call(entropy, FILL, &wire::one_word(4))?;
        self.decode(completion, wire::random_word)
    }

    /// Asks what a slot refers to.
    pub(super) fn identify(
        &mut self,
        discriminator: CapId,
        subject: CapId,
    ) -> Result<Identity, CallError> {
        let params = wire::one_word(u64::from(subject.0));
        let completion = self.call(discriminator, CAP_DISCRIMINATOR_IDENTIFY, &params)?;
        self.decode(completion, wire::identity)
    }

    /// Asks the kernel to compare what two slots refer to.
    pub(super) fn compare(
        &mut self,
        discriminator: CapId,
        left: CapId,
        right: CapId,
    ) -> Result<wire::Compared, CallError> {
        let params = wire::compare_params(left.0, right.0);
        let completion = self.call(discriminator, CAP_DISCRIMINATOR_COMPARE, &params)?;
        self.decode(completion, wire::compared)
    }

    /// Binds a listener.
    pub(super) fn listen(&mut self, authority: CapId) -> Result<(CapId, Listening), CallError> {
        let completion = self.call(authority, LISTEN, &wire::NO_PARAMS)?;
        let listening = self.decode(completion, wire::listening)?;
        let index = listening.listener_index;
        let listener = outcome::result_cap(completion, &self.result, index, listeners::INTERFACE)?;
        Ok((listener, listening))
    }

    fn decode<T>(
        &self,
        completion: Completion,
        read: impl FnOnce(&[u8]) -> Result<T, DecodeError>,
    ) -> Result<T, CallError> {
        let message = outcome::result(completion, &self.result)?;
        Ok(read(message).map_err(CallFailure::from)?)
    }

    fn call(&mut self, cap: CapId, method: u16, params: &[u8]) -> Result<Completion, Fatal> {
        let call = Call {
            cap,
            method,
            params: Memory::read(params),
            result: Memory::write(&mut self.result),
            tag: Tag::Boot,
        };
        // SAFETY: this function does not return before the completion is taken,
        // and both memories outlive it.
        unsafe { self.ring.push(call) }?;
        loop {
            self.console.pump(self.ring)?;
            self.ring.enter(Wait::Forever)?;
            if let Some(completion) = self.take()? {
                return Ok(completion);
            }
        }
    }

    fn take(&mut self) -> Result<Option<Completion>, Fatal> {
        let mut answer = None;
        while let Some(completion) = self.ring.pop()? {
            match completion.tag {
                Tag::Boot => answer = Some(completion),
                Tag::Console => self.console.written(),
                _ => return Err(Fatal::UnknownCompletion),
            }
        }
        Ok(answer)
    }
}
