//! A process's address space: an owned tree of tables over the shared kernel
//! half. Dropping it frees every user page.

use super::frames::{Frame, OutOfFrames};
use super::kernel_map;
use super::page_table::{Access, Entry, Table, free_user_tables, lookup, map};

/// Address spaces are told apart by their root.
pub(crate) struct AddressSpace {
    root: Table,
}

impl AddressSpace {
    /// A space with nothing in its user half.
    pub(crate) fn new() -> Result<Self, OutOfFrames> {
        let root = Table::create()?;
        kernel_map::share_with(root);
        Ok(Self { root })
    }

    /// Maps `frame`, which the space now owns, at user page `page`. A page
    /// that was mapped there before is freed.
    pub(crate) fn map(
        &mut self,
        page: u64,
        frame: Frame,
        access: Access,
    ) -> Result<(), OutOfFrames> {
        if let Some(old) = lookup(self.root, page) {
            Frame::reclaim(old.address()).free();
        }
        let physical = frame.into_address();
        map(self.root, page, 1, access, Entry::page(physical, access))
            .inspect_err(|_| Frame::reclaim(physical).free())
    }

    /// The entry that maps `address`, if the user half has one.
    pub(crate) fn entry(&self, address: u64) -> Option<Entry> {
        lookup(self.root, address).filter(|entry| entry.user_may_read())
    }

    /// Physical address of the root table.
    pub(crate) const fn root(&self) -> u64 {
        self.root.address()
    }
}

impl Drop for AddressSpace {
    fn drop(&mut self) {
        free_user_tables(self.root, 4);
    }
}
