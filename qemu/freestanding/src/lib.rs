//! freestanding.
