//! Memory that the process lent to the kernel with a call: all that the kernel
//! can reach of it.
//!
//! What the kernel may read must not change, what it may write must neither be
//! read nor written, until the completion: both are checked byte for byte, and
//! so is that no two calls in flight share a byte that one of them writes.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;

use capos_config::ring::{CapCqe, CapSqe};
use harness_kernel::call::kinds::Object;
use harness_kernel::user_range::UserRange;
use harness_kernel::user_space::{NotMapped, Purpose, Queues, UserSpace};

/// What the host's addresses are cut down to, so that they look like those of a
/// process: its statics are far smaller than this.
const SPAN: u64 = 1 << 24;
const POISON: u8 = 0xa5;

/// A call in flight.
pub(crate) struct Lent {
    /// The kernel's name for the call, and the process's.
    pub(crate) serial: u64,
    pub(crate) entry: CapSqe,
    pub(crate) object: Object,
    params: Range<u64>,
    result: Range<u64>,
    params_copy: Vec<u8>,
    /// What the result memory holds if the kernel alone has written to it.
    result_copy: Vec<u8>,
}

impl Lent {
    /// Takes what a call lends, and fills what it lends for writing with a
    /// pattern that nobody must touch.
    pub(crate) fn take(serial: u64, entry: CapSqe, object: Object) -> Self {
        let range = |start: u64, bytes: u32| start..start + u64::from(bytes);
        let params = range(entry.addr, entry.len);
        let result = range(entry.result_addr, entry.result_len);
        let lent = Self {
            serial,
            entry,
            object,
            params_copy: read(&params),
            result_copy: vec![POISON; entry.result_len as usize],
            params,
            result,
        };
        assert!(
            !overlap(&lent.params, &lent.result),
            "a call lends its parameters for writing"
        );
        write(lent.result.start, &lent.result_copy);
        lent
    }

    /// What the kernel gets to see: the same call, under its own name, at
    /// addresses that a process may have.
    pub(crate) fn seen(&self) -> CapSqe {
        CapSqe {
            user_data: self.serial,
            addr: self.entry.addr % SPAN,
            result_addr: self.entry.result_addr % SPAN,
            ..self.entry
        }
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

    /// Fails if the process touched what it has lent.
    pub(crate) fn check_untouched(&self) {
        assert_eq!(
            read(&self.params),
            self.params_copy,
            "parameters changed while the call was in flight"
        );
        assert!(
            read(&self.result) == self.result_copy,
            "result memory was written while the call was in flight"
        );
    }

    /// The result as the kernel wrote it.
    pub(crate) fn result(&self) -> &[u8] {
        &self.result_copy
    }

    /// Writes to the result memory, at `offset`.
    pub(crate) fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.check_untouched();
        self.result_copy[offset..offset + bytes.len()].copy_from_slice(bytes);
        write(self.result.start + offset as u64, bytes);
    }
}

/// The process's memory, as far as it is lent.
#[derive(Default)]
pub(crate) struct Space {
    /// The calls in flight.
    pub(crate) lent: RefCell<Vec<Lent>>,
    ring: Ring,
}

impl Space {
    /// The part of a call's memory that `range` names.
    fn place(range: UserRange, of: &Range<u64>) -> Option<Range<usize>> {
        let offset = range.start().checked_sub(of.start % SPAN)?;
        let end = offset + u64::from(range.length());
        (end <= of.end - of.start).then_some(offset as usize..end as usize)
    }

    fn read_from<R>(
        &self,
        range: UserRange,
        body: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, NotMapped> {
        let all = self.lent.borrow();
        let found = all.iter().rev().find_map(|lent| {
            let place = Self::place(range, &lent.params)?;
            Some((lent, place))
        });
        let (lent, place) = found.ok_or(NotMapped)?;
        lent.check_untouched();
        Ok(body(&lent.params_copy[place]))
    }

    fn write_to<R>(
        &self,
        range: UserRange,
        body: impl FnOnce(&mut Lent, Range<usize>) -> R,
    ) -> Result<R, NotMapped> {
        let mut all = self.lent.borrow_mut();
        let found = all.iter_mut().rev().find_map(|lent| {
            let place = Self::place(range, &lent.result)?;
            Some((lent, place))
        });
        let (lent, place) = found.ok_or(NotMapped)?;
        Ok(body(lent, place))
    }
}

impl UserSpace for Space {
    type Queues = Ring;

    fn queues(&self) -> &Ring {
        &self.ring
    }

    fn check(&self, range: UserRange, purpose: Purpose) -> Result<(), NotMapped> {
        match purpose {
            Purpose::Read => self.read_from(range, |_| ()),
            Purpose::Write => self.write_to(range, |_, _| ()),
        }
    }

    fn read(&self, range: UserRange, target: &mut [u8]) -> Result<(), NotMapped> {
        self.read_from(range, |bytes| target.copy_from_slice(bytes))
    }

    fn write(&self, range: UserRange, source: &[u8]) -> Result<(), NotMapped> {
        self.write_to(range, |lent, place| lent.write(place.start, source))
    }

    fn with_writable(
        &self,
        range: UserRange,
        mut body: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), NotMapped> {
        self.write_to(range, |lent, place| {
            let mut part = lent.result_copy[place.clone()].to_vec();
            body(&mut part);
            lent.write(place.start, &part);
        })
    }

    fn with_readable(
        &self,
        range: UserRange,
        mut body: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), NotMapped> {
        self.read_from(range, |bytes| {
            body(bytes);
        })
    }
}

/// The kernel's side of the queues: one submission at a time goes in, and
/// completions are taken as they come.
#[derive(Default)]
pub(crate) struct Ring {
    state: RefCell<RingState>,
}

#[derive(Default)]
struct RingState {
    submitted: u32,
    submission: Option<CapSqe>,
    taken: u32,
    posted: VecDeque<CapCqe>,
}

impl Ring {
    /// Submits.
    pub(crate) fn submit(&self, entry: CapSqe) {
        let mut state = self.state.borrow_mut();
        state.submitted = state.submitted.wrapping_add(1);
        state.submission = Some(entry);
    }

    /// Takes the oldest completion.
    pub(crate) fn take(&self) -> Option<CapCqe> {
        let mut state = self.state.borrow_mut();
        let completion = state.posted.pop_front()?;
        state.taken = state.taken.wrapping_add(1);
        Some(completion)
    }
}

impl Queues for Ring {
    fn submission_tail(&self) -> u32 {
        self.state.borrow().submitted
    }

    fn submission(&self, _: u32) -> CapSqe {
        self.state.borrow().submission.unwrap()
    }

    fn set_submission_head(&self, _: u32) {}

    fn completion_head(&self) -> u32 {
        self.state.borrow().taken
    }

    fn set_completion(&self, _: u32, completion: CapCqe) {
        self.state.borrow_mut().posted.push_back(completion);
    }

    fn set_completion_tail(&self, _: u32) {}
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
