//! The capability ring: calls go out, completions come back (INV-RING).
//!
//! Invariants: a call is written only where the kernel has taken the one before
//! (`space` is read from the kernel's own head); the tail is published after the
//! entry; a completion is copied out before its place is given back; indices
//! from the shared page are never trusted further than the ring is long.

use core::ptr::{NonNull, read_volatile, write_volatile};

use capos_config::ring::{
    self, CAP_OP_CALL, CAP_OP_RELEASE, CQ_ENTRIES, CapCqe, CapRingHeader, CapSqe, SQ_ENTRIES,
};
use capos_rt::syscall::{self, CAP_ENTER_WAIT_FOREVER, SyscallError};
use remote_session_web_ui::grants::CapId;
use remote_session_web_ui::tag::Tag;

use super::fatal::Fatal;

/// One method call, with where its parameters are and where its result goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// Whose method.
    pub(super) cap: CapId,
    /// Which method.
    pub(super) method: u16,
    /// Address and length of the encoded parameters.
    pub(super) params: Memory,
    /// Address and length of the room for the result.
    pub(super) result: Memory,
    /// What the completion will carry.
    pub(super) tag: Tag,
}

/// Memory that the kernel reads or writes for a call in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    address: u64,
    bytes: u32,
}

impl Memory {
    /// No memory: a call without a result of interest.
    pub(super) const NONE: Self = Self {
        address: 0,
        bytes: 0,
    };

    /// Memory that the kernel reads.
    pub(super) fn read(bytes: &[u8]) -> Self {
        Self::new(bytes.as_ptr().expose_provenance(), bytes.len())
    }

    /// Memory that the kernel writes.
    pub(super) fn write(bytes: &mut [u8]) -> Self {
        Self::new(bytes.as_mut_ptr().expose_provenance(), bytes.len())
    }

    fn new(address: usize, bytes: usize) -> Self {
        // Every buffer of the service is far below 4 GiB; a longer one would be
        // offered to the kernel shortened, which is safe.
        Self {
            address: address as u64,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        }
    }
}

/// How long `enter` may stay in the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    /// Hand over and take what is ready.
    Not,
    /// Until a completion is there or so many nanoseconds have passed.
    For(u64),
    /// Until a completion is there.
    Forever,
}

/// A completion, in the service's own terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    /// What it answers.
    pub(super) tag: Tag,
    /// Result bytes written, or a negative transport code.
    pub(super) result: i32,
    /// Capabilities that were transferred behind the result.
    pub(super) caps: u16,
}

/// The process's one ring.
pub(super) struct Ring {
    page: NonNull<u8>,
}

impl Ring {
    /// Takes the ring page over.
    ///
    /// # Safety
    /// `page` is the mapped ring page of this process, and nothing else in the
    /// process uses it for as long as the `Ring` lives.
    pub(super) unsafe fn attach(page: *mut u8) -> Result<Self, Fatal> {
        let page = NonNull::new(page).ok_or(Fatal::RingLayout)?;
        let ring = Self { page };
        // SAFETY: the caller vouches for the page, which starts with the header.
        let header: CapRingHeader = unsafe { read_volatile(ring.header()) };
        let found = (
            header.sq_entries,
            header.cq_entries,
            header.sqe_offset,
            header.cqe_offset,
        );
        let expected = (
            SQ_ENTRIES,
            CQ_ENTRIES,
            ring::SQE_ARRAY_OFFSET,
            ring::CQE_ARRAY_OFFSET,
        );
        if found != expected {
            return Err(Fatal::RingLayout);
        }
        Ok(ring)
    }

    fn header(&self) -> *mut CapRingHeader {
        self.page.as_ptr().cast()
    }

    /// Calls that can be pushed before the next `enter`.
    pub(super) fn space(&self) -> u32 {
        // SAFETY: INV-RING, the page is mapped and ours.
        let head = unsafe { ring::sq_head(self.header()) };
        // SAFETY: as above.
        let tail = unsafe { ring::sq_tail(self.header()) };
        SQ_ENTRIES.saturating_sub(tail.wrapping_sub(head))
    }

