//! The one flat codec: small Cap'n Proto messages without a builder and without an allocation.
//!
//! What crosses the ring is a root struct of a few words and a few byte strings. A builder of
//! the library allocates, and its reader walks what it cannot know to be this simple; here a
//! message is laid down front to back into bytes that the caller owns, and read from the bytes
//! that the other side wrote.
//!
//! ```text
//! word 0   segment count - 1 (u32) | words in segment 0 (u32)
//! word 1   root struct pointer: data words (u16) | pointer words (u16)
//! word 2.. data section, then pointer section, then what they point to
//! ```
//!
//! One segment is all that is written and all that is read: [`DecodeError::ManySegments`] and
//! [`DecodeError::FarPointer`] refuse the rest. That is no loss between two sides that both
//! write this way. A reader of strangers' messages, who may lay them out as the format allows,
//! takes the library instead, as the kernel does for parameters.
//!
//! Every layout is held against the library's own encoding in `tests/flat.rs`, in both
//! directions, with values and with damage at random.

mod exception;
pub mod pointer;
mod read;
mod write;

pub use exception::{EXCEPTION_TEXT_MAX, Exception, ExceptionKind, encode_exception, exception};
pub use read::{DecodeError, Root};
pub use write::{
    Blob, DATA_PREFIX_BYTES, NO_PARAMS, NoRoom, ONE_WORD_BYTES, data_bytes_that_fit, data_length,
    data_message_bytes, data_prefix, encode, frame_data, frame_text, one_word,
};

/// Bytes in a word, the unit of every length and offset of the format.
pub const WORD_BYTES: usize = 8;
