//! The fixed layouts of `wire` against the `capnp` crate, in both directions.

use capnp::message::{Builder, HeapAllocator};
use capnp::serialize;
use capos_config::capos_capnp;
use capos_config::ring::{CAP_TRANSFER_RESULT_SIZE, CapTransferResult};
use remote_session_web_ui::wire::{self, DecodeError, ExceptionKind};

fn encode(build: impl FnOnce(&mut Builder<HeapAllocator>)) -> Vec<u8> {
    let mut message = Builder::new_default();
    build(&mut message);
    serialize::write_message_to_words(&message)
}

#[test]
fn no_params_is_an_empty_struct() {
    let expected = encode(|message| {
        message.init_root::<capos_capnp::tcp_listener::accept_params::Builder<'_>>();
    });
    assert_eq!(expected, wire::NO_PARAMS);
    let expected = encode(|message| {
        message.init_root::<capos_capnp::timer::now_params::Builder<'_>>();
    });
    assert_eq!(expected, wire::NO_PARAMS);
}

#[test]
fn recv_params_match() {
    for max_len in [0, 1, 1_024, u32::MAX] {
        let expected = encode(|message| {
            message
                .init_root::<capos_capnp::tcp_socket::recv_params::Builder<'_>>()
                .set_max_len(max_len);
        });
        assert_eq!(expected, wire::one_word(u64::from(max_len)));
    }
}

#[test]
fn send_params_match_for_every_padding() {
    for length in [0, 1, 7, 8, 9, 15, 16, 1_000, 4_096] {
        let payload: Vec<u8> = (0..length).map(|n: usize| n.to_le_bytes()[0] | 1).collect();
        let expected = encode(|message| {
            message
                .init_root::<capos_capnp::tcp_socket::send_params::Builder<'_>>()
                .set_data(&payload);
        });
        // Dirty to begin with: stale bytes must not survive as padding.
        let mut out = vec![0xaa_u8; wire::DATA_PREFIX_BYTES + length + 8];
        out[wire::DATA_PREFIX_BYTES..][..length].copy_from_slice(&payload);
        let used = wire::frame_data(&mut out, length).expect("fits");
        assert_eq!(&out[..used], expected.as_slice(), "length {length}");
    }
}

#[test]
fn write_line_params_match() {
    for text in ["", "a", "1234567", "12345678", "[web-ui] ready lanes=3"] {
        let expected = encode(|message| {
            message
                .init_root::<capos_capnp::console::write_line_params::Builder<'_>>()
                .set_text(text);
        });
        let mut out = [0xaa_u8; 128];
        out[wire::DATA_PREFIX_BYTES..][..text.len()].copy_from_slice(text.as_bytes());
        let used = wire::frame_text(&mut out, text.len()).expect("fits");
        assert_eq!(&out[..used], expected.as_slice(), "{text:?}");
    }
}

#[test]
fn a_message_that_does_not_fit_is_refused() {
    let mut out = [0; wire::DATA_PREFIX_BYTES + 8];
    assert_eq!(wire::frame_data(&mut out, 8), Some(32));
    assert_eq!(wire::frame_data(&mut out, 9), None);
    assert_eq!(wire::frame_text(&mut out, 7), Some(32));
    assert_eq!(wire::frame_text(&mut out, 8), None);
    assert_eq!(wire::frame_data(&mut [], usize::MAX), None);
}

#[test]
fn listen_results_are_read() {
    let bytes = encode(|message| {
        let mut results =
            message.init_root::<capos_capnp::tcp_listen_authority::listen_results::Builder<'_>>();
        results.set_listener_index(1);
        results.set_port(8_081);
    });
    let listening = wire::listening(&bytes).expect("reads");
    assert_eq!((listening.listener_index, listening.port), (1, 8_081));
}

#[test]
fn timer_results_are_read() {
    let bytes = encode(|message| {
        let mut results = message.init_root::<capos_capnp::timer::now_results::Builder<'_>>();
        results.set_monotonic_ns(u64::MAX - 1);
        results.set_tick(7);
    });
    assert_eq!(wire::monotonic_ns(&bytes), Ok(u64::MAX - 1));
}

