//! The kernel half: built once, shared by every address space, so that a
//! system call changes no table.

use super::frames::OutOfFrames;
use super::layout::{
    DEVICE_BASE, Image, KERNEL_BASE, LARGE_PAGE_BYTES, PAGE_BYTES, PHYSICAL_BASE, image,
};
use super::page_table::{Access, Entry, Table, index, map};
use crate::cell::KernelCell;
use crate::cpu;

static ROOT: KernelCell<Option<Table>> = KernelCell::new(None);
static DEVICES_END: KernelCell<u64> = KernelCell::new(DEVICE_BASE);

/// Builds the kernel half for `memory_end` bytes of physical memory, and makes
/// it current.
pub(crate) fn build(memory_end: u64) -> Result<(), OutOfFrames> {
    let root = Table::create()?;
    let image = image();
    map_memory(root, memory_end, &image)?;
    map_image(root, &image)?;
    // The table under the device range exists from the start: address spaces
    // copy the root's entries, and must see devices that are mapped later.
    map(
        root,
        DEVICE_BASE,
        1,
        Access::Device,
        Entry::page(0, Access::Device),
    )?;
    map(root, DEVICE_BASE, 1, Access::Device, Entry::none())?;
    ROOT.with(|slot| *slot = Some(root));
    activate();
    Ok(())
}

/// Makes the kernel's own space the current one; none is before [`build`].
pub(crate) fn activate() {
    if let Some(root) = root() {
        // SAFETY: it maps all memory, and the image where it runs, with its
        // stacks.
        unsafe { cpu::load_tables(root.address()) };
    }
}

/// The root of the kernel's own space.
fn root() -> Option<Table> {
    ROOT.with(|slot| *slot)
}

/// Gives `target` the kernel half.
pub(crate) fn share_with(target: Table) {
    if let Some(root) = root() {
        for slot in 256..512 {
            target.set(slot, root.entry(slot));
        }
    }
}

/// Maps device registers, uncached; kernel address of the first byte.
pub(crate) fn map_device(physical: u64, bytes: u64) -> Result<u64, OutOfFrames> {
    let root = root().ok_or(OutOfFrames)?;
    let offset = physical % PAGE_BYTES;
    let pages = offset.saturating_add(bytes).div_ceil(PAGE_BYTES);
    let start = DEVICES_END.with(|end| {
        let start = *end;
        *end = start.saturating_add(pages.saturating_mul(PAGE_BYTES));
        start
    });
    let first = physical.saturating_sub(offset);
    for page in 0..pages {
        let step = page.saturating_mul(PAGE_BYTES);
        let entry = Entry::page(first.saturating_add(step), Access::Device);
        map(root, start.saturating_add(step), 1, Access::Device, entry)?;
    }
    Ok(start.saturating_add(offset))
}

/// All memory, in large pages except where the image lies.
fn map_memory(root: Table, memory_end: u64, image: &Image) -> Result<(), OutOfFrames> {
    let image_start = image.code.wrapping_sub(KERNEL_BASE);
    let image_end = image.end.wrapping_sub(KERNEL_BASE);
    let read_only = image_start..image.data.wrapping_sub(KERNEL_BASE);
    let mut at = 0;
    while at < memory_end {
        let virtual_at = PHYSICAL_BASE.wrapping_add(at);
        let large_end = (at / LARGE_PAGE_BYTES)
            .wrapping_add(1)
            .wrapping_mul(LARGE_PAGE_BYTES);
        let large_start = large_end.wrapping_sub(LARGE_PAGE_BYTES);
        if large_start >= image_end || large_end <= image_start {
            let entry = Entry::large_page(at, Access::KernelWrite);
            map(root, virtual_at, 2, Access::KernelWrite, entry)?;
            at = large_end;
        } else {
            let access = if read_only.contains(&at) {
                Access::KernelRead
            } else {
                Access::KernelWrite
            };
            map(root, virtual_at, 1, access, Entry::page(at, access))?;
            at = at.wrapping_add(PAGE_BYTES);
        }
    }
    Ok(())
}

/// The image at its link address, each part with its own rights, without the
/// guard pages.
fn map_image(root: Table, image: &Image) -> Result<(), OutOfFrames> {
    let mut at = image.code;
    while at < image.end {
        if !image.guards.contains(&at) {
            let access = if at < image.constants {
                Access::KernelExecute
            } else if at < image.data {
                Access::KernelRead
            } else {
                Access::KernelWrite
            };
            map(
                root,
                at,
                1,
                access,
                Entry::page(at.wrapping_sub(KERNEL_BASE), access),
            )?;
        }
        at = at.wrapping_add(PAGE_BYTES);
    }
    Ok(())
}

const _: () = assert!(index(PHYSICAL_BASE, 4) == 256 && index(DEVICE_BASE, 4) == 257);
