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

/// Bytes in a Cap'n Proto word.
pub const WORD_BYTES: usize = 8;
/// Bytes before the payload of a one-`Data` message (`send`, `recv` results).
pub const DATA_PREFIX_BYTES: usize = 24;
/// Bytes of a message that carries one data word and nothing else.
pub const ONE_WORD_BYTES: usize = 24;
/// Bytes of one transferred-capability record behind a result.
pub const TRANSFER_RECORD_BYTES: usize = 16;

/// Parameters of every method that takes none.
///
/// A struct of no words is written with a pointer offset of -1, so that it
/// cannot be taken for null.
pub const NO_PARAMS: [u8; 16] = [
    0, 0, 0, 0, 1, 0, 0, 0, // one segment of one word
    0xfc, 0xff, 0xff, 0xff, 0, 0, 0, 0, // empty struct
];

/// Why a result could not be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DecodeError {
    /// Shorter than its own segment table says, or than a table at all.
    Truncated,
    /// More than one segment.
    ManySegments,
    /// The root is not a struct pointer, or a field is not a byte list.
    WrongPointerKind,
    /// A pointer that leads into another segment.
    FarPointer,
    /// A pointer that leads out of the message.
    OutOfBounds,
    /// Text that is not UTF-8 or not NUL-terminated.
    InvalidText,
    /// A value that the schema does not define.
    UnknownValue,
}

impl DecodeError {
    /// The reason in words, for the console.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Truncated => "message is truncated",
            Self::ManySegments => "message has several segments",
            Self::WrongPointerKind => "pointer has the wrong kind",
            Self::FarPointer => "message has a far pointer",
            Self::OutOfBounds => "pointer leads out of the message",
            Self::InvalidText => "text is not NUL-terminated UTF-8",
            Self::UnknownValue => "value is not in the schema",
        }
    }
}

fn put_word(out: &mut [u8], index: usize, value: u64) -> Option<()> {
    let start = index.checked_mul(WORD_BYTES)?;
    let end = start.checked_add(WORD_BYTES)?;
    out.get_mut(start..end)?
        .copy_from_slice(&value.to_le_bytes());
    Some(())
}

const fn segment_table(words: u32) -> u64 {
    (words as u64) << 32
}

/// A message of one data word: `recv(maxLen)`, `identify(capId)`,
/// `compare(left, right)` with `left` in the low half.
#[must_use]
pub const fn one_word(value: u64) -> [u8; ONE_WORD_BYTES] {
    let table = segment_table(2).to_le_bytes();
    let root = (1_u64 << 32).to_le_bytes();
    let data = value.to_le_bytes();
    let mut out = [0; ONE_WORD_BYTES];
    let (head, rest) = out.split_at_mut(WORD_BYTES);
    head.copy_from_slice(&table);
    let (middle, tail) = rest.split_at_mut(WORD_BYTES);
    middle.copy_from_slice(&root);
    tail.copy_from_slice(&data);
    out
}

/// Parameters of `compare(left, right)`.
#[must_use]
pub const fn compare_params(left: u32, right: u32) -> [u8; ONE_WORD_BYTES] {
    one_word(left as u64 | ((right as u64) << 32))
}

/// Writes the three words before `payload_bytes` of `Data` (`send`, `write`).
///
/// The payload itself belongs at [`DATA_PREFIX_BYTES`]. Returns the length of
/// the whole message, padding to a word included, or `None` if `out` is too
/// short for it. The padding is zeroed.
pub fn frame_data(out: &mut [u8], payload_bytes: usize) -> Option<usize> {
    frame_bytes(out, payload_bytes, payload_bytes)
}

/// The same for `Text`: the list is one byte longer, and that byte is NUL.
pub fn frame_text(out: &mut [u8], text_bytes: usize) -> Option<usize> {
    frame_bytes(out, text_bytes, text_bytes.checked_add(1)?)
}

fn frame_bytes(out: &mut [u8], payload_bytes: usize, list_bytes: usize) -> Option<usize> {
    let list_words = list_bytes.div_ceil(WORD_BYTES);
    let message_bytes = list_words
        .checked_mul(WORD_BYTES)?
        .checked_add(DATA_PREFIX_BYTES)?;
    let padding_start = payload_bytes.checked_add(DATA_PREFIX_BYTES)?;
    out.get_mut(padding_start..message_bytes)?.fill(0);
    let segment_words = u32::try_from(list_words.checked_add(2)?).ok()?;
    let list_count = u32::try_from(list_bytes).ok().filter(|n| *n < 1 << 29)?;
    put_word(out, 0, segment_table(segment_words))?;
    put_word(out, 1, 1 << 48)?;
    // List pointer: kind 1, offset 0, then element size 2 (one byte) and count.
    put_word(out, 2, 1 | (2 << 32) | (u64::from(list_count) << 35))?;
    Some(message_bytes)
}

