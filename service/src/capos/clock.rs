//! The monotonic clock, read once a turn through its capability (INV-CLOCK: no
//! other source of time, and none at all when the capability gives none).

use ingress_ledger::Instant;
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::server::Now;
use remote_session_web_ui::tag::Tag;
use remote_session_web_ui::wire;

use super::outcome;
use super::ring::{Call, Completion, Memory};

/// `Timer.now`.
pub(super) const NOW: u16 = 0;

/// The clock and its last reading.
#[repr(C, align(8))]
pub(super) struct Clock {
    result: [u8; 64],
    cap: CapId,
    is_asked: bool,
    now: Now,
}

impl Clock {
    /// A clock that was last read as `now`.
    pub(super) const fn new(cap: CapId, now: Instant) -> Self {
        Self {
            result: [0; 64],
            cap,
            is_asked: false,
            now: Some(now),
        }
    }

    /// The last reading; `None` if the clock could not be read.
    pub(super) const fn now(&self) -> Now {
        self.now
    }

    /// The call that reads the clock, unless one is on its way.
    pub(super) fn ask(&mut self) -> Option<Call> {
        if self.is_asked {
            return None;
        }
        self.is_asked = true;
        Some(Call {
            cap: self.cap,
            method: NOW,
            params: Memory::read(&wire::NO_PARAMS),
            result: Memory::write(&mut self.result),
            tag: Tag::Clock,
        })
    }

    /// Takes the answer.
    pub(super) fn answered(&mut self, completion: Completion) {
        self.is_asked = false;
        self.now = outcome::result(completion, &self.result)
            .ok()
            .and_then(|message| wire::monotonic_ns(message).ok())
            .map(Instant::from_nanos);
    }
}
