//! Units: instants, spans, counts and bytes, so that no two of them can be confused.

use core::fmt;

/// A point on the caller's monotonic clock, in nanoseconds from any fixed origin.
///
/// The crate reads no clock: every instant is handed in. Where the clock may be
/// lost, an operation takes `Option<Instant>` and fails closed on `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// The clock's origin.
    pub const ZERO: Instant = Instant(0);
    /// Later than every other instant; as a deadline: no wish beyond the lane's own.
    pub const MAX: Instant = Instant(u64::MAX);

    /// The instant `ns` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Instant(ns)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// `self + span`, or [`Instant::MAX`] where the clock's range ends first.
    #[must_use]
    pub const fn after(self, span: Span) -> Self {
        Instant(self.0.saturating_add(span.0))
    }

    /// Time from `earlier` to `self`; zero if `earlier` is not earlier.
    #[must_use]
    pub const fn since(self, earlier: Instant) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span(u64);

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Span(ns)
    }

    /// `ms` milliseconds; the longest span if that does not fit.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Span(ms.saturating_mul(1_000_000))
    }

    /// `s` seconds; the longest span if that does not fit.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Span(s.saturating_mul(1_000_000_000))
    }

    /// The span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The span in whole seconds, rounded up.
    #[must_use]
    pub const fn as_secs_ceil(self) -> u64 {
        self.0.div_ceil(1_000_000_000)
    }
}

macro_rules! count {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name($int);

        impl $name {
            /// None.
            pub const ZERO: $name = $name(0);

            /// Wraps a plain number.
            #[must_use]
            pub const fn new(count: $int) -> Self {
                $name(count)
            }

            /// The plain number.
            #[must_use]
            pub const fn count(self) -> $int {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

count! {
    /// Units of serving capacity.
    Slots(u32)
}
count! {
    /// Places for admitted requests that wait for a slot.
    Tickets(u32)
}
count! {
    /// Requests outstanding on one connection.
    Requests(u32)
}
count! {
    /// Accepted connections.
    Connections(u32)
}
count! {
    /// Bytes of memory held for a request and its retained response.
    Bytes(u64)
}

/// Worst-case bytes that one request holds while it is outstanding; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IngressFootprint(core::num::NonZeroU64);

impl IngressFootprint {
    /// Request bytes plus retained response bytes. `None` for none at all, which no request
    /// holds.
    #[must_use]
    pub const fn new(bytes: Bytes) -> Option<Self> {
        match core::num::NonZeroU64::new(bytes.0) {
            Some(bytes) => Some(IngressFootprint(bytes)),
            None => None,
        }
    }

    /// The footprint in bytes.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes(self.0.get())
    }
}

/// The caller's own tag for a connection; the ledger only hands it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(pub u32);

/// How much of a bounded thing is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Occupancy {
    /// In use when the question was decided.
    pub in_use: u64,
    /// The bound.
    pub limit: u64,
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.in_use, self.limit)
    }
}