/// A whole `writeLine(text)` message into `out`; `None` if it does not fit.
pub fn write_line(out: &mut [u8], text: &[u8]) -> Option<usize> {
    let end = DATA_PREFIX_BYTES.checked_add(text.len())?;
    out.get_mut(DATA_PREFIX_BYTES..end)?.copy_from_slice(text);
    frame_text(out, text.len())
}

/// A bounded view of a result's root struct.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a> {
    segment: &'a [u8],
    data: &'a [u8],
    pointers_start: usize,
    pointers: usize,
}

impl<'a> Root<'a> {
    /// Finds the root struct of a single-segment message.
    pub fn parse(message: &'a [u8]) -> Result<Self, DecodeError> {
        let table = read_word(message, 0).ok_or(DecodeError::Truncated)?;
        let (segments_less_one, words) = halves(table);
        if segments_less_one != 0 {
            return Err(DecodeError::ManySegments);
        }
        let segment_bytes = usize::try_from(words)
            .ok()
            .and_then(|words| words.checked_mul(WORD_BYTES))
            .ok_or(DecodeError::Truncated)?;
        let segment = message
            .get(WORD_BYTES..)
            .and_then(|body| body.get(..segment_bytes))
            .ok_or(DecodeError::Truncated)?;
        let pointer = read_word(segment, 0).ok_or(DecodeError::Truncated)?;
        if pointer == 0 {
            return Ok(Self {
                segment,
                data: &[],
                pointers_start: 0,
                pointers: 0,
            });
        }
        let (low, high) = halves(pointer);
        match low & 3 {
            0 => {}
            2 => return Err(DecodeError::FarPointer),
            _ => return Err(DecodeError::WrongPointerKind),
        }
        let data_bytes = bytes_of_words(high & 0xffff)?;
        let pointers = usize::try_from(high >> 16).map_err(|_| DecodeError::OutOfBounds)?;
        let start = target(0, low)?;
        let pointers_start = start
            .checked_add(data_bytes)
            .ok_or(DecodeError::OutOfBounds)?;
        let pointers_bytes = bytes_of_words(high >> 16)?;
        let end = pointers_start
            .checked_add(pointers_bytes)
            .ok_or(DecodeError::OutOfBounds)?;
        let data = segment
            .get(start..pointers_start)
            .ok_or(DecodeError::OutOfBounds)?;
        if end > segment.len() {
            return Err(DecodeError::OutOfBounds);
        }
        Ok(Self {
            segment,
            data,
            pointers_start,
            pointers,
        })
    }

    /// The 64-bit field in data word `index`; zero where the sender's struct
    /// is shorter, as the format demands.
    #[must_use]
    pub fn u64_at(&self, index: usize) -> u64 {
        read_word(self.data, index).unwrap_or(0)
    }

    /// The `half`-th 32-bit field, counted from the start of the data section.
    #[must_use]
    pub fn u32_at(&self, half: usize) -> u32 {
        let (low, high) = halves(self.u64_at(half / 2));
        if half.is_multiple_of(2) { low } else { high }
    }

    /// The `quarter`-th 16-bit field.
    #[must_use]
    pub fn u16_at(&self, quarter: usize) -> u16 {
        let half = self.u32_at(quarter / 2);
        let [b0, b1, b2, b3] = half.to_le_bytes();
        if quarter.is_multiple_of(2) {
            u16::from_le_bytes([b0, b1])
        } else {
            u16::from_le_bytes([b2, b3])
        }
    }

    /// Bit `bit` of the data section.
    #[must_use]
    pub fn bool_at(&self, bit: usize) -> bool {
        let byte = self.data.get(bit / 8).copied().unwrap_or(0);
        u32::try_from(bit % 8).is_ok_and(|shift| byte.checked_shr(shift).unwrap_or(0) & 1 == 1)
    }

