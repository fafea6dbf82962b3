//! What each method answers, read from where the kernel wrote it.

use ingress_schema::flat::{DecodeError, ONE_WORD_BYTES, Root, one_word};

/// Bytes of one transferred-capability record behind a result.
pub const TRANSFER_RECORD_BYTES: usize = 16;

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

/// Parameters of `CapDiscriminator.compare(left, right)`.
#[must_use]
pub const fn compare_params(left: u32, right: u32) -> [u8; ONE_WORD_BYTES] {
    one_word(left as u64 | ((right as u64) << 32))
}

/// What the kernel says of two slots of the service's table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Compared {
    /// They hold one object.
    Same,
    /// They hold two.
    Different,
}

/// Reads the result of `CapDiscriminator.compare`.
pub fn compared(message: &[u8]) -> Result<Compared, DecodeError> {
    Ok(if Root::parse(message)?.bool_at(0) {
        Compared::Same
    } else {
        Compared::Different
    })
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
    let record = buffer.get(start..)?;
    let cap_id = u32::from_le_bytes(*record.first_chunk()?);
    let interface_id = u64::from_le_bytes(*record.get(8..)?.first_chunk()?);
    Some(Transfer {
        cap_id,
        interface_id,
    })
}
