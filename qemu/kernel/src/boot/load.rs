//! From a program to an address space that can run it.

use capos_config::capset::CAPSET_VADDR;
use capos_config::process_layout::{
    USER_PAGE_BYTES, USER_STACK_BASE, USER_STACK_PAGES, USER_STACK_TOP,
};
use capos_config::ring::RING_VADDR;
use harness_kernel::call::ticket::ProcessIndex;
use harness_kernel::program::{Program, Segment, SegmentAccess};

use crate::memory::address_space::{AddressSpace, Claim};
use crate::memory::frames::{Frame, OutOfFrames};
use crate::memory::page_table::Access;
use crate::trap::user_context::UserContext;

/// A program in memory, not yet a process.
pub(crate) struct Loaded {
    /// Its memory.
    pub(crate) space: AddressSpace,
    /// Its state at the first instruction.
    pub(crate) context: UserContext,
}

/// Loads `program` for the process at `index`, with the CapSet page `capset`. The first
/// process has its memory for sure, whatever the others touch.
pub(crate) fn load(
    program: &Program<'_>,
    index: ProcessIndex,
    capset: &[u8],
) -> Result<Loaded, OutOfFrames> {
    let claim = match index {
        ProcessIndex(0) => Claim::Kept,
        _ => Claim::Shared,
    };
    let pid = index.number();
    let mut space = AddressSpace::new(claim)?;
    for segment in &program.segments {
        let access = match segment.access {
            SegmentAccess::Execute => Access::UserExecute,
            SegmentAccess::Read => Access::UserRead,
            SegmentAccess::Write => Access::UserWrite,
        };
        map_segment(&mut space, segment, access)?;
    }
    for page in 0..USER_STACK_PAGES {
        let address = USER_STACK_BASE.saturating_add(page.saturating_mul(USER_PAGE_BYTES));
        space.map(address, Frame::zeroed()?, Access::UserWrite)?;
    }
    let arguments = [RING_VADDR, u64::from(pid), CAPSET_VADDR];
    let mut context = UserContext::starting(program.entry, USER_STACK_TOP, arguments);
    if let Some(block) = &program.thread_local {
        let bytes = block.pointer.saturating_sub(block.address);
        map_content(
            &mut space,
            block.address,
            block.content,
            bytes,
            Access::UserWrite,
        )?;
        let own = block.pointer.to_le_bytes();
        map_content(&mut space, block.pointer, &own, 8, Access::UserWrite)?;
        context.fs_base = block.pointer;
    }
    map_content(
        &mut space,
        CAPSET_VADDR,
        capset,
        USER_PAGE_BYTES,
        Access::UserRead,
    )?;
    Ok(Loaded { space, context })
}

/// Maps a segment. Writable pages behind its content are left to the first
/// touch.
fn map_segment(
    space: &mut AddressSpace,
    segment: &Segment<'_>,
    access: Access,
) -> Result<(), OutOfFrames> {
    let end = segment.address.saturating_add(segment.bytes);
    let content_end = segment
        .address
        .saturating_add(segment.content.len() as u64)
        .next_multiple_of(USER_PAGE_BYTES)
        .min(end);
    let now = if access == Access::UserWrite {
        content_end
    } else {
        end
    };
    let bytes = now.saturating_sub(segment.address);
    map_content(space, segment.address, segment.content, bytes, access)?;
    let first_zeros = segment.address.max(now) & !(USER_PAGE_BYTES - 1);
    if now < end {
        space.reserve_zeros(first_zeros..end.next_multiple_of(USER_PAGE_BYTES))?;
    }
    Ok(())
}

/// Maps `bytes` from `address`, filled with `content` and then zeros. Pages
/// that are mapped already (the thread-local block shares its last with the
/// thread pointer) are added to.
fn map_content(
    space: &mut AddressSpace,
    address: u64,
    content: &[u8],
    bytes: u64,
    access: Access,
) -> Result<(), OutOfFrames> {
    let end = address.saturating_add(bytes);
    let mut at = address;
    let mut rest = content;
    while at < end {
        let page = at & !(USER_PAGE_BYTES - 1);
        let offset = at & (USER_PAGE_BYTES - 1);
        let room = USER_PAGE_BYTES
            .saturating_sub(offset)
            .min(end.saturating_sub(at));
        if space.entry(page).is_none() {
            space.map(page, Frame::zeroed()?, access)?;
        }
        let count = rest.len().min(usize::try_from(room).unwrap_or(0));
        let (now, later) = rest.split_at(count);
        if let Some(entry) = space.entry(page) {
            crate::memory::user::fill_page(entry, offset, now);
        }
        rest = later;
        at = at.saturating_add(room);
    }
    Ok(())
}
