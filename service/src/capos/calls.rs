//! Calls of the boot sequence: one at a time, each waited for.

use ingress_schema::{CAP_DISCRIMINATOR_COMPARE, CAP_DISCRIMINATOR_IDENTIFY};
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire::{self, DecodeError, Identity, Listening, WallTime};

use super::console::Console;
use super::fault::Fault;
use super::outcome::{self, CallFailure};
use super::ring::{Call, Completion, Ring, Span, Wait};
use super::{clock, listeners};

/// `TcpListenAuthority.listen`.
const LISTEN: u16 = 0;
/// `WallClock.wallTime`.
const WALL_TIME: u16 = 0;
/// `EntropySource.fill`.
const FILL: u16 = 0;
/// Room for a result with its transfer record, or an exception.
const RESULT_BYTES: usize = 512;

/// A call ends in a result, in a failure of that call, or in that of the process.
pub(super) type Answer<T> = Result<Result<T, CallFailure>, Fault>;

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
    pub(super) fn flush(&mut self) -> Result<(), Fault> {
        while !self.console.is_idle() {
            self.console.pump(self.ring)?;
            self.ring.enter(Wait::Forever)?;
            self.take()?;
        }
        Ok(())
    }

    /// Reads the monotonic clock, in nanoseconds.
    pub(super) fn now(&mut self, timer: CapId) -> Answer<u64> {
        let completion = self.call(timer, clock::NOW, &wire::NO_PARAMS)?;
        Ok(self.decode(completion, wire::monotonic_ns))
    }

    /// Reads the time of day.
    pub(super) fn wall_time(&mut self, wall_clock: CapId) -> Answer<WallTime> {
        let completion = self.call(wall_clock, WALL_TIME, &wire::NO_PARAMS)?;
        Ok(self.decode(completion, wire::wall_time))
    }

    /// Draws four random bytes.
    pub(super) fn random(&mut self, entropy: CapId) -> Answer<u32> {
        let completion = self.call(entropy, FILL, &wire::one_word(4))?;
        Ok(self.decode(completion, wire::random_word))
    }

    /// Asks what a slot refers to.
    pub(super) fn identify(&mut self, discriminator: CapId, subject: CapId) -> Answer<Identity> {
        let params = wire::one_word(u64::from(subject.0));
        let completion = self.call(discriminator, CAP_DISCRIMINATOR_IDENTIFY, &params)?;
        Ok(self.decode(completion, wire::identity))
    }

    /// Asks the kernel to compare what two slots refer to.
    pub(super) fn compare(
        &mut self,
        discriminator: CapId,
        left: CapId,
        right: CapId,
    ) -> Answer<wire::Compared> {
        let params = wire::compare_params(left.0, right.0);
        let completion = self.call(discriminator, CAP_DISCRIMINATOR_COMPARE, &params)?;
        Ok(self.decode(completion, wire::compared))
    }

    /// Binds a listener.
    pub(super) fn listen(&mut self, authority: CapId) -> Answer<(CapId, Listening)> {
        let completion = self.call(authority, LISTEN, &wire::NO_PARAMS)?;
        Ok(self
            .decode(completion, wire::listening)
            .and_then(|listening| {
                let listener = outcome::result_cap(
                    completion,
                    &self.result,
                    listening.listener_index,
                    listeners::INTERFACE,
                )?;
                Ok((listener, listening))
            }))
    }

    fn decode<T>(
        &self,
        completion: Completion,
        read: impl FnOnce(&[u8]) -> Result<T, DecodeError>,
    ) -> Result<T, CallFailure> {
        outcome::result(completion, &self.result)
            .and_then(|message| read(message).map_err(CallFailure::from))
    }

    fn call(&mut self, cap: CapId, method: u16, params: &[u8]) -> Result<Completion, Fault> {
        let call = Call {
            cap,
            method,
            params: Span::read(params),
            result: Span::write(&mut self.result),
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

    fn take(&mut self) -> Result<Option<Completion>, Fault> {
        let mut answer = None;
        while let Some(completion) = self.ring.pop()? {
            match completion.tag {
                Tag::Boot => answer = Some(completion),
                Tag::Console => self.console.written(),
                _ => return Err(Fault::UnknownCompletion),
            }
        }
        Ok(answer)
    }
}
