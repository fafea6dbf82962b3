//! The stack's clock: monotonic nanoseconds since boot, given by the caller.

use core::time::Duration;
use smoltcp::time::Instant as WireInstant;

/// A monotonic instant in nanoseconds since boot. The stack has no clock of its
/// own; an instant earlier than one already seen is treated as that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

const NANOS_PER_MICRO: u64 = 1_000;

impl Instant {
    /// The instant `nanos` after boot.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The instant `millis` after boot.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since boot.
    #[must_use]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// This instant plus `delay`, at most the end of time.
    #[must_use]
    pub fn after(self, delay: Duration) -> Self {
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// This instant plus `nanos`, at most the end of time.
    pub(crate) const fn after_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// Nanoseconds from `earlier` to here; zero if `earlier` is later.
    pub(crate) const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Time from `earlier` to here; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The same instant for smoltcp, which counts signed microseconds.
    pub(crate) fn wire(self) -> WireInstant {
        WireInstant::from_micros(i64::try_from(self.0 / NANOS_PER_MICRO).unwrap_or(i64::MAX))
    }

    /// The instant that smoltcp means, rounded up so that a wait ends after it.
    pub(crate) fn from_wire(instant: WireInstant) -> Self {
        let micros = u64::try_from(instant.total_micros()).unwrap_or(0);
        Self(micros.saturating_mul(NANOS_PER_MICRO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_rounds_down_and_back_never_early_beyond_a_microsecond() {
        let instant = Instant::from_nanos(1_234_567);
        let back = Instant::from_wire(instant.wire());
        assert_eq!(back.nanos(), 1_234_000);
    }

    #[test]
    fn after_saturates() {
        let end = Instant::from_nanos(u64::MAX);
        assert_eq!(end.after(Duration::from_secs(1)), end);
        assert_eq!(Instant::from_millis(2).since(end), Duration::ZERO);
    }
}
