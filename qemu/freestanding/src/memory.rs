//! Memory routines that move eight bytes at a time.
//!
//! Emulated processors run `rep movsb` byte by byte, and vector moves in
//! pieces; plain word moves are what they do best. Loads and stores may be
//! unaligned, as the processor allows.
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "an offset and the access at it are one step, resting on one bound"
)]
#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts stay below the length that the caller vouches for, and a check per word would cost more than the move"
)]

const WORD: usize = size_of::<u64>();
const BLOCK: usize = 4 * WORD;

/// Copies `length` bytes upwards.
///
/// # Safety
/// `source` is readable and `target` writable for `length` bytes; if they
/// overlap, `target` is not above `source`.
pub unsafe fn copy_forward(target: *mut u8, source: *const u8, length: usize) {
    let mut at = 0;
    while length - at >= BLOCK {
        // SAFETY: the block lies below `length`, for which the caller vouches.
        unsafe { move_block(target.add(at), source.add(at)) };
        at += BLOCK;
    }
    while length - at >= WORD {
        // SAFETY: as above, for one word.
        unsafe { move_word(target.add(at), source.add(at)) };
        at += WORD;
    }
    while at < length {
        // SAFETY: as above, for one byte.
        unsafe { *target.add(at) = *source.add(at) };
        at += 1;
    }
}

/// Copies `length` bytes downwards, from the last to the first.
///
/// # Safety
/// `source` is readable and `target` writable for `length` bytes; if they
/// overlap, `target` is not below `source`.
pub unsafe fn copy_backward(target: *mut u8, source: *const u8, length: usize) {
    let mut left = length;
    while left >= WORD {
        left -= WORD;
        // SAFETY: the word lies below `length`, for which the caller vouches.
        unsafe { move_word(target.add(left), source.add(left)) };
    }
    while left > 0 {
        left -= 1;
        // SAFETY: as above, for one byte.
        unsafe { *target.add(left) = *source.add(left) };
    }
}

/// Sets `length` bytes to `value`.
///
/// # Safety
/// `target` is writable for `length` bytes.
pub unsafe fn fill(target: *mut u8, value: u8, length: usize) {
    let word = u64::from(value) * 0x0101_0101_0101_0101;
    let mut at = 0;
    while length - at >= BLOCK {
        // SAFETY: the block lies below `length`, for which the caller vouches.
        unsafe { target.add(at).cast::<[u64; 4]>().write_unaligned([word; 4]) };
        at += BLOCK;
    }
    while length - at >= WORD {
        // SAFETY: the word lies below `length`, for which the caller vouches.
        unsafe { target.add(at).cast::<u64>().write_unaligned(word) };
        at += WORD;
    }
    while at < length {
        // SAFETY: as above, for one byte.
        unsafe { *target.add(at) = value };
        at += 1;
    }
}

/// Compares `length` bytes in order: negative, zero or positive, as `memcmp`.
///
/// # Safety
/// Both are readable for `length` bytes.
#[must_use]
pub unsafe fn compare(left: *const u8, right: *const u8, length: usize) -> i32 {
    let mut at = 0;
    while length - at >= WORD {
        // SAFETY: the word lies below `length`, for which the caller vouches.
        let a = unsafe { left.add(at).cast::<u64>().read_unaligned() };
        // SAFETY: as above.
        let b = unsafe { right.add(at).cast::<u64>().read_unaligned() };
        if a != b {
            return if a.swap_bytes() < b.swap_bytes() {
                -1
            } else {
                1
            };
        }
        at += WORD;
    }
    while at < length {
        // SAFETY: as above, for one byte.
        let (a, b) = unsafe { (*left.add(at), *right.add(at)) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
        at += 1;
    }
    0
}

/// Moves one word; unaligned.
#[inline(always)]
unsafe fn move_word(target: *mut u8, source: *const u8) {
    // SAFETY: both sides hold a word, by the callers above.
    let word = unsafe { source.cast::<u64>().read_unaligned() };
    // SAFETY: as above.
    unsafe { target.cast::<u64>().write_unaligned(word) };
}

/// Moves four words, all read before the first is written.
#[inline(always)]
unsafe fn move_block(target: *mut u8, source: *const u8) {
    // SAFETY: both sides hold four words, by the caller above.
    let block = unsafe { source.cast::<[u64; 4]>().read_unaligned() };
    // SAFETY: as above.
    unsafe { target.cast::<[u64; 4]>().write_unaligned(block) };
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::{vec, vec::Vec};

    fn pattern(length: usize) -> Vec<u8> {
        (0..length)
            .map(|index| (index % 251).to_le_bytes()[0])
            .collect()
    }

    #[test]
    fn copies_every_length_and_alignment() {
        for length in 0..100 {
            for shift in 0..9 {
                let source = pattern(length + shift);
                let mut target = vec![0xee; length + 2];
                // SAFETY: both vectors hold `length` bytes behind the offsets.
                unsafe {
                    copy_forward(
                        target.as_mut_ptr().add(1),
                        source.as_ptr().add(shift),
                        length,
                    )
                };
                assert_eq!(&target[1..=length], &source[shift..]);
                assert_eq!((target[0], target[length + 1]), (0xee, 0xee));
            }
        }
    }

    #[test]
    fn moves_overlapping_ranges_both_ways() {
        for length in [1, 7, 8, 9, 31, 32, 33, 70] {
            for distance in [1, 3, 8, 31, 40] {
                let mut expected = pattern(length + distance);
                expected.copy_within(0..length, distance);
                let mut moved = pattern(length + distance);
                let start = moved.as_mut_ptr();
                // SAFETY: both ranges lie in the vector; the target is above.
                unsafe { copy_backward(start.add(distance), start, length) };
                assert_eq!(moved, expected);

                let mut expected = pattern(length + distance);
                expected.copy_within(distance.., 0);
                let mut moved = pattern(length + distance);
                let start = moved.as_mut_ptr();
                // SAFETY: both ranges lie in the vector; the target is below.
                unsafe { copy_forward(start, start.add(distance), length) };
                assert_eq!(moved, expected);
            }
        }
    }

    #[test]
    fn fills_exactly_the_range() {
        for length in 0..100 {
            let mut target = vec![1; length + 2];
            // SAFETY: the vector holds `length` bytes behind the first.
            unsafe { fill(target.as_mut_ptr().add(1), 0xa5, length) };
            assert!(target[1..=length].iter().all(|&byte| byte == 0xa5));
            assert_eq!((target[0], target[length + 1]), (1, 1));
        }
    }

    #[test]
    fn compares_in_byte_order() {
        for length in 1..40 {
            let left = pattern(length);
            for at in 0..length {
                let mut right = left.clone();
                right[at] = right[at].wrapping_add(1);
                let expected = left.cmp(&right) as i32;
                // SAFETY: both vectors hold `length` bytes.
                let found = unsafe { compare(left.as_ptr(), right.as_ptr(), length) };
                assert_eq!(found.signum(), expected);
            }
            // SAFETY: as above.
            assert_eq!(unsafe { compare(left.as_ptr(), left.as_ptr(), length) }, 0);
        }
    }
}
