//! A process's address space: an owned tree of tables over the shared kernel
//! half. Dropping it frees every user page.
//!
//! Data that is all zeros gets its frames when it is first touched, by the
//! process or by the kernel on its behalf, so that what a program reserves and
//! never uses takes no memory.

use alloc::vec::Vec;
use core::ops::Range;

use super::frames::{Frame, OutOfFrames};
use super::kernel_map;
use super::layout::PAGE_BYTES;
use super::page_table::{Access, Entry, Table, free_user_tables, lookup, map};

/// Address spaces are told apart by their root.
pub(crate) struct AddressSpace {
    root: Table,
    /// Addresses of pages that are zeros until written; whole pages.
    zeros: Vec<Range<u64>>,
}

/// What a touch of an address came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// There is a page now.
    Mapped,
    /// The address is none of those that get a page.
    Foreign,
    /// There is no frame for it.
    OutOfFrames,
}

impl AddressSpace {
    /// A space with nothing in its user half.
    pub(crate) fn new() -> Result<Self, OutOfFrames> {
        let root = Table::create()?;
        kernel_map::share_with(root);
        Ok(Self {
            root,
            zeros: Vec::new(),
        })
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
        self.map_frame(page, frame, access)
    }

    /// Lets the whole pages in `pages` be zeros, writable, on demand.
    pub(crate) fn reserve_zeros(&mut self, pages: Range<u64>) {
        self.zeros.push(pages);
    }

    /// Gives `address` its page of zeros, if it is to have one.
    pub(crate) fn touch(&self, address: u64) -> Touch {
        if !self.zeros.iter().any(|range| range.contains(&address)) {
            return Touch::Foreign;
        }
        if lookup(self.root, address).is_some() {
            return Touch::Mapped;
        }
        let page = address & !(PAGE_BYTES - 1);
        let mapped =
            Frame::zeroed().and_then(|frame| self.map_frame(page, frame, Access::UserWrite));
        mapped.map_or(Touch::OutOfFrames, |()| Touch::Mapped)
    }

    /// The entry that maps `address`, if the user half has one or is to.
    pub(crate) fn entry(&self, address: u64) -> Option<Entry> {
        let entry = lookup(self.root, address).or_else(|| {
            (self.touch(address) == Touch::Mapped)
                .then(|| lookup(self.root, address))
                .flatten()
        });
        entry.filter(|entry| entry.user_may_read())
    }

    fn map_frame(&self, page: u64, frame: Frame, access: Access) -> Result<(), OutOfFrames> {
        let physical = frame.into_address();
        map(self.root, page, 1, access, Entry::page(physical, access))
            .inspect_err(|_| Frame::reclaim(physical).free())
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
