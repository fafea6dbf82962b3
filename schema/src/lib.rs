//! Cap'n Proto schema of the ingress service: what crosses a process boundary.
//!
//! | schema | written by | read by |
//! |---|---|---|
//! | `discriminator.capnp` | the kernel | the service, once, before its first accept |
//! | `evidence.capnp` | the service, on request | operators, the harness |
//!
//! Beside the bindings, [`flat`] lays small messages down and reads them without an allocation,
//! for the service and the kernel, and [`listen`] holds the one reading of a listen grant's
//! badge, shared by the manifest compiler and the kernel.
//!
//! # Evolution
//! Append only. A field or method keeps its number, type, unit and meaning for
//! ever, a new one takes the next number, and a reader of an older message sees
//! the new field's default, which therefore always means "none" or "not known".
//! The files in `golden/` are messages of fixed values; a change that alters one
//! of them, or that cannot read one any more, is not an append.
//!
//! Generated code lives in [`generated`] and is made at build time by the
//! `capnp` compiler; nothing generated is kept in the tree.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod flat;
pub mod generated;
pub mod listen;

pub use generated::{discriminator_capnp, evidence_capnp};

/// Interface id of `CapDiscriminator`, as a CapSet entry carries it.
pub const CAP_DISCRIMINATOR_INTERFACE_ID: u64 =
    discriminator_capnp::cap_discriminator::_private::TYPE_ID;

/// CapSet name under which the kernel injects the discriminator.
pub const CAP_DISCRIMINATOR_NAME: &str = "discrim";

/// A number that tells a program from one with damage: 64-bit FNV-1a, which no single changed
/// byte leaves as it was. It is no proof against intent.
///
/// The manifest compiler shows it of each binary, and the kernel of what it loads.
#[must_use]
pub fn check_number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Most processes that one boot starts, init included: what the manifest compiler packs and the
/// kernel takes.
pub const PROCESSES_MAX: usize = 8;

/// Method number of `CapDiscriminator.identify`.
pub const CAP_DISCRIMINATOR_IDENTIFY: u16 = 0;

/// Method number of `CapDiscriminator.compare`.
pub const CAP_DISCRIMINATOR_COMPARE: u16 = 1;

#[cfg(test)]
mod tests {
    use super::check_number;

    #[test]
    fn check_numbers_are_the_published_ones() {
        assert_eq!(check_number(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(check_number(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(check_number(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
