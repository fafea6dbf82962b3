//! User memory as the kernel sees it: checked against the process's tables,
//! then reached through the map of all memory. The kernel never follows a user
//! address, so a wrong one cannot fault.
//!
//! A process has one thread and is not running while the kernel is, so a range
//! that was checked stays good until the kernel returns to it.

use harness_kernel::user_range::{UserRange, page_pieces};
use harness_kernel::user_space::{NotMapped, Purpose, UserSpace};

use super::address_space::AddressSpace;
use super::layout::physical_pointer;
use super::page_table::Entry;
use super::ring_page::RingPage;

impl UserSpace for AddressSpace {
    type Queues = RingPage;

    fn queues(&self) -> &RingPage {
        self.ring()
    }

    fn check(&self, range: UserRange, purpose: Purpose) -> Result<(), NotMapped> {
        for piece in page_pieces(range) {
            piece_pointer(self, piece.address, purpose)?;
        }
        Ok(())
    }

    fn read(&self, range: UserRange, target: &mut [u8]) -> Result<(), NotMapped> {
        let mut rest = target;
        for piece in page_pieces(range) {
            let source = piece_pointer(self, piece.address, Purpose::Read)?;
            let (part, after) = rest.split_at_mut_checked(piece.length).ok_or(NotMapped)?;
            // SAFETY: the piece lies in one mapped frame, and `part` is as long.
            unsafe { source.copy_to_nonoverlapping(part.as_mut_ptr(), piece.length) };
            rest = after;
        }
        Ok(())
    }

    fn write(&self, range: UserRange, source: &[u8]) -> Result<(), NotMapped> {
        let mut rest = source;
        for piece in page_pieces(range) {
            let target = piece_pointer(self, piece.address, Purpose::Write)?;
            let (part, after) = rest.split_at_checked(piece.length).ok_or(NotMapped)?;
            // SAFETY: the piece lies in one mapped frame, and `part` is as long.
            unsafe { target.copy_from_nonoverlapping(part.as_ptr(), piece.length) };
            rest = after;
        }
        Ok(())
    }

    fn with_writable(
        &self,
        range: UserRange,
        mut body: impl FnMut(&mut [u8]) -> bool,
    ) -> Result<(), NotMapped> {
        for piece in page_pieces(range) {
            let target = piece_pointer(self, piece.address, Purpose::Write)?;
            // SAFETY: the piece lies in one mapped frame of a process that is not
            // running; nothing else refers to it while `body` runs.
            let part = unsafe { core::slice::from_raw_parts_mut(target, piece.length) };
            if !body(part) {
                break;
            }
        }
        Ok(())
    }

    fn with_readable(
        &self,
        range: UserRange,
        mut body: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), NotMapped> {
        for piece in page_pieces(range) {
            let source = piece_pointer(self, piece.address, Purpose::Read)?;
            // SAFETY: as above; nothing writes to it while `body` runs.
            let part = unsafe { core::slice::from_raw_parts(source, piece.length) };
            if !body(part) {
                break;
            }
        }
        Ok(())
    }
}

/// Kernel pointer to one user address, if its page allows `purpose`.
fn piece_pointer(
    space: &AddressSpace,
    address: u64,
    purpose: Purpose,
) -> Result<*mut u8, NotMapped> {
    let entry = space.entry(address).ok_or(NotMapped)?;
    if purpose == Purpose::Write && !entry.user_may_write() {
        return Err(NotMapped);
    }
    Ok(physical_pointer(
        entry.address().wrapping_add(address & 0xfff),
    ))
}

/// Copies `bytes` into the page of `entry` from `offset`; what does not fit the
/// page is left out. For pages that are being loaded, whatever their rights.
pub(crate) fn fill_page(entry: Entry, offset: u64, bytes: &[u8]) {
    let offset = offset & 0xfff;
    let room = usize::try_from(0x1000_u64.saturating_sub(offset)).unwrap_or(0);
    let count = bytes.len().min(room);
    let target = physical_pointer(entry.address().wrapping_add(offset));
    // SAFETY: the entry maps a frame of the process's own, and `count` bytes
    // from the offset lie in it.
    unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), count) };
}