#[test]
fn a_trusted_time_of_day_is_read() {
    use capos_capnp::ClockProvenance;
    let wall_time = |seconds, provenance| {
        encode(|message| {
            let mut results =
                message.init_root::<capos_capnp::wall_clock::wall_time_results::Builder<'_>>();
            results.set_utc_seconds(seconds);
            results.set_utc_nanos(999_999_999);
            results.set_monotonic_ns(77);
            results.set_provenance(provenance);
        })
    };
    let trusted = wall_time(1_800_000_000, ClockProvenance::MeasuredBootMonotonic);
    assert_eq!(
        wire::wall_time(&trusted),
        Ok(wire::WallTime {
            unix_seconds: 1_800_000_000,
            monotonic_ns: 77,
        })
    );
    for message in [
        wall_time(1_800_000_000, ClockProvenance::Untrusted),
        wall_time(-1, ClockProvenance::NtpSynced),
    ] {
        assert_eq!(wire::wall_time(&message), Err(DecodeError::UnknownValue));
    }
}

#[test]
fn random_bytes_are_read_if_there_are_any() {
    let fill = |status, data: &[u8]| {
        encode(|message| {
            let mut results =
                message.init_root::<capos_capnp::entropy_source::fill_results::Builder<'_>>();
            results.set_status(status);
            results.set_data(data);
        })
    };
    let ok = capos_capnp::EntropyStatus::Ok;
    let unavailable = capos_capnp::EntropyStatus::Unavailable;
    assert_eq!(wire::random_word(&fill(ok, &[1, 2, 3, 4])), Ok(0x0403_0201));
    for message in [fill(ok, &[1, 2, 3]), fill(unavailable, &[])] {
        assert_eq!(wire::random_word(&message), Err(DecodeError::UnknownValue));
    }
}

#[test]
fn recv_results_are_read() {
    for length in [0, 1, 8, 2_000] {
        let payload = vec![b'x'; length];
        let bytes = encode(|message| {
            message
                .init_root::<capos_capnp::tcp_socket::recv_results::Builder<'_>>()
                .set_data(&payload);
        });
        assert_eq!(wire::received(&bytes), Ok(payload.as_slice()));
    }
}

#[test]
fn send_results_are_read() {
    let bytes = encode(|message| {
        message
            .init_root::<capos_capnp::tcp_socket::send_results::Builder<'_>>()
            .set_bytes_sent(4_000_000_000);
    });
    assert_eq!(wire::bytes_sent(&bytes), Ok(4_000_000_000));
}

#[test]
fn every_exception_kind_is_read() {
    for (schema, kind) in [
        (capos_capnp::ExceptionType::Failed, ExceptionKind::Failed),
        (
            capos_capnp::ExceptionType::Overloaded,
            ExceptionKind::Overloaded,
        ),
        (
            capos_capnp::ExceptionType::Disconnected,
            ExceptionKind::Disconnected,
        ),
        (
            capos_capnp::ExceptionType::Unimplemented,
            ExceptionKind::Unimplemented,
        ),
        (
            capos_capnp::ExceptionType::InvalidArgument,
            ExceptionKind::InvalidArgument,
        ),
    ] {
        let bytes = encode(|message| {
            let mut results = message.init_root::<capos_capnp::cap_exception::Builder<'_>>();
            results.set_type(schema);
            results.set_message("no buffer left");
        });
        let exception = wire::exception(&bytes).expect("reads");
        assert_eq!(exception.kind, kind);
        assert_eq!(exception.message, "no buffer left");
    }
}

#[test]
fn an_exception_outside_the_schema_is_refused() {
    assert_eq!(
        wire::exception(&wire::one_word(5)),
        Err(DecodeError::UnknownValue)
    );
}

