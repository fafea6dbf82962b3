//! Memory that a card reads or writes, and the map of its registers.

use crate::memory::frames::{OutOfFrames, take_adjacent};
use crate::memory::kernel_map::map_device;
use crate::memory::layout::{FRAMES_LIMIT, PAGE_BYTES, PHYSICAL_BASE, physical_pointer};
use core::ops::Range;
use core::ptr::NonNull;
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

const _: () = assert!(PAGE_SIZE as u64 == PAGE_BYTES);

/// Where registers may lie: in none of the kernel's memory, and where a page table entry
/// can point.
pub(super) const PLACES: Range<u64> = FRAMES_LIMIT..1 << 52;

/// Takes adjacent pages, filled with zeros.
fn zeroed_pages(pages: usize) -> Result<NonNull<u8>, OutOfFrames> {
    let physical = take_adjacent(pages)?;
    let pointer = physical_pointer(physical);
    // SAFETY: the frames are owned and mapped.
    unsafe { pointer.write_bytes(0, pages.wrapping_mul(PAGE_SIZE)) };
    NonNull::new(pointer).ok_or(OutOfFrames)
}

/// Physical address of a byte in the map of all memory.
fn physical_address(pointer: NonNull<u8>) -> PhysAddr {
    (pointer.as_ptr().expose_provenance() as u64).wrapping_sub(PHYSICAL_BASE)
}

/// This kernel's memory as virtio-drivers sees it: identity-shared, no IOMMU.
pub(crate) struct KernelMemory;

// SAFETY: `dma_alloc` gives whole frames that nobody else holds, zeroed and page
// aligned; `mmio_phys_to_virt` maps each region anew, uncached.
unsafe impl Hal for KernelMemory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        // Physical address 0 is how the caller is told that there is none.
        zeroed_pages(pages).map_or((0, NonNull::dangling()), |pointer| {
            (physical_address(pointer), pointer)
        })
    }

    /// Keeps them: a card that was told of them and will not reset goes on writing them.
    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(physical: PhysAddr, bytes: usize) -> NonNull<u8> {
        // They were within them a moment ago, unless the card has changed them since.
        let mapped = PLACES
            .contains(&physical)
            .then(|| map_device(physical, bytes as u64).ok())
            .flatten()
            .and_then(|address| usize::try_from(address).ok())
            .and_then(|address| NonNull::new(core::ptr::with_exposed_provenance_mut(address)));
        // Only at boot, and the interface has no way to refuse.
        mapped.unwrap_or_else(|| panic!("cannot map device registers"))
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        physical_address(buffer.cast())
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
