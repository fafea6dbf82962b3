//! How much of a boot package is read besides its programs.
//!
//! A message of a few words can claim millions of values: elements without a size, or one list that
//! many pointers lead to. What is decoded lands on the heap, so that reading is bounded by what an
//! honest package needs, not by what a message claims: the programs' bytes, which stay where they
//! are, and [`CONFIGURATION_WORDS_MAX`] for everything else.

use capnp::message::ReaderOptions;
use capos_config::capos_capnp::system_manifest;
use capos_config::default_reader_options;

use crate::boot_error::{BINARIES_MAX, BootError};

/// Most words that are read besides the programs: 256 KiB. Each can become at most one decoded value
/// of 56 bytes, so that the heap has room for them whatever they are.
pub const CONFIGURATION_WORDS_MAX: usize = 32 * 1024;

/// The options with which the package in `bytes` is decoded.
///
/// # Errors
/// No message, or one of too many programs.
pub fn reader_options(bytes: &[u8]) -> Result<ReaderOptions, BootError> {
    let mut options = default_reader_options();
    let mut rest = bytes;
    let message = capnp::serialize::read_message_from_flat_slice_no_alloc(&mut rest, options)?;
    let binaries = message
        .get_root::<system_manifest::Reader<'_>>()?
        .get_binaries()?;
    if binaries.len() > BINARIES_MAX {
        return Err(BootError::TooManyBinaries(binaries.len()));
    }
    let mut words = CONFIGURATION_WORDS_MAX;
    for blob in binaries.iter() {
        let data = blob.get_data()?.len().div_ceil(8);
        words = words.saturating_add(data);
    }
    options.traversal_limit_in_words(Some(words));
    Ok(options)
}

#[cfg(test)]
mod tests {
    use crate::boot_error::BootError;
    use crate::boot_package::read;

    /// A pointer to a struct `offset` words further on, or the tag of a list of `offset` structs.
    fn structure(offset: usize, data: u64, pointers: u64) -> u64 {
        (offset as u64) << 2 | data << 32 | pointers << 48
    }

    /// A pointer to a list of structs, `words` long in all.
    fn list(offset: usize, words: usize) -> u64 {
        1 | (offset as u64) << 2 | 7 << 32 | (words as u64) << 35
    }

    /// A manifest's words up to the pointer of `initConfig`, which is a list.
    fn manifest() -> Vec<u64> {
        let root = structure(0, 1, 4);
        let config = structure(2, 2, 1);
        let is_list = 6;
        vec![root, 1, 0, config, 0, 0, is_list, 0]
    }

    fn message(words: &[u64]) -> Vec<u8> {
        let table = (words.len() as u64) << 32;
        let words = [&[table], words].concat();
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn limit_exceeded(bytes: &[u8]) -> bool {
        matches!(read(bytes), Err(BootError::Manifest(reason)) if reason.contains("limit exceeded"))
    }

    #[test]
    fn values_without_a_size_are_counted() {
        for count in [1 << 16, 1 << 20, (1 << 29) - 1] {
            let mut words = manifest();
            words.extend([list(0, 0), structure(count, 0, 0)]);
            assert!(limit_exceeded(&message(&words)), "{count}");
        }
    }

    #[test]
    fn a_list_that_many_pointers_lead_to_is_counted_each_time() {
        let (width, levels) = (100, 4);
        let mut words = manifest();
        let mut pointers = vec![words.len()];
        words.push(0);
        for level in 0..levels {
            for at in pointers.drain(..) {
                words[at] = list(words.len() - at - 1, 3 * width);
            }
            words.push(structure(width, 2, 1));
            for _ in 0..width {
                let is_list = if level + 1 < levels { 6 } else { 0 };
                words.extend([is_list, 0, 0]);
                pointers.push(words.len() - 1);
            }
        }
        assert!(limit_exceeded(&message(&words)));
    }

    #[test]
    fn too_many_binaries_are_refused() {
        let mut words = manifest();
        words[2] = list(words.len() - 3, 0);
        words.push(structure(17, 0, 0));
        assert_eq!(read(&message(&words)), Err(BootError::TooManyBinaries(17)));
    }
}
