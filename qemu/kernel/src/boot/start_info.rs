//! What the boot loader left in memory (PVH start info), copied out once and
//! checked. Nothing else in the kernel reads it.
#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "an offset and the read at it are one step, resting on one bound"
)]

use crate::memory::layout::boot_pointer;
use crate::memory::region::{Region, RegionList};

/// Start info magic.
const MAGIC: u32 = 0x336e_c578;
/// Memory map type: usable RAM.
const USABLE: u32 = 1;
/// More entries than this are not read; no firmware has as many.
const ENTRIES_MAX: u32 = 64;

/// Why the start info cannot be used.
#[derive(Debug)]
pub(crate) enum StartInfoError {
    /// The pointer is outside the memory that the boot tables map.
    Unreachable,
    /// The magic number is wrong.
    Magic,
    /// The loader is too old to bring a memory map.
    NoMemoryMap,
    /// There is no module: no boot package.
    NoModule,
}

impl StartInfoError {
    /// One line for the console.
    pub(crate) const fn explain(&self) -> &'static str {
        match self {
            Self::Unreachable => "start info lies outside the first GiB",
            Self::Magic => "start info has a wrong magic number",
            Self::NoMemoryMap => "start info brings no memory map",
            Self::NoModule => "no boot package: give one with -initrd",
        }
    }
}

/// The machine as the loader describes it.
pub(crate) struct StartInfo {
    /// Usable RAM, physical addresses.
    pub(crate) usable: RegionList,
    /// The boot package, physical addresses.
    pub(crate) package: Region,
}

/// Reads the start info at physical address `at`.
pub(crate) fn read(at: u64) -> Result<StartInfo, StartInfoError> {
    let header = Reader::new(at, 56)?;
    if header.word32(0) != MAGIC {
        return Err(StartInfoError::Magic);
    }
    let version = header.word32(4);
    let map_entries = header.word32(48);
    if version < 1 || map_entries == 0 {
        return Err(StartInfoError::NoMemoryMap);
    }
    if header.word32(12) == 0 {
        return Err(StartInfoError::NoModule);
    }
    let module = Reader::new(header.word64(16), 32)?;
    let package = Region {
        start: module.word64(0),
        length: module.word64(8),
    };
    let mut usable = RegionList::new();
    let map_at = header.word64(40);
    for index in 0..map_entries.min(ENTRIES_MAX) {
        let entry = Reader::new(
            map_at.saturating_add(u64::from(index).saturating_mul(24)),
            24,
        )?;
        if entry.word32(16) == USABLE {
            usable.push(Region {
                start: entry.word64(0),
                length: entry.word64(8),
            });
        }
    }
    Ok(StartInfo { usable, package })
}

/// A bounded window on loader memory.
struct Reader {
    base: *const u8,
    length: usize,
}

impl Reader {
    fn new(physical: u64, length: usize) -> Result<Self, StartInfoError> {
        let base = boot_pointer(physical, length).ok_or(StartInfoError::Unreachable)?;
        Ok(Self { base, length })
    }

    fn word32(&self, offset: usize) -> u32 {
        assert!(offset.saturating_add(4) <= self.length, "start info offset");
        // SAFETY: `boot_pointer` vouches for `length` mapped bytes at `base`,
        // and the four bytes at `offset` lie among them.
        unsafe { self.base.add(offset).cast::<u32>().read_unaligned() }
    }

    fn word64(&self, offset: usize) -> u64 {
        assert!(offset.saturating_add(8) <= self.length, "start info offset");
        // SAFETY: as above, for eight bytes.
        unsafe { self.base.add(offset).cast::<u64>().read_unaligned() }
    }
}
