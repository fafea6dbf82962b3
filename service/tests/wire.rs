//! What the service reads of each result, against the `capnp` crate's encoding of the published
//! schema; the layout itself is tested in `ingress-schema`.

use capnp::message::{Builder, HeapAllocator};
use capnp::serialize;
use capos_config::capos_capnp;
use capos_config::ring::{CAP_TRANSFER_RESULT_SIZE, CapTransferResult};
use remote_session_web_ui::wire::{self, DecodeError};

fn encode(build: impl FnOnce(&mut Builder<HeapAllocator>)) -> Vec<u8> {
    let mut message = Builder::new_default();
    build(&mut message);
    serialize::write_message_to_words(&message)
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
fn discriminator_messages_match() {
    use ingress_schema::discriminator_capnp::cap_discriminator as schema;
    let identity = encode(|message| {
        let mut results = message.init_root::<schema::identify_results::Builder<'_>>();
        results.set_object_id(u64::MAX - 5);
        results.set_transport_id(2);
        results.set_port(8_081);
        results.set_wildcard(true);
    });
    let expected = wire::Identity {
        object_id: u64::MAX - 5,
        transport_id: 2,
        port: 8_081,
        wildcard: true,
    };
    assert_eq!(wire::identity(&identity), Ok(expected));
    for (same, compared) in [
        (true, wire::Compared::Same),
        (false, wire::Compared::Different),
    ] {
        let results = encode(|message| {
            message
                .init_root::<schema::compare_results::Builder<'_>>()
                .set_same(same);
        });
        assert_eq!(wire::compared(&results), Ok(compared));
    }
    let params = encode(|message| {
        let mut params = message.init_root::<schema::compare_params::Builder<'_>>();
        params.set_left(3);
        params.set_right(u32::MAX);
    });
    assert_eq!(params, wire::compare_params(3, u32::MAX));
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
