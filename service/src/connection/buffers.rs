//! The shape of the byte areas that connections and slots have, and of the windows onto them.
//!
//! Every area has room for a message frame in front of its payload and for word padding behind it,
//! because a capOS transfer is a capnp message whose payload sits between the two:
//!
//! ```text
//!   input area of a connection             output area of a slot or of a connection
//!   +--------+---------------------+----+  +--------+-----------------------+-----+
//!   | PREFIX | up to INPUT_BYTES   |tail|  | PREFIX | response bytes        | pad |
//!   +--------+---------------------+----+  +--------+-----------------------+-----+
//!            ^ the head starts here, parsed in place
//! ```
//!
//! Areas start on a word boundary, and so do all windows that are handed out.

use crate::wire;

pub use crate::connection::table::Buffers;

/// Bytes that a transfer's message frame takes in front of its payload: the segment table, the root
/// struct pointer and the data pointer of a message with one `Data` field.
pub const PREFIX: usize = wire::DATA_PREFIX_BYTES;

/// The size of a capnp word; payloads are padded to a whole number of words.
pub const WORD: usize = wire::WORD_BYTES;

/// Most bytes of input that a connection holds: the limit of a request head.
pub const INPUT_BYTES: usize = 8192;

/// Most bytes of one response that are in memory at once, the frame not counted.
pub const SLOT_BYTES: usize = 6144;

/// Most bytes of an answer that needs no slot: errors, denials, refusals.
pub const NOTE_BYTES: usize = 1024;

pub(crate) const INPUT_AREA: usize = PREFIX + INPUT_BYTES + 2 * WORD;
pub(crate) const SLOT_AREA: usize = PREFIX + SLOT_BYTES + WORD;
pub(crate) const NOTE_AREA: usize = PREFIX + NOTE_BYTES + WORD;

/// One area of bytes on a word boundary.
#[repr(C, align(8))]
pub(crate) struct Area<const BYTES: usize>(pub(crate) [u8; BYTES]);

/// Where the bytes of one receive go.
#[derive(Debug)]
pub struct ReceiveWindow<'a> {
    /// The whole message: [`PREFIX`] bytes of frame, then the payload, then padding to a word.
    /// Starts on a word boundary.
    pub message: &'a mut [u8],
    /// Most payload bytes that may be asked for; at least one.
    pub payload_max: usize,
}

/// Where the bytes of one send are.
#[derive(Debug)]
pub struct SendWindow<'a> {
    /// The whole message: [`PREFIX`] bytes for the frame, which the caller fills, then the payload,
    /// then zero padding to a word. Starts on a word boundary.
    pub message: &'a mut [u8],
    /// Payload bytes in it; at least one.
    pub payload: usize,
}
