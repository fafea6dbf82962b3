//! Messages as results carry them: one segment, its table in front.
//!
//! All results are a root struct of a few words and some byte strings, so they
//! are laid down directly, without an allocation; the tests hold each against
//! the library's own encoding. Parameters come from outside and are read with
//! the library, under the bounds of `capos_config`.

use capos_config::capos_capnp::ExceptionType;

/// Bytes in front of the data in a message whose root holds one `Data`.
pub const DATA_PREFIX_BYTES: usize = 24;
/// Longest exception text.
pub const EXCEPTION_TEXT_MAX: usize = 160;

const WORD: usize = 8;

/// A byte string of a root struct.
#[derive(Clone, Copy, Debug)]
pub enum Blob<'a> {
    /// A `Data` field.
    Data(&'a [u8]),
    /// A `Text` field; its closing zero is added.
    Text(&'a str),
}

impl Blob<'_> {
    const fn bytes(&self) -> &[u8] {
        match self {
            Self::Data(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }

    const fn length(&self) -> usize {
        match self {
            Self::Data(bytes) => bytes.len(),
            Self::Text(text) => text.len().saturating_add(1),
        }
    }
}

/// The buffer is too small for the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom;

/// Writes a message to `buffer`: a root with data section `words` and pointer
/// section `blobs`. Its length in bytes.
///
/// # Errors
/// When it does not fit.
pub fn encode(buffer: &mut [u8], words: &[u64], blobs: &[Blob<'_>]) -> Result<usize, NoRoom> {
    let fixed = words.len().saturating_add(blobs.len()).saturating_add(1);
    let mut writer = Writer { buffer, at: WORD };
    writer.word((words.len() as u64) << 32 | (blobs.len() as u64) << 48)?;
    for &word in words {
        writer.word(word)?;
    }
    let mut target = fixed;
    for (index, blob) in blobs.iter().enumerate() {
        let pointer = words.len().saturating_add(index).saturating_add(1);
        let offset = target.saturating_sub(pointer).saturating_sub(1) as u64;
        writer.word(1 | offset << 2 | 2 << 32 | (blob.length() as u64) << 35)?;
        target = target.saturating_add(blob.length().div_ceil(WORD));
    }
    for blob in blobs {
        writer.bytes(blob.bytes(), blob.length().next_multiple_of(WORD))?;
    }
    let end = writer.at;
    writer.at = 0;
    writer.word((target as u64) << 32)?;
    Ok(end)
}

/// The first bytes of a message whose root has one `Data` field of `length`
/// bytes and nothing else; the data and its padding to a word follow.
#[must_use]
pub fn data_prefix(length: u32) -> [u8; DATA_PREFIX_BYTES] {
    let segment_words = length.div_ceil(8).saturating_add(2);
    let table = u64::from(segment_words) << 32;
    let root = 1_u64 << 48;
    let list = 1 | 2 << 32 | u64::from(length) << 35;
    let mut prefix = [0; DATA_PREFIX_BYTES];
    for (chunk, word) in prefix.chunks_exact_mut(WORD).zip([table, root, list]) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    prefix
}

/// Bytes of the whole message around `length` bytes of data.
#[must_use]
pub const fn data_message_bytes(length: u32) -> u32 {
    length.div_ceil(8).saturating_add(3).saturating_mul(8)
}

/// The most data that fits a result buffer of `bytes` as such a message.
#[must_use]
pub const fn data_bytes_that_fit(bytes: u32) -> u32 {
    (bytes / 8).saturating_sub(3).saturating_mul(8)
}

/// Writes a `CapException`; texts beyond the limit are cut.
///
/// # Errors
/// When it does not fit.
pub fn encode_exception(
    buffer: &mut [u8],
    kind: ExceptionType,
    text: &str,
) -> Result<usize, NoRoom> {
    let mut end = text.len().min(EXCEPTION_TEXT_MAX);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let text = text.get(..end).unwrap_or("");
    encode(buffer, &[kind as u64], &[Blob::Text(text)])
}

struct Writer<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn word(&mut self, word: u64) -> Result<(), NoRoom> {
        self.bytes(&word.to_le_bytes(), WORD)
    }

    /// Writes `bytes` and zeros up to `padded`.
    fn bytes(&mut self, bytes: &[u8], padded: usize) -> Result<(), NoRoom> {
        let end = self.at.saturating_add(padded);
        let room = self.buffer.get_mut(self.at..end).ok_or(NoRoom)?;
        let (text, padding) = room.split_at_mut_checked(bytes.len()).ok_or(NoRoom)?;
        text.copy_from_slice(bytes);
        padding.fill(0);
        self.at = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capnp::traits::Owned;
    use capos_config::capos_capnp::{
        ClockProvenance, IpAddressFamily, LineStatus, cap_exception, network_manager, system_info,
        tcp_listener, tcp_socket, terminal_session, timer, wall_clock,
    };

    fn library<T: Owned>(fill: impl FnOnce(T::Builder<'_>)) -> Vec<u8> {
        let mut message = capnp::message::Builder::new_default();
        fill(message.init_root::<T::Builder<'_>>());
        capnp::serialize::write_message_to_words(&message)
    }

    fn ours(words: &[u64], blobs: &[Blob<'_>]) -> Vec<u8> {
        let mut buffer = [0xee; 8192];
        let length = encode(&mut buffer, words, blobs).unwrap();
        buffer[..length].to_vec()
    }

    #[test]
    fn data_messages_equal_the_librarys() {
        for length in [0_u32, 1, 7, 8, 9, 100, 4096] {
            let data: Vec<u8> = (0..length).map(|n| n.to_le_bytes()[0]).collect();
            let expected =
                library::<tcp_socket::recv_results::Owned>(|mut root| root.set_data(&data));
            let mut by_prefix = data_prefix(length).to_vec();
            by_prefix.extend(&data);
            by_prefix.resize(by_prefix.len().next_multiple_of(8), 0);
            assert_eq!(by_prefix, expected);
            assert_eq!(by_prefix.len(), data_message_bytes(length) as usize);
            assert_eq!(ours(&[], &[Blob::Data(&data)]), expected);
        }
    }

    #[test]
    fn data_that_fits_fits() {
        for bytes in 0..200 {
            let fits = data_bytes_that_fit(bytes);
            assert!(fits == 0 || data_message_bytes(fits) <= bytes);
            assert!(data_message_bytes(fits + 1) > bytes);
        }
    }

    #[test]
    fn plain_words_equal_the_librarys() {
        let expected = library::<timer::now_results::Owned>(|mut root| {
            root.set_monotonic_ns(123);
            root.set_tick(9);
        });
        assert_eq!(ours(&[123, 9], &[]), expected);
        let expected = library::<wall_clock::wall_time_results::Owned>(|mut root| {
            root.set_utc_seconds(-5);
            root.set_utc_nanos(77);
            root.set_monotonic_ns(88);
            root.set_provenance(ClockProvenance::MeasuredBootMonotonic);
        });
        assert_eq!(
            ours(&[(-5_i64).cast_unsigned(), 77 | 3 << 32, 88], &[]),
            expected
        );
    }

    #[test]
    fn words_with_blobs_equal_the_librarys() {
        let expected = library::<tcp_listener::accept_results::Owned>(|mut root| {
            root.set_socket_index(0);
            root.set_peer_addr(&[10, 0, 2, 2]);
            root.set_peer_port(0xabcd);
        });
        assert_eq!(
            ours(&[0xabcd << 16], &[Blob::Data(&[10, 0, 2, 2])]),
            expected
        );
        let expected = library::<terminal_session::read_line_results::Owned>(|mut root| {
            root.set_status(LineStatus::Submitted);
            root.set_line(b"get local /healthz");
        });
        assert_eq!(ours(&[0], &[Blob::Data(b"get local /healthz")]), expected);
        let expected = library::<network_manager::get_config_results::Owned>(|mut root| {
            root.set_addr(&[1, 2, 3, 4]);
            root.set_netmask(&[255, 255, 255, 0]);
            root.set_gateway(&[]);
            root.set_address_family(IpAddressFamily::Ipv4);
            root.set_ipv6_supported(false);
        });
        let found = ours(
            &[1],
            &[
                Blob::Data(&[1, 2, 3, 4]),
                Blob::Data(&[255, 255, 255, 0]),
                Blob::Data(&[]),
            ],
        );
        assert_eq!(found, expected);
        let expected =
            library::<system_info::motd_results::Owned>(|mut root| root.set_text("hallo"));
        assert_eq!(ours(&[], &[Blob::Text("hallo")]), expected);
    }

    #[test]
    fn exceptions_read_back_and_are_cut_between_letters() {
        let long = "ä".repeat(500);
        for text in ["", "no such method", &long] {
            let mut buffer = [0; 512];
            let length = encode_exception(&mut buffer, ExceptionType::Overloaded, text).unwrap();
            let reader = capnp::serialize::read_message(
                &mut &buffer[..length],
                capos_config::default_reader_options(),
            )
            .unwrap();
            let root = reader.get_root::<cap_exception::Reader<'_>>().unwrap();
            assert_eq!(root.get_type().unwrap(), ExceptionType::Overloaded);
            let read = root.get_message().unwrap().to_str().unwrap();
            assert!(text.starts_with(read) && read.len() == text.len().min(160));
        }
    }

    #[test]
    fn refuses_buffers_that_are_too_small() {
        let whole = ours(&[1], &[Blob::Data(b"123456789")]).len();
        for room in 0..whole {
            let mut buffer = vec![0; room];
            assert_eq!(
                encode(&mut buffer, &[1], &[Blob::Data(b"123456789")]),
                Err(NoRoom)
            );
        }
    }
}
