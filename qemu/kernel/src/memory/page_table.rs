//! The processor's page table format, and nothing else.

use super::frames::{Frame, OutOfFrames};
use super::layout::{PAGE_BYTES, physical_pointer};

const PRESENT: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const USER: u64 = 1 << 2;
const UNCACHED: u64 = 0b11 << 3;
const LARGE: u64 = 1 << 7;
const GLOBAL: u64 = 1 << 8;
const NO_EXECUTE: u64 = 1 << 63;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

/// Entries of a table.
pub(crate) const ENTRIES: u64 = 512;

/// What may be done with a page. There is no variant that both writes and
/// executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// User code.
    UserExecute,
    /// User constants.
    UserRead,
    /// User data.
    UserWrite,
    /// Kernel code.
    KernelExecute,
    /// Kernel constants.
    KernelRead,
    /// Kernel data.
    KernelWrite,
    /// Device registers.
    Device,
}

impl Access {
    const fn bits(self) -> u64 {
        match self {
            Self::UserExecute => PRESENT | USER,
            Self::UserRead => PRESENT | USER | NO_EXECUTE,
            Self::UserWrite => PRESENT | USER | WRITABLE | NO_EXECUTE,
            Self::KernelExecute => PRESENT | GLOBAL,
            Self::KernelRead => PRESENT | GLOBAL | NO_EXECUTE,
            Self::KernelWrite => PRESENT | GLOBAL | WRITABLE | NO_EXECUTE,
            Self::Device => PRESENT | GLOBAL | WRITABLE | NO_EXECUTE | UNCACHED,
        }
    }

    const fn is_user(self) -> bool {
        self.bits() & USER != 0
    }
}

/// One entry's value.
#[derive(Clone, Copy)]
pub(crate) struct Entry(u64);

impl Entry {
    /// Maps nothing.
    pub(crate) const fn none() -> Self {
        Self(0)
    }

    /// Maps a page.
    pub(crate) const fn page(physical: u64, access: Access) -> Self {
        Self(physical | access.bits())
    }

    /// Maps a large page.
    pub(crate) const fn large_page(physical: u64, access: Access) -> Self {
        Self(physical | access.bits() | LARGE)
    }

    const fn table(physical: u64, access: Access) -> Self {
        let user = if access.is_user() { USER } else { 0 };
        Self(physical | PRESENT | WRITABLE | user)
    }

    /// Whether the entry maps anything.
    pub(crate) const fn is_present(self) -> bool {
        self.0 & PRESENT != 0
    }

    const fn is_large(self) -> bool {
        self.0 & LARGE != 0
    }

    /// What the entry points to.
    pub(crate) const fn address(self) -> u64 {
        self.0 & ADDRESS
    }

    /// Whether user code may read the page.
    pub(crate) const fn user_may_read(self) -> bool {
        self.0 & (PRESENT | USER) == PRESENT | USER
    }

    /// Whether user code may write the page.
    pub(crate) const fn user_may_write(self) -> bool {
        self.0 & (PRESENT | USER | WRITABLE) == PRESENT | USER | WRITABLE
    }
}

/// One table, by the physical address of its frame.
#[derive(Clone, Copy)]
pub(crate) struct Table(u64);

impl Table {
    /// A table of no entries, in a frame of its own.
    pub(crate) fn create() -> Result<Self, OutOfFrames> {
        Ok(Self(Frame::zeroed()?.into_address()))
    }

    /// The table at `physical`, which holds one.
    pub(crate) const fn at(physical: u64) -> Self {
        Self(physical)
    }

    /// Physical address.
    pub(crate) const fn address(self) -> u64 {
        self.0
    }

    /// Reads entry `index` (taken modulo the table's size).
    pub(crate) fn entry(self, index: u64) -> Entry {
        // SAFETY: the frame holds a table, and the index is inside it.
        Entry(unsafe { self.slot(index).read() })
    }

    /// Writes entry `index` (taken modulo the table's size).
    pub(crate) fn set(self, index: u64, entry: Entry) {
        // SAFETY: as above; tables are changed by the one processor alone.
        unsafe { self.slot(index).write(entry.0) };
    }

    /// In a table of small pages, the entry that maps `address`, if there is one.
    pub(crate) fn page_of(self, address: u64) -> Option<Entry> {
        let entry = self.entry(index(address, 1));
        entry.is_present().then_some(entry)
    }

    fn slot(self, index: u64) -> *mut u64 {
        let offset = index.wrapping_rem(ENTRIES).wrapping_mul(8);
        physical_pointer(self.0.wrapping_add(offset)).cast()
    }

    /// The table under entry `index`, made if it is missing.
    fn descend(self, index: u64, access: Access) -> Result<Self, OutOfFrames> {
        let entry = self.entry(index);
        if entry.is_present() {
            return Ok(Self(entry.address()));
        }
        let lower = Self::create()?;
        self.set(index, Entry::table(lower.0, access));
        Ok(lower)
    }
}

/// Index into the table of `level` (4 at the root) for `address`.
pub(crate) const fn index(address: u64, level: u32) -> u64 {
    let shift = 9_u32.wrapping_mul(level).wrapping_add(3);
    (address >> shift) & 0x1ff
}

/// Writes the entry of level `level` for `address`, making tables on the way.
pub(crate) fn map(
    root: Table,
    address: u64,
    level: u32,
    access: Access,
    entry: Entry,
) -> Result<(), OutOfFrames> {
    let mut table = root;
    let mut at = 4;
    while at > level {
        table = table.descend(index(address, at), access)?;
        at = at.wrapping_sub(1);
    }
    table.set(index(address, level), entry);
    Ok(())
}

/// The table of small pages that `address` falls into, if there is one.
pub(crate) fn small_pages(root: Table, address: u64) -> Option<Table> {
    let mut table = root;
    for level in [4, 3, 2] {
        let entry = table.entry(index(address, level));
        if !entry.is_present() || entry.is_large() {
            return None;
        }
        table = Table::at(entry.address());
    }
    Some(table)
}

/// Frees every user page below `table` (of level `level`), and the tables.
pub(crate) fn free_user_tables(table: Table, level: u32) {
    let entries = if level == 4 { ENTRIES / 2 } else { ENTRIES };
    for index in 0..entries {
        let entry = table.entry(index);
        if !entry.is_present() {
            continue;
        }
        if level > 1 {
            free_user_tables(Table::at(entry.address()), level.wrapping_sub(1));
        } else {
            Frame::reclaim(entry.address()).free();
        }
    }
    Frame::reclaim(table.address()).free();
}

/// Frees one table of small pages below `table` (of level `level`), with its
/// pages; false if there is none left. A part of [`free_user_tables`], for what
/// may not take long.
pub(crate) fn free_one_table(table: Table, level: u32) -> bool {
    let entries = if level == 4 { ENTRIES / 2 } else { ENTRIES };
    for index in 0..entries {
        let entry = table.entry(index);
        if !entry.is_present() {
            continue;
        }
        let lower = Table::at(entry.address());
        if level == 2 {
            table.set(index, Entry::none());
            free_user_tables(lower, 1);
            return true;
        }
        if free_one_table(lower, level.wrapping_sub(1)) {
            return true;
        }
    }
    false
}

const _: () = assert!(ENTRIES * 8 == PAGE_BYTES);