    /// Puts a call into the ring; the kernel sees it at the next `enter`.
    ///
    /// # Errors
    /// [`Fatal::RingFull`] without `space`.
    ///
    /// # Safety
    /// The memory of both spans stays where it is until the completion is
    /// taken; that of the result is not looked at before that.
    pub(super) unsafe fn push(&mut self, call: Call) -> Result<(), Fatal> {
        self.write(CapSqe {
            opcode: CAP_OP_CALL,
            method_id: call.method,
            cap_id: call.cap.0,
            user_data: call.tag.to_word(),
            addr: call.params.address,
            len: call.params.bytes,
            result_addr: call.result.address,
            result_len: call.result.bytes,
            ..EMPTY
        })
    }

    /// Gives a slot of the capability table back.
    ///
    /// # Errors
    /// [`Fatal::RingFull`] without `space`.
    pub(super) fn push_release(&mut self, cap: CapId) -> Result<(), Fatal> {
        self.write(CapSqe {
            opcode: CAP_OP_RELEASE,
            cap_id: cap.0,
            user_data: Tag::Release.to_word(),
            ..EMPTY
        })
    }

    fn write(&mut self, entry: CapSqe) -> Result<(), Fatal> {
        if self.space() == 0 {
            return Err(Fatal::RingFull);
        }
        // SAFETY: INV-RING, the page is mapped and ours.
        let tail = unsafe { ring::sq_tail(self.header()) };
        let index = tail & (SQ_ENTRIES - 1);
        // SAFETY: the index is below the number of entries in the page.
        let place = unsafe { ring::sqe_at(self.page.as_ptr(), index) }.cast_mut();
        // SAFETY: the place is in the page, aligned, and not the kernel's: it
        // lies at or past the tail, and `space` says that the ring is not full.
        unsafe { write_volatile(place, entry) };
        // SAFETY: INV-RING; the entry is written.
        unsafe { ring::publish_sq_tail(self.header(), tail.wrapping_add(1)) };
        Ok(())
    }

    /// Hands the calls over and waits as told.
    ///
    /// # Errors
    /// [`Fatal::EnterRejected`] if the kernel refuses the ring itself.
    pub(super) fn enter(&mut self, wait: Wait) -> Result<(), Fatal> {
        let (completions, timeout_ns) = match wait {
            Wait::Not => (0, 0),
            Wait::For(timeout_ns) => (1, timeout_ns),
            Wait::Forever => (1, CAP_ENTER_WAIT_FOREVER),
        };
        match syscall::cap_enter(completions, timeout_ns) {
            Ok(_) | Err(SyscallError::SqConsumerBusy | SyscallError::ThreadOwnedHead) => Ok(()),
            Err(SyscallError::Rejected) => Err(Fatal::EnterRejected),
        }
    }

    /// The oldest completion that was not taken yet.
    ///
    /// # Errors
    /// [`Fatal::CompletionQueue`] if the kernel's indices make no sense, and
    /// [`Fatal::UnknownCompletion`] for an answer to nothing that was asked.
    pub(super) fn pop(&mut self) -> Result<Option<Completion>, Fatal> {
        // SAFETY: INV-RING, the page is mapped and ours.
        let head = unsafe { ring::cq_head(self.header()) };
        // SAFETY: as above.
        let tail = unsafe { ring::cq_tail(self.header()) };
        match ring::cq_pending_or_recovery_head(head, tail) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(_) => return Err(Fatal::CompletionQueue),
        }
        core::sync::atomic::fence(core::sync::atomic::Ordering::Acquire);
        // SAFETY: the index is below the number of entries in the page.
        let place = unsafe { ring::cqe_at(self.page.as_ptr(), head & (CQ_ENTRIES - 1)) };
        // SAFETY: the place is in the page, aligned, and written by the kernel
        // before it moved the tail past it.
        let entry: CapCqe = unsafe { read_volatile(place) };
        // SAFETY: INV-RING; the entry has been copied out.
        unsafe { ring::set_cq_head(self.header(), head.wrapping_add(1)) };
        let tag = Tag::from_word(entry.user_data).ok_or(Fatal::UnknownCompletion)?;
        Ok(Some(Completion {
            tag,
            result: entry.result,
            caps: entry.cap_count,
        }))
    }
}

const EMPTY: CapSqe = CapSqe {
    opcode: 0,
    flags: 0,
    method_id: 0,
    cap_id: 0,
    user_data: 0,
    addr: 0,
    len: 0,
    result_len: 0,
    result_addr: 0,
    pipeline_dep: 0,
    pipeline_field: 0,
    xfer_cap_count: 0,
    call_id: 0,
    session_disclosure: 0,
};