    /// The `Data` field behind pointer `index`; empty where it is null or absent.
    pub fn data_at(&self, index: usize) -> Result<&'a [u8], DecodeError> {
        if index >= self.pointers {
            return Ok(&[]);
        }
        let at = index
            .checked_mul(WORD_BYTES)
            .and_then(|offset| offset.checked_add(self.pointers_start))
            .ok_or(DecodeError::OutOfBounds)?;
        let pointer = self
            .segment
            .get(at..)
            .and_then(|rest| read_word(rest, 0))
            .ok_or(DecodeError::OutOfBounds)?;
        if pointer == 0 {
            return Ok(&[]);
        }
        let (low, high) = halves(pointer);
        match low & 3 {
            1 => {}
            2 => return Err(DecodeError::FarPointer),
            _ => return Err(DecodeError::WrongPointerKind),
        }
        if high & 7 != 2 {
            return Err(DecodeError::WrongPointerKind);
        }
        let count = usize::try_from(high >> 3).map_err(|_| DecodeError::OutOfBounds)?;
        let start = target(at, low)?;
        let end = start.checked_add(count).ok_or(DecodeError::OutOfBounds)?;
        self.segment.get(start..end).ok_or(DecodeError::OutOfBounds)
    }

    /// The `Text` field behind pointer `index`, without its NUL.
    pub fn text_at(&self, index: usize) -> Result<&'a str, DecodeError> {
        let bytes = self.data_at(index)?;
        match bytes.split_last() {
            None => Ok(""),
            Some((0, text)) => core::str::from_utf8(text).map_err(|_| DecodeError::InvalidText),
            Some(_) => Err(DecodeError::InvalidText),
        }
    }
}

fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
    (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    )
}

fn read_word(bytes: &[u8], index: usize) -> Option<u64> {
    let start = index.checked_mul(WORD_BYTES)?;
    let word = bytes.get(start..)?.first_chunk::<WORD_BYTES>()?;
    Some(u64::from_le_bytes(*word))
}

fn bytes_of_words(words: u32) -> Result<usize, DecodeError> {
    usize::try_from(words)
        .ok()
        .and_then(|words| words.checked_mul(WORD_BYTES))
        .ok_or(DecodeError::OutOfBounds)
}

/// Where a pointer at byte `at` leads: the signed word offset in the upper 30
/// bits of its low half counts from the word after the pointer.
fn target(at: usize, low: u32) -> Result<usize, DecodeError> {
    let words = isize::try_from(low.cast_signed() >> 2).map_err(|_| DecodeError::OutOfBounds)?;
    let bytes = words.checked_mul(8).ok_or(DecodeError::OutOfBounds)?;
    at.checked_add(WORD_BYTES)
        .and_then(|next| next.checked_add_signed(bytes))
        .ok_or(DecodeError::OutOfBounds)
}

/// What an accepted connection came with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Accepted {
    /// Index of the socket among the transferred capabilities.
    pub socket_index: u16,
    /// Peer address, zero-filled where the kernel gave fewer than four bytes.
    pub peer_address: [u8; 4],
    /// Peer port.
    pub peer_port: u16,
}

/// Reads the result of `TcpListener.accept`.
pub fn accepted(message: &[u8]) -> Result<Accepted, DecodeError> {
    let root = Root::parse(message)?;
    let address = root.data_at(0)?;
    Ok(Accepted {
        socket_index: root.u16_at(0),
        peer_address: address.first_chunk::<4>().copied().unwrap_or([0; 4]),
        peer_port: root.u16_at(1),
    })
}

/// What `TcpListenAuthority.listen` bound.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Listening {
    /// Index of the listener among the transferred capabilities.
    pub listener_index: u16,
    /// The port that was bound.
    pub port: u16,
}

/// Reads the result of `TcpListenAuthority.listen`.
pub fn listening(message: &[u8]) -> Result<Listening, DecodeError> {
    let root = Root::parse(message)?;
    Ok(Listening {
        listener_index: root.u16_at(0),
        port: root.u16_at(1),
    })
}

/// What a listen authority is bound to, as the kernel's discriminator tells it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Identity {
    /// The kernel's own name of the object; two capabilities to one object
    /// have one.
    pub object_id: u64,
    /// Transport of the binding.
    pub transport_id: u32,
    /// Port of the binding.
    pub port: u16,
    /// Whether the binding covers every transport.
    pub wildcard: bool,
}

/// Reads the result of `CapDiscriminator.identify`.
pub fn identity(message: &[u8]) -> Result<Identity, DecodeError> {
    let root = Root::parse(message)?;
    Ok(Identity {
        object_id: root.u64_at(0),
        transport_id: root.u32_at(2),
        port: root.u16_at(6),
        wildcard: root.bool_at(112),
    })
}

