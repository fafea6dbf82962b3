//! The messages of the few capability calls that the service makes.
//!
//! A call's parameters are written straight into the buffer that the kernel reads, and a result
//! is read from the buffer that the kernel wrote, with no builder and no allocation in between:
//! [`ingress_schema::flat`] does both. Here is what it does not know, which field of which result
//! means what; checked against the `capnp` crate in `tests/wire.rs`.

mod result;
pub mod tag;

pub use ingress_schema::flat::{
    DATA_PREFIX_BYTES, DecodeError, Exception, ExceptionKind, NO_PARAMS, ONE_WORD_BYTES,
    WORD_BYTES, exception, frame_data, frame_text, one_word,
};
pub use result::{
    Compared, Identity, Listening, TRANSFER_RECORD_BYTES, Transfer, WallTime, bytes_sent,
    compare_params, compared, identity, listening, monotonic_ns, random_word, received, transfer,
    wall_time,
};
