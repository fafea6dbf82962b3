//! The kernel's evidence line about its memory: at the end, and whenever the processor is
//! idle and the figures have changed, but not often.

use super::{frames, heap};
use crate::device::console::print_line;

/// Time between two looks.
const PAUSE_NANOSECONDS: u64 = 5_000_000_000;

/// What is in use.
#[derive(Clone, Copy, PartialEq, Eq)]
struct InUse {
    frames: usize,
    heap: usize,
}

/// What was told last, and when to look again.
#[derive(Default)]
pub(crate) struct MemoryEvidence {
    told: Option<InUse>,
    look_at: Option<u64>,
}

impl MemoryEvidence {
    /// The processor is idle: tells what has changed.
    pub(crate) fn idle(&mut self, now: u64) {
        if self.look_at.is_some_and(|at| now < at) {
            return;
        }
        self.look_at = Some(now.saturating_add(PAUSE_NANOSECONDS));
        let in_use = in_use();
        // What the boot took is not news.
        if self.told.replace(in_use).is_some_and(|told| told != in_use) {
            tell();
        }
    }
}

fn in_use() -> InUse {
    InUse {
        frames: frames::usage().used,
        heap: heap::usage().0,
    }
}

/// Prints the figures.
pub(crate) fn tell() {
    let memory = frames::usage();
    let (heap_used, heap_bytes) = heap::usage();
    print_line!(
        "memory frames_total={} frames_used={} frames_peak={} heap_used={heap_used} heap_bytes={heap_bytes}",
        memory.total,
        memory.used,
        memory.peak
    );
}