/// Reads the result of `CapDiscriminator.compare`.
pub fn same(message: &[u8]) -> Result<bool, DecodeError> {
    Ok(Root::parse(message)?.bool_at(0))
}

/// Reads the monotonic nanoseconds of `Timer.now`.
pub fn monotonic_ns(message: &[u8]) -> Result<u64, DecodeError> {
    Ok(Root::parse(message)?.u64_at(0))
}

/// A reading of the time of day.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WallTime {
    /// Seconds since 1970, UTC.
    pub unix_seconds: u64,
    /// The monotonic clock at that time.
    pub monotonic_ns: u64,
}

/// Reads the result of `WallClock.wallTime`.
///
/// # Errors
/// [`DecodeError::UnknownValue`] for a time that the kernel itself does not
/// trust, that has no meaning here, or that lies before 1970.
pub fn wall_time(message: &[u8]) -> Result<WallTime, DecodeError> {
    const UNTRUSTED: u16 = 0;
    let root = Root::parse(message)?;
    let provenance = root.u16_at(6);
    if provenance == UNTRUSTED || provenance > 4 {
        return Err(DecodeError::UnknownValue);
    }
    let unix_seconds =
        u64::try_from(root.u64_at(0).cast_signed()).map_err(|_| DecodeError::UnknownValue)?;
    Ok(WallTime {
        unix_seconds,
        monotonic_ns: root.u64_at(2),
    })
}

/// Reads four bytes of `EntropySource.fill`.
///
/// # Errors
/// [`DecodeError::UnknownValue`] if the source had none to give.
pub fn random_word(message: &[u8]) -> Result<u32, DecodeError> {
    let root = Root::parse(message)?;
    let bytes = root.data_at(0)?.first_chunk::<4>();
    match (root.u16_at(0), bytes) {
        (0, Some(bytes)) => Ok(u32::from_le_bytes(*bytes)),
        _ => Err(DecodeError::UnknownValue),
    }
}

/// Reads the bytes of `TcpSocket.recv`; empty means that the peer has closed.
pub fn received(message: &[u8]) -> Result<&[u8], DecodeError> {
    Root::parse(message)?.data_at(0)
}

/// Reads how much of a `TcpSocket.send` was taken.
pub fn bytes_sent(message: &[u8]) -> Result<u32, DecodeError> {
    Ok(Root::parse(message)?.u32_at(0))
}

/// The failure classes that a capability method can raise.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExceptionKind {
    /// The method failed.
    Failed,
    /// The object is short of a resource for now.
    Overloaded,
    /// The object is gone, or its peer.
    Disconnected,
    /// The object has no such method.
    Unimplemented,
    /// The parameters were refused.
    InvalidArgument,
}

/// A decoded `CapException`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Exception<'a> {
    /// Failure class.
    pub kind: ExceptionKind,
    /// The object's own words.
    pub message: &'a str,
}

/// Reads a `CapException`.
pub fn exception(message: &[u8]) -> Result<Exception<'_>, DecodeError> {
    let root = Root::parse(message)?;
    let kind = match root.u16_at(0) {
        0 => ExceptionKind::Failed,
        1 => ExceptionKind::Overloaded,
        2 => ExceptionKind::Disconnected,
        3 => ExceptionKind::Unimplemented,
        4 => ExceptionKind::InvalidArgument,
        _ => return Err(DecodeError::UnknownValue),
    };
    Ok(Exception {
        kind,
        message: root.text_at(0)?,
    })
}

/// One transferred capability.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transfer {
    /// Slot in the caller's own table.
    pub cap_id: u32,
    /// Interface that the slot holds.
    pub interface_id: u64,
}

/// The `index`-th transferred capability behind a result of `result_bytes`.
#[must_use]
pub fn transfer(buffer: &[u8], result_bytes: usize, index: u16) -> Option<Transfer> {
    let start = usize::from(index)
        .checked_mul(TRANSFER_RECORD_BYTES)?
        .checked_add(result_bytes)?;
    let record = buffer
        .get(start..)?
        .first_chunk::<TRANSFER_RECORD_BYTES>()?;
    let (cap_id, _reserved) = halves(read_word(record, 0)?);
    Some(Transfer {
        cap_id,
        interface_id: read_word(record, 1)?,
    })
}
