//! Physical frames: who owns each is known by who holds its [`Frame`].
//!
//! The bitmap is `capos_lib`'s; this file gives it memory and turns frame
//! numbers into owned tokens. A `Frame` is given back exactly once, by value.

use core::mem::ManuallyDrop;

use capos_lib::frame_bitmap::FrameBitmap;

use super::layout::{FRAMES_LIMIT, PAGE_BYTES, physical_pointer, to_usize};
use super::region::{Region, RegionList};
use crate::cell::KernelCell;

const FRAMES_MAX: usize = 0x4_0000;
const BITMAP_BYTES: usize = FRAMES_MAX / 8;
const _: () = assert!(FRAMES_MAX as u64 * PAGE_BYTES == FRAMES_LIMIT);

static BITMAP: KernelCell<[u8; BITMAP_BYTES]> = KernelCell::new([0; BITMAP_BYTES]);
static POOL: KernelCell<Option<Pool>> = KernelCell::new(None);

struct Pool {
    bitmap: FrameBitmap<'static>,
    usable: usize,
    lowest_free: usize,
    /// Free frames that only [`Frame::kept`] may take.
    kept: usize,
}

impl Pool {
    /// Takes `count` adjacent frames that are not kept; index of the first.
    fn take(&mut self, count: usize) -> Result<usize, OutOfFrames> {
        if count > self.bitmap.free_count().saturating_sub(self.kept) {
            return Err(OutOfFrames);
        }
        let index = match count {
            1 => self.bitmap.alloc_frame(),
            _ => self.bitmap.alloc_contiguous(count),
        };
        self.lowest_free = self.lowest_free.min(self.bitmap.free_count());
        index.ok_or(OutOfFrames)
    }
}

const fn address_of(index: usize) -> u64 {
    (index as u64).wrapping_mul(PAGE_BYTES)
}

/// No frame is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfFrames;

/// One owned physical frame. Dropping one without [`Frame::free`] leaks it,
/// which is what page tables do on purpose.
#[must_use]
pub(crate) struct Frame(u64);

impl Frame {
    /// Takes a frame and fills it with zeros.
    pub(crate) fn zeroed() -> Result<Self, OutOfFrames> {
        let address = take_adjacent(1)?;
        let frame = Self(address);
        let bytes = frame.pointer();
        // SAFETY: the frame is owned, and all of it is mapped.
        unsafe { bytes.write_bytes(0, to_usize(PAGE_BYTES)) };
        Ok(frame)
    }

    /// Takes one of the frames that [`keep`] set aside, and fills it with zeros.
    pub(crate) fn kept() -> Result<Self, OutOfFrames> {
        POOL.with(|pool| {
            let pool = pool.as_mut().ok_or(OutOfFrames)?;
            pool.kept = pool.kept.checked_sub(1).ok_or(OutOfFrames)?;
            Ok(())
        })?;
        Self::zeroed()
    }

    /// Kernel pointer to the frame's bytes.
    pub(crate) fn pointer(&self) -> *mut u8 {
        physical_pointer(self.0)
    }

    /// Gives up the token while the frame stays in use; the address goes into
    /// a page table, from which [`Frame::reclaim`] takes it back.
    pub(crate) fn into_address(self) -> u64 {
        ManuallyDrop::new(self).0
    }

    /// Token for a frame whose address [`Frame::into_address`] gave.
    pub(crate) const fn reclaim(address: u64) -> Self {
        Self(address)
    }

    /// Gives the frame back.
    pub(crate) fn free(self) {
        POOL.with(|pool| {
            if let Some(pool) = pool.as_mut() {
                let index = to_usize(self.0 / PAGE_BYTES);
                assert!(pool.bitmap.free_frame(index).is_ok(), "frame freed twice");
            }
        });
    }
}

/// Takes `count` adjacent frames for as long as the machine runs; physical
/// address of the first.
pub(crate) fn take_adjacent(count: usize) -> Result<u64, OutOfFrames> {
    POOL.with(|pool| {
        let pool = pool.as_mut().ok_or(OutOfFrames)?;
        pool.take(count).map(address_of)
    })
}

/// Sets `count` free frames aside for [`Frame::kept`].
pub(crate) fn keep(count: u64) -> Result<(), OutOfFrames> {
    POOL.with(|pool| {
        let pool = pool.as_mut().ok_or(OutOfFrames)?;
        let kept = pool.kept.saturating_add(to_usize(count));
        if kept > pool.bitmap.free_count() {
            return Err(OutOfFrames);
        }
        pool.kept = kept;
        Ok(())
    })
}

/// How much memory is and was in use, in frames.
pub(crate) struct FrameUse {
    /// Frames of RAM that the kernel manages.
    pub(crate) total: usize,
    /// In use now.
    pub(crate) used: usize,
    /// Most in use at once.
    pub(crate) peak: usize,
}

/// The present figures.
pub(crate) fn usage() -> FrameUse {
    POOL.with(|pool| {
        pool.as_ref().map_or(
            FrameUse {
                total: 0,
                used: 0,
                peak: 0,
            },
            |pool| FrameUse {
                total: pool.usable,
                used: pool.usable.saturating_sub(pool.bitmap.free_count()),
                peak: pool.usable.saturating_sub(pool.lowest_free),
            },
        )
    })
}

/// Starts the pool: `usable` less `taken`; the first MiB is never used.
pub(crate) fn start(usable: &RegionList, taken: &[Region]) {
    let bitmap = BITMAP.leak();
    bitmap.fill(0xff);
    let top = usable
        .iter()
        .map(|region| region.end().min(FRAMES_LIMIT) / PAGE_BYTES)
        .max()
        .unwrap_or(0);
    let mut pool = FrameBitmap::new(bitmap, to_usize(top), 0);
    for region in usable.iter() {
        let first = region.start.max(0x10_0000).div_ceil(PAGE_BYTES);
        let end = region.end().min(FRAMES_LIMIT) / PAGE_BYTES;
        for index in first..end {
            pool.mark_free(to_usize(index));
        }
    }
    let usable = pool.free_count();
    for region in taken {
        let end = region.end().min(FRAMES_LIMIT).div_ceil(PAGE_BYTES).min(top);
        for index in region.start / PAGE_BYTES..end {
            pool.mark_used(to_usize(index));
        }
    }
    let lowest_free = pool.free_count();
    POOL.with(|slot| {
        *slot = Some(Pool {
            bitmap: pool,
            usable,
            lowest_free,
            kept: 0,
        })
    });
}
