//! Fixed Cap'n Proto layouts of the few capability calls on the serve path.
//!
//! A call's parameters are written straight into the buffer that the kernel
//! reads, and a result is read from the buffer that the kernel wrote, with no
//! builder and no allocation in between. Every layout here is checked against
//! the `capnp` crate, both ways, in `tests/wire.rs`.
//!
//! ```text
//! word 0   segment count - 1 (u32) | words in segment 0 (u32)
//! word 1   root struct pointer: data words (u16) | pointer words (u16)
//! word 2.. data section, then pointer section, then what they point to
//! ```
//!
//! Only single-segment messages are written, and only those are read: a far
//! pointer is refused as [`DecodeError::FarPointer`].
//!
//! `frame` writes parameters, `root` reads any message, `result` knows what each
//! method answers.

mod frame;
mod result;
mod root;
pub mod tag;

pub use frame::{
    DATA_PREFIX_BYTES, NO_PARAMS, ONE_WORD_BYTES, compare_params, frame_data, frame_text, one_word,
};
pub use result::{
    Compared, Exception, ExceptionKind, Identity, Listening, TRANSFER_RECORD_BYTES, Transfer,
    WallTime, bytes_sent, compared, exception, identity, listening, monotonic_ns, random_word,
    received, transfer, wall_time,
};
pub use root::{DecodeError, Root};

/// Bytes in a Cap'n Proto word.
pub const WORD_BYTES: usize = 8;