#[test]
fn a_transfer_record_is_read_behind_the_result() {
    let record = CapTransferResult {
        cap_id: 42,
        _reserved0: 0,
        interface_id: 0x1234_5678_9abc_def0,
    };
    let mut buffer = vec![0xee; 24];
    buffer.extend_from_slice(&record.cap_id.to_le_bytes());
    buffer.extend_from_slice(&record._reserved0.to_le_bytes());
    buffer.extend_from_slice(&record.interface_id.to_le_bytes());
    assert_eq!(CAP_TRANSFER_RESULT_SIZE, wire::TRANSFER_RECORD_BYTES);
    let transfer = wire::transfer(&buffer, 24, 0).expect("in range");
    assert_eq!(transfer.cap_id, 42);
    assert_eq!(transfer.interface_id, 0x1234_5678_9abc_def0);
    assert_eq!(wire::transfer(&buffer, 24, 1), None);
    assert_eq!(wire::transfer(&buffer, 25, 0), None);
    assert_eq!(wire::transfer(&buffer, usize::MAX, u16::MAX), None);
}

#[test]
fn a_shorter_struct_reads_as_zero() {
    let root = wire::Root::parse(&wire::NO_PARAMS).expect("reads");
    assert_eq!(root.u64_at(0), 0);
    assert_eq!(root.u16_at(3), 0);
    assert!(!root.bool_at(112));
    assert_eq!(root.data_at(0), Ok(&[][..]));
}

#[test]
fn truncation_at_every_byte_is_an_error_or_a_default() {
    let bytes = encode(|message| {
        message
            .init_root::<capos_capnp::tcp_socket::recv_results::Builder<'_>>()
            .set_data(b"hello, world");
    });
    for length in 0..bytes.len() {
        assert_eq!(
            wire::received(&bytes[..length]),
            Err(DecodeError::Truncated),
            "length {length}"
        );
    }
}

#[test]
fn bad_pointers_are_refused() {
    let message = |pointer: u64| {
        let mut bytes = wire::one_word(0).to_vec();
        bytes[8..16].copy_from_slice(&pointer.to_le_bytes());
        bytes
    };
    // Root is a list, a far pointer, out of the segment, before its start.
    for (pointer, error) in [
        (1, DecodeError::WrongPointerKind),
        (2, DecodeError::FarPointer),
        ((9 << 32) | (100 << 2), DecodeError::OutOfBounds),
        ((1 << 32) | 0xffff_fff0, DecodeError::OutOfBounds),
    ] {
        assert_eq!(wire::Root::parse(&message(pointer)).err(), Some(error));
    }
    let mut two_segments = wire::NO_PARAMS;
    two_segments[0] = 1;
    assert_eq!(
        wire::Root::parse(&two_segments).err(),
        Some(DecodeError::ManySegments)
    );
    // A byte list that ends past the segment, and one that is no byte list.
    for (pointer, error) in [
        (1 | (2 << 32) | (9 << 35), DecodeError::OutOfBounds),
        (1 | (3 << 32) | (1 << 35), DecodeError::WrongPointerKind),
        (2, DecodeError::FarPointer),
    ] {
        let mut bytes = vec![0; 40];
        wire::frame_data(&mut bytes, 8).expect("fits");
        bytes[16..24].copy_from_slice(&u64::to_le_bytes(pointer));
        assert_eq!(wire::received(&bytes), Err(error));
    }
}

#[test]
fn text_without_its_terminator_is_refused() {
    let mut bytes = vec![0; 40];
    bytes[24..32].copy_from_slice(b"no NUL!!");
    let used = wire::frame_data(&mut bytes, 8).expect("fits");
    let root = wire::Root::parse(&bytes[..used]).expect("reads");
    assert_eq!(root.text_at(0), Err(DecodeError::InvalidText));
}

#[test]
fn any_bytes_are_read_without_a_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200_000 {
        let mut bytes = [0_u8; 64];
        for chunk in bytes.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            chunk.copy_from_slice(&state.to_le_bytes());
        }
        // Plausible tables and pointers reach further in than pure noise.
        bytes[..8].copy_from_slice(&(7_u64 << 32).to_le_bytes());
        bytes[8..16]
            .copy_from_slice(&((1_u64 << 48) | (state & 0x0000_0007_0000_001c)).to_le_bytes());
        let Ok(root) = wire::Root::parse(&bytes) else {
            continue;
        };
        if let Ok(data) = root.data_at(0) {
            assert!(data.len() <= bytes.len());
        }
        let text_or_error = root.text_at(0).map(str::len);
        assert!(text_or_error.is_err() || text_or_error.is_ok_and(|length| length <= 64));
    }
}
