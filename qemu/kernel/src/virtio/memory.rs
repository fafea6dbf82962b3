//! Memory that a device reads or writes, and the map of its registers.
//!
//! Invariants: VIRTIO-BUFFER (a buffer has one owner: the driver, who may touch
//! its bytes, or a queue, on the device's behalf, when nobody here does).

use crate::memory::frames::{OutOfFrames, give_adjacent, take_adjacent};
use crate::memory::kernel_map::map_device;
use crate::memory::layout::{PAGE_BYTES, PHYSICAL_BASE, physical_pointer};
use alloc::vec::Vec;
use core::ptr::NonNull;
use virtio_drivers::{BufferDirection, Hal, PhysAddr};

/// Bytes of a buffer: a frame and its virtio header fit, two make a page.
pub(crate) const BUFFER_BYTES: usize = 2_048;

const BUFFERS_PER_PAGE: usize = 2;
const PAGE: usize = BUFFER_BYTES * BUFFERS_PER_PAGE;
const _: () = assert!(PAGE as u64 == PAGE_BYTES);

/// One owned buffer in memory that devices can reach, for as long as the
/// machine runs.
pub(crate) struct Buffer(NonNull<[u8; BUFFER_BYTES]>);

impl Buffer {
    /// Takes memory for `count` buffers, filled with zeros.
    pub(crate) fn take(count: usize) -> Result<Vec<Self>, OutOfFrames> {
        let mut buffers = Vec::with_capacity(count);
        while buffers.len() < count {
            let page = zeroed_pages(1)?;
            for part in 0..BUFFERS_PER_PAGE.min(count.wrapping_sub(buffers.len())) {
                let offset = part.wrapping_mul(BUFFER_BYTES);
                // SAFETY: both halves lie in the page just taken.
                let start = unsafe { page.add(offset) };
                buffers.push(Self(start.cast()));
            }
        }
        Ok(buffers)
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8; BUFFER_BYTES] {
        // SAFETY: the memory is mapped for ever, and whoever holds the buffer
        // is its only user (VIRTIO-BUFFER).
        unsafe { self.0.as_ref() }
    }

    /// Its bytes.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8; BUFFER_BYTES] {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

/// Takes adjacent pages, filled with zeros.
fn zeroed_pages(pages: usize) -> Result<NonNull<u8>, OutOfFrames> {
    let physical = take_adjacent(pages)?;
    let pointer = physical_pointer(physical);
    // SAFETY: the frames are owned and mapped.
    unsafe { pointer.write_bytes(0, pages.wrapping_mul(PAGE)) };
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

    unsafe fn dma_dealloc(physical: PhysAddr, _: NonNull<u8>, pages: usize) -> i32 {
        give_adjacent(physical, pages);
        0
    }

    unsafe fn mmio_phys_to_virt(physical: PhysAddr, bytes: usize) -> NonNull<u8> {
        let mapped = map_device(physical, bytes as u64)
            .ok()
            .and_then(|address| usize::try_from(address).ok())
            .and_then(|address| NonNull::new(core::ptr::with_exposed_provenance_mut(address)));
        // Only at boot, and the interface has no way to refuse.
        mapped.unwrap_or_else(|| panic!("no memory to map device registers"))
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        physical_address(buffer.cast())
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
