//! The flat codec against the library's own, in both directions: fixed values, values at random,
//! and damage at random.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use capnp::message::ReaderOptions;
use capnp::serialize;
use capnp::traits::Owned;
use capos_config::capos_capnp::{
    ClockProvenance, EntropyStatus, ExceptionType, IpAddressFamily, cap_exception, console,
    entropy_source, network_manager, tcp_listener, tcp_socket, timer, wall_clock,
};
use ingress_schema::flat::{
    self, Blob, DATA_PREFIX_BYTES, DecodeError, ExceptionKind, NO_PARAMS, NoRoom, Root,
};
use proptest::prelude::{any, prop_assert_eq, proptest};

fn library<T: Owned>(fill: impl FnOnce(T::Builder<'_>)) -> Vec<u8> {
    let mut message = capnp::message::Builder::new_default();
    fill(message.init_root::<T::Builder<'_>>());
    serialize::write_message_to_words(&message)
}

fn ours(words: &[u64], blobs: &[Blob<'_>]) -> Vec<u8> {
    // Dirty to begin with: stale bytes must not survive as padding.
    let mut buffer = [0xee; 8192];
    let length = flat::encode(&mut buffer, words, blobs).unwrap();
    buffer[..length].to_vec()
}

fn data_message(data: &[u8]) -> Vec<u8> {
    library::<tcp_socket::send_params::Owned>(|mut root| root.set_data(data))
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| n.to_le_bytes()[0] | 1).collect()
}

#[test]
fn a_struct_without_fields_is_no_null() {
    let expected = library::<timer::now_params::Owned>(|_| {});
    assert_eq!(expected, NO_PARAMS);
    assert_eq!(ours(&[], &[]), expected);
}

#[test]
fn words_equal_the_librarys() {
    let expected = library::<tcp_socket::recv_params::Owned>(|mut root| root.set_max_len(77));
    assert_eq!(expected, flat::one_word(77));
    assert_eq!(expected, ours(&[77], &[]));
    let expected = library::<wall_clock::wall_time_results::Owned>(|mut root| {
        root.set_utc_seconds(-5);
        root.set_utc_nanos(77);
        root.set_monotonic_ns(88);
        root.set_provenance(ClockProvenance::MeasuredBootMonotonic);
    });
    let words = [(-5_i64).cast_unsigned(), 77 | 3 << 32, 88];
    assert_eq!(ours(&words, &[]), expected);
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
    let expected = library::<network_manager::get_config_results::Owned>(|mut root| {
        root.set_addr(&[1, 2, 3, 4]);
        root.set_netmask(&[255, 255, 255, 0]);
        root.set_gateway(&[]);
        root.set_address_family(IpAddressFamily::Ipv4);
        root.set_ipv6_supported(false);
    });
    let blobs = [&[1, 2, 3, 4][..], &[255, 255, 255, 0], &[]].map(Blob::Data);
    assert_eq!(ours(&[1], &blobs), expected);
}

#[test]
fn data_around_bytes_in_place_equals_the_librarys() {
    for length in [0, 1, 7, 8, 9, 15, 16, 1_000, 4_096] {
        let data = pattern(length);
        let expected = data_message(&data);
        assert_eq!(ours(&[], &[Blob::Data(&data)]), expected);

        let mut framed = vec![0xaa; expected.len() + 8];
        framed[DATA_PREFIX_BYTES..][..length].copy_from_slice(&data);
        let used = flat::frame_data(&mut framed, length).unwrap();
        assert_eq!(&framed[..used], expected);

        let count = u32::try_from(length).unwrap();
        let prefix = flat::data_prefix(count);
        assert_eq!(expected[..DATA_PREFIX_BYTES], prefix);
        assert_eq!(flat::data_length(&prefix), Some(count));
        assert_eq!(flat::data_message_bytes(count) as usize, expected.len());
    }
}

#[test]
fn text_around_bytes_in_place_equals_the_librarys() {
    for text in ["", "a", "1234567", "12345678", "[web-ui] ready lanes=3"] {
        let expected = library::<console::write_line_params::Owned>(|mut root| root.set_text(text));
        assert_eq!(ours(&[], &[Blob::Text(text)]), expected);
        let mut framed = [0xaa; 128];
        framed[DATA_PREFIX_BYTES..][..text.len()].copy_from_slice(text.as_bytes());
        let used = flat::frame_text(&mut framed, text.len()).unwrap();
        assert_eq!(&framed[..used], expected);
    }
}

#[test]
fn a_prefix_that_differs_in_a_bit_has_no_length() {
    let prefix = flat::data_prefix(4);
    for bit in 0..DATA_PREFIX_BYTES * 8 {
        let mut other = prefix;
        other[bit / 8] ^= 1 << (bit % 8);
        let length = flat::data_length(&other);
        assert!(length.is_none_or(|length| other == flat::data_prefix(length)));
        assert_ne!(length, Some(4));
    }
}

#[test]
fn a_message_that_does_not_fit_is_refused() {
    let blobs = [Blob::Data(b"123456789")];
    let whole = ours(&[1], &blobs).len();
    for room in 0..whole {
        assert_eq!(
            flat::encode(&mut vec![0; room], &[1], &blobs),
            Err(NoRoom),
            "{room}"
        );
    }
    assert_eq!(flat::encode(&mut [0; 15], &[], &[]), Err(NoRoom));
    let mut out = [0; DATA_PREFIX_BYTES + 8];
    assert_eq!(flat::frame_data(&mut out, 8), Ok(32));
    assert_eq!(flat::frame_data(&mut out, 9), Err(NoRoom));
    assert_eq!(flat::frame_text(&mut out, 7), Ok(32));
    assert_eq!(flat::frame_text(&mut out, 8), Err(NoRoom));
    for length in [usize::MAX, 1 << 29, (1 << 29) - 1] {
        assert_eq!(flat::frame_data(&mut [], length), Err(NoRoom));
        assert_eq!(flat::frame_text(&mut [], length), Err(NoRoom));
    }
}

#[test]
fn data_that_fits_fits() {
    for bytes in 0..200 {
        let fits = flat::data_bytes_that_fit(bytes);
        assert!(fits == 0 || flat::data_message_bytes(fits) <= bytes);
        assert!(flat::data_message_bytes(fits + 1) > bytes);
    }
}

#[test]
fn exceptions_are_the_librarys_both_ways() {
    for (kind, ours) in [
        (ExceptionType::Failed, ExceptionKind::Failed),
        (ExceptionType::Overloaded, ExceptionKind::Overloaded),
        (ExceptionType::Disconnected, ExceptionKind::Disconnected),
        (ExceptionType::Unimplemented, ExceptionKind::Unimplemented),
        (
            ExceptionType::InvalidArgument,
            ExceptionKind::InvalidArgument,
        ),
    ] {
        let expected = library::<cap_exception::Owned>(|mut root| {
            root.set_type(kind);
            root.set_message("no buffer left");
        });
        let read = flat::exception(&expected).unwrap();
        assert_eq!((read.kind, read.message), (ours, "no buffer left"));
        let mut buffer = [0xee; 256];
        let length = flat::encode_exception(&mut buffer, ours, "no buffer left").unwrap();
        assert_eq!(&buffer[..length], expected);
    }
    assert_eq!(
        flat::exception(&flat::one_word(5)),
        Err(DecodeError::UnknownValue)
    );
}

#[test]
fn exceptions_are_cut_between_letters() {
    for letter in ["a", "ä", "€", "𝄞"] {
        for before in 0..4 {
            let text = ".".repeat(before) + &letter.repeat(200);
            let mut buffer = [0; 256];
            let length = flat::encode_exception(&mut buffer, ExceptionKind::Failed, &text).unwrap();
            let read = flat::exception(&buffer[..length]).unwrap().message;
            assert!(text.starts_with(read));
            assert!((157..=flat::EXCEPTION_TEXT_MAX).contains(&read.len()));
        }
    }
}

#[test]
fn a_shorter_struct_reads_as_zero() {
    let root = Root::parse(&NO_PARAMS).unwrap();
    assert_eq!((root.u64_at(0), root.u32_at(1), root.u16_at(3)), (0, 0, 0));
    assert!(!root.bool_at(112));
    assert_eq!(root.data_at(0), Ok(&[][..]));
    assert_eq!(root.text_at(usize::MAX), Ok(""));
    let null = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(Root::parse(&null).unwrap().u64_at(0), 0);
}

#[test]
fn truncation_at_every_byte_is_an_error() {
    let bytes = data_message(b"hello, world");
    for length in 0..bytes.len() {
        assert_eq!(
            Root::parse(&bytes[..length]).err(),
            Some(DecodeError::Truncated),
            "{length}"
        );
    }
}

#[test]
fn bad_pointers_are_refused() {
    let with = |mut bytes: Vec<u8>, word: usize, value: u64| {
        bytes[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    // Root is a list, a far pointer, out of the segment, before its start; two segments.
    for (word, value, error) in [
        (1, 1, DecodeError::WrongPointerKind),
        (1, 2, DecodeError::FarPointer),
        (1, (9 << 32) | (100 << 2), DecodeError::OutOfBounds),
        (1, (1 << 32) | 0xffff_fff0, DecodeError::OutOfBounds),
        (0, 2 << 32 | 1, DecodeError::ManySegments),
    ] {
        let bytes = with(flat::one_word(0).to_vec(), word, value);
        assert_eq!(Root::parse(&bytes).err(), Some(error));
    }
    // A byte list that ends past the segment, that is no byte list, in another segment.
    for (value, error) in [
        (1 | (2 << 32) | (9 << 35), DecodeError::OutOfBounds),
        (1 | (3 << 32) | (1 << 35), DecodeError::WrongPointerKind),
        (2, DecodeError::FarPointer),
        (0x7fff_fffd | (2 << 32), DecodeError::OutOfBounds),
    ] {
        let bytes = with(data_message(&[0; 8]), 2, value);
        assert_eq!(Root::parse(&bytes).unwrap().data_at(0), Err(error));
    }
}

#[test]
fn text_without_its_terminator_is_refused() {
    let bytes = data_message(b"no NUL!!");
    let root = Root::parse(&bytes).unwrap();
    assert_eq!(root.text_at(0), Err(DecodeError::InvalidText));
    let bytes = data_message(&[0xff, 0]);
    let root = Root::parse(&bytes).unwrap();
    assert_eq!(root.text_at(0), Err(DecodeError::InvalidText));
}

/// What the library makes of `bytes` as the result of `EntropySource.fill`.
fn library_reads(bytes: &[u8]) -> capnp::Result<(Option<EntropyStatus>, Vec<u8>)> {
    let message = serialize::read_message(bytes, ReaderOptions::new())?;
    let root = message.get_root::<entropy_source::fill_results::Reader<'_>>()?;
    Ok((root.get_status().ok(), root.get_data()?.to_vec()))
}

/// What we make of it.
fn we_read(bytes: &[u8]) -> Result<(Option<EntropyStatus>, Vec<u8>), DecodeError> {
    let root = Root::parse(bytes)?;
    let status = EntropyStatus::try_from(root.u16_at(0)).ok();
    Ok((status, root.data_at(0)?.to_vec()))
}

proptest! {
    #[test]
    fn any_words_and_bytes_are_the_librarys(
        (addr, mask, gateway) in any::<(Vec<u8>, Vec<u8>, Vec<u8>)>(),
        ipv6 in any::<bool>(),
    ) {
        let expected = library::<network_manager::get_config_results::Owned>(|mut root| {
            root.set_addr(&addr);
            root.set_netmask(&mask);
            root.set_gateway(&gateway);
            root.set_address_family(IpAddressFamily::Ipv4);
            root.set_ipv6_supported(ipv6);
        });
        let blobs = [&addr, &mask, &gateway].map(|bytes| Blob::Data(bytes));
        let found = ours(&[1 | u64::from(ipv6) << 16], &blobs);
        prop_assert_eq!(&found, &expected);
        let root = Root::parse(&found).unwrap();
        prop_assert_eq!(root.u16_at(0), 1);
        prop_assert_eq!(root.bool_at(16), ipv6);
        for (index, bytes) in [&addr, &mask, &gateway].into_iter().enumerate() {
            prop_assert_eq!(root.data_at(index), Ok(&bytes[..]));
        }
    }

    #[test]
    fn any_fields_read_as_the_librarys(seconds in any::<i64>(), nanos in any::<u32>(), now in any::<u64>()) {
        let bytes = library::<wall_clock::wall_time_results::Owned>(|mut root| {
            root.set_utc_seconds(seconds);
            root.set_utc_nanos(nanos);
            root.set_monotonic_ns(now);
            root.set_provenance(ClockProvenance::NtpSynced);
        });
        let root = Root::parse(&bytes).unwrap();
        prop_assert_eq!(root.u64_at(0).cast_signed(), seconds);
        prop_assert_eq!((root.u32_at(2), root.u64_at(2)), (nanos, now));
        prop_assert_eq!(root.u16_at(6), ClockProvenance::NtpSynced as u16);
    }

    /// We refuse more than the library does (several segments, far pointers), and what we read
    /// at all we read as it does.
    #[test]
    fn damaged_messages_are_refused_or_read_as_the_library_reads_them(
        data in any::<Vec<u8>>(),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = library::<entropy_source::fill_results::Owned>(|mut root| {
            root.set_status(EntropyStatus::Ok);
            root.set_data(&data);
        });
        for (place, byte) in damage {
            let place = place.index(bytes.len().min(40));
            bytes[place] = byte;
        }
        if let Ok(found) = we_read(&bytes) {
            prop_assert_eq!(found, library_reads(&bytes).unwrap());
        }
    }
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut read = 0;
    for round in 0..200_000_usize {
        let mut bytes = [0_u8; 64];
        for chunk in bytes.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            chunk.copy_from_slice(&state.to_le_bytes());
        }
        // Plausible tables and pointers reach further in than pure noise.
        if round % 4 != 0 {
            let mut put = |word: usize, value: u64| {
                bytes[word * 8..][..8].copy_from_slice(&value.to_le_bytes());
            };
            put(0, 7 << 32);
            put(1, (1 << 48) | (state & 0x0000_0003_0000_0004));
            let list = 1 | (state >> 8 & 0x1c) | 2 << 32 | (state >> 16 & 63) << 35;
            put(2 + round % 6, list);
        }
        let Ok(root) = Root::parse(&bytes) else {
            continue;
        };
        if let Ok(data) = root.data_at(0) {
            assert!(data.len() <= bytes.len());
            read += 1;
        }
        assert!(root.text_at(0).is_ok_and(|text| text.len() < 64) || root.text_at(0).is_err());
    }
    assert!(read > 1_000, "{read}");
}
