//! The kernel heap: one fixed piece of memory, so that nothing a process or a
//! packet does can make the kernel grow.

use linked_list_allocator::Heap;

use super::frames::{OutOfFrames, take_adjacent};
use super::layout::{PAGE_BYTES, physical_pointer, to_usize};
use crate::cell::KernelCell;

#[global_allocator]
static HEAP: KernelHeap = KernelHeap(KernelCell::new(Heap::empty()));

struct KernelHeap(KernelCell<Heap>);

// SAFETY: both methods pass to the heap, which was given memory of its own.
unsafe impl core::alloc::GlobalAlloc for KernelHeap {
    unsafe fn alloc(&self, layout: core::alloc::Layout) -> *mut u8 {
        self.0.with(|heap| {
            heap.allocate_first_fit(layout)
                .map_or(core::ptr::null_mut(), core::ptr::NonNull::as_ptr)
        })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: core::alloc::Layout) {
        if let Some(pointer) = core::ptr::NonNull::new(pointer) {
            // SAFETY: the caller gives back what `alloc` gave for `layout`.
            self.0
                .with(|heap| unsafe { heap.deallocate(pointer, layout) });
        }
    }
}

/// Gives the heap `bytes`, rounded up to whole pages.
pub(crate) fn start(bytes: usize) -> Result<(), OutOfFrames> {
    let page = to_usize(PAGE_BYTES);
    let pages = bytes.div_ceil(page);
    let memory = physical_pointer(take_adjacent(pages)?);
    // SAFETY: the frames were just taken and are never given back.
    HEAP.0
        .with(|heap| unsafe { heap.init(memory, pages.saturating_mul(page)) });
    Ok(())
}

/// Bytes in use, and bytes in all.
pub(crate) fn usage() -> (usize, usize) {
    HEAP.0.with(|heap| (heap.used(), heap.size()))
}
