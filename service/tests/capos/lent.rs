//! Memory that the process lent to the kernel with a call.
//!
//! What the kernel may read must not change, what it may write must neither be
//! read nor written, until the completion: both are checked byte for byte, and
//! so is that no two calls in flight share a byte that one of them writes.

use std::ops::Range;

/// The memory of one call in flight.
pub(crate) struct Lent {
    params: Range<u64>,
    result: Range<u64>,
    params_copy: Vec<u8>,
}

const POISON: u8 = 0xa5;

impl Lent {
    /// Takes what a call lends, and fills what it lends for writing with a
    /// pattern that nobody must touch.
    pub(crate) fn take(params: (u64, u32), result: (u64, u32)) -> Self {
        let range = |(start, bytes): (u64, u32)| start..start + u64::from(bytes);
        let lent = Self {
            params: range(params),
            result: range(result),
            params_copy: read(&range(params)),
        };
        assert!(
            !overlap(&lent.params, &lent.result),
            "a call lends its parameters for writing"
        );
        write(
            lent.result.start,
            &vec![POISON; (lent.result.end - lent.result.start) as usize],
        );
        lent
    }

    /// The parameters as they were when the call was made.
    pub(crate) fn params(&self) -> &[u8] {
        &self.params_copy
    }

    /// Bytes of the result memory.
    pub(crate) fn room(&self) -> usize {
        (self.result.end - self.result.start) as usize
    }

    /// Fails if another call's memory is in the way of this one's.
    pub(crate) fn check_apart(&self, other: &Self) {
        let clash = overlap(&self.result, &other.result)
            || overlap(&self.result, &other.params)
            || overlap(&self.params, &other.result);
        assert!(
            !clash,
            "two calls in flight share memory that one of them writes"
        );
    }

    /// Fails if the process touched what it had lent; then writes the result.
    pub(crate) fn finish(self, result: &[u8]) {
        self.check_untouched();
        assert!(
            result.len() <= self.room(),
            "the kernel writes past the result memory"
        );
        write(self.result.start, result);
    }

    /// Fails if the process touched what it has lent.
    pub(crate) fn check_untouched(&self) {
        assert_eq!(
            read(&self.params),
            self.params_copy,
            "parameters changed while the call was in flight"
        );
        assert!(
            read(&self.result).iter().all(|byte| *byte == POISON),
            "result memory was written while the call was in flight"
        );
    }
}

fn overlap(left: &Range<u64>, right: &Range<u64>) -> bool {
    left.start < right.end && right.start < left.end && !left.is_empty() && !right.is_empty()
}

fn read(range: &Range<u64>) -> Vec<u8> {
    if range.is_empty() {
        return Vec::new();
    }
    let mut copy = vec![0; (range.end - range.start) as usize];
    let source = std::ptr::with_exposed_provenance::<u8>(range.start as usize);
    // SAFETY: the process lent this memory and is not running meanwhile.
    unsafe { std::ptr::copy_nonoverlapping(source, copy.as_mut_ptr(), copy.len()) };
    copy
}

fn write(start: u64, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let target = std::ptr::with_exposed_provenance_mut::<u8>(start as usize);
    // SAFETY: the process lent this memory for writing and is not running.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
}
